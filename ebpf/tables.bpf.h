/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * The slabs and the executables (abi/slab.h), which user space writes and unwinders read, and the
 * lookups in them. All are inlined by the verifier: no call is made. Numbers come from user space's
 * tables; one that is out of range finds nothing.
 */
#ifndef EBPF_TABLES_BPF_H
#define EBPF_TABLES_BPF_H

#include "ebpf/abi/frame.h"
#include "ebpf/abi/slab.h"
#include "ebpf/helpers.bpf.h"

/* The lookups of an inner map are inlined only if all have exactly these max_entries. */
struct slab_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SLAB_CELLS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, CELL_BYTES);
};

/* The loader sets max_entries to the memory that may be used. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, SLAB_MAX_COUNT);
	__uint(key_size, sizeof(__u32));
	__array(values, struct slab_map);
} slabs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, EXECUTABLE_SLOT_COUNT);
	__type(key, __u32);
	__type(value, struct executable_descriptor);
} executables SEC(".maps");

/**
 * Makes the verifier forget the range of @value, a 32-bit variable. Else it follows each combination of
 * ranges through a search, and gives up. @unknown is any 64-bit number that it does not know.
 */
#ifdef __bpf__
#define forget_range(value, unknown)                                                               \
	asm volatile("%0 ^= %1\n\t%0 ^= %1" : "+r"(value) : "r"((__u32)(unknown)))
#else
#define forget_range(value, unknown) ((void)(unknown))
#endif

/** Returns cell @number, or NULL if its slab does not exist. */
static __always_inline const struct cell *cell_at(__u32 number)
{
	__u32 slab_index = number >> SLAB_SHIFT;
	__u32 cell_index = number & (SLAB_CELLS - 1);
	void *slab = bpf_map_lookup_elem(&slabs, &slab_index);

	if (!slab)
		return NULL;
	return bpf_map_lookup_elem(slab, &cell_index);
}

/**
 * Returns the first cell of the header of @executable_id, and marks the executable as used; 0 if it is
 * not published.
 */
static __always_inline __u32 executable_header_cell(__u64 executable_id)
{
	__u32 slot = executable_id & (EXECUTABLE_SLOT_COUNT - 1);
	struct executable_descriptor *descriptor = bpf_map_lookup_elem(&executables, &slot);
	__u32 cell;
	__u64 word;

	if (!descriptor)
		return 0;
	/* Read once: user space may replace the word, and the generation belongs to the cell. */
	word = *(const volatile __u64 *)&descriptor->word;
	cell = word & ((1 << DESCRIPTOR_CELL_BITS) - 1);
	if (!cell || word != descriptor_word(executable_id, cell))
		return 0;
	if (!descriptor->used)
		descriptor->used = 1;
	return cell;
}

#endif
