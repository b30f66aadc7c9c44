/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * The parts of libbpf's headers that the unwinders use, for ordinary C: declarations that do nothing,
 * and the few helpers that they call, which read the tables of the calling thread's unwind
 * (emulated_unwind.h). It is included only through ebpf/helpers.bpf.h, and that only by one source file,
 * since the maps become variables.
 */
#ifndef EBPF_HOST_EMULATED_HELPERS_H
#define EBPF_HOST_EMULATED_HELPERS_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define SEC(name)
#define __uint(name, value) int(*name)[value]
#define __type(name, value) __typeof__(value) *name
#define __array(name, value) __typeof__(value) *name[]
#define barrier() __asm__ volatile("" ::: "memory")
#define barrier_var(var) __asm__ volatile("" : "+r"(var))

/* Other names for the linker: libbpf has functions of these names, and anybody may have slabs. */
#define bpf_map_lookup_elem emulated_map_lookup_elem
#define bpf_probe_read_user emulated_probe_read_user
#define bpf_probe_read_kernel emulated_probe_read_kernel
#define bpf_find_vma emulated_find_vma
#define bpf_get_current_task_btf emulated_get_current_task
#define slabs emulated_slabs
#define executables emulated_executables

void *bpf_map_lookup_elem(void *map, const void *key);
long bpf_probe_read_user(void *bytes, __u32 size, const void *address);
long bpf_probe_read_kernel(void *bytes, __u32 size, const void *address);

struct task_struct;
struct vm_area_struct;

long bpf_find_vma(struct task_struct *task, __u64 address,
		  long (*take)(struct task_struct *, struct vm_area_struct *, void *),
		  void *context, __u64 flags);

static inline struct task_struct *bpf_get_current_task_btf(void)
{
	return NULL;
}

/* Reads one field; the pointer need not be valid in user space. */
#define BPF_CORE_READ(pointer, field)                                                              \
	({                                                                                         \
		__typeof__((pointer)->field) read_value_;                                          \
		uintptr_t read_address_ =                                                          \
			(uintptr_t)(pointer) + offsetof(__typeof__(*(pointer)), field);            \
                                                                                                   \
		if (bpf_probe_read_kernel(&read_value_, sizeof(read_value_),                       \
					  (const void *)read_address_))                            \
			memset(&read_value_, 0, sizeof(read_value_));                              \
		read_value_;                                                                       \
	})

#endif
