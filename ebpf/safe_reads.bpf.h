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
