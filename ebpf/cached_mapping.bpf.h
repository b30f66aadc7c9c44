/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/** What is kept of the unwind tables: mappings during a walk, and rules from walk to walk. */
#ifndef EBPF_CACHED_MAPPING_BPF_H
#define EBPF_CACHED_MAPPING_BPF_H

#include "ebpf/abi/slab.h"

/** A mapping of the process, with what steps need of its executable. */
struct cached_mapping {
	__u64 start;
	/** 0 in an entry that is not used. */
	__u64 size_bytes;
	__u64 bias;
	__u64 executable_id;
	/** Where the first page of text is in the process. */
	__u64 text_start;
	/** 0 if the executable has no rows, or none that are loaded. */
	__u32 page_count;
	__u32 page_index_cell;
	__u32 row_cell;
	__u32 row_count;
	__u32 rule_cell;
	__u32 rule_count;
	/** Of a step from outside the pages (enum unwind_error). */
	__u32 error;
	__u32 reserved;
};

/**
 * The rule that was found for an address of an executable. It stays right from walk to walk: ids are
 * never used again, and the rows of an executable never change. Whether they are published is asked
 * in each walk all the same.
 */
struct cached_rule {
	/** 0 in an entry that is not used. */
	__u64 executable_id;
	__u64 address;
	struct unwind_rule rule __attribute__((aligned(8)));
};

_Static_assert(sizeof(struct cached_rule) == 32, "two entries to a cache line");

#endif
