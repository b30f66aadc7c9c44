/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Reads of the process's memory. They copy to the BPF stack, never directly to a map value: faults of
 * copy_from_user_nofault() with a destination in vmalloc memory hang kernels 5.19 to 6.3. Memory that is
 * not resident cannot be read.
 */
#ifndef EBPF_SAFE_READS_BPF_H
#define EBPF_SAFE_READS_BPF_H

#include "ebpf/abi/frame.h"
#include "ebpf/helpers.bpf.h"

/**
 * Returns the index of the object at @address in a cache of @count entries, a power of two. Objects of one kind often have equal
 * distances, so that some bits of their addresses alone would give few of the indices.
 */
static __always_inline __u32 known_index(__u64 address, __u32 count)
{
	/* Multiplicative hashing: the upper bits of the product depend on all bits of the factor. */
	__u32 index = (__u32)(address >> 3) * 2654435769U >> 16;

	/* The verifier has to see that it is in range, which the compiler may think that it knows. */
	barrier_var(index);
	return index % count;
}

/** Reads the word at @address of the process. UNWIND_STACK_UNREADABLE if it cannot be read. */
static __always_inline enum unwind_error read_word(__u64 address, __u64 *word)
{
	__u64 value;

	if (bpf_probe_read_user(&value, sizeof(value), (const void *)address))
		return UNWIND_STACK_UNREADABLE;
	*word = value;
	return UNWIND_OK;
}

/** Reads two adjacent words at once. */
static __always_inline enum unwind_error read_word_pair(__u64 address, __u64 *first, __u64 *second)
{
	__u64 values[2];

	if (bpf_probe_read_user(values, sizeof(values), (const void *)address))
		return UNWIND_STACK_UNREADABLE;
	*first = values[0];
	*second = values[1];
	return UNWIND_OK;
}

#endif
