/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/** Caches of the unwind tables: mappings, cached during an unwind, and rules, cached between unwinds. */
#ifndef EBPF_CACHED_MAPPING_BPF_H
#define EBPF_CACHED_MAPPING_BPF_H

#include "ebpf/abi/slab.h"

/** A mapping of the process, and the fields of its executable that steps need. */
struct cached_mapping {
	__u64 start;
	/** 0 in an unused entry. */
	__u64 size_bytes;
	__u64 bias;
	/** EXECUTABLE_ID_ANONYMOUS for a copy of anonymous code too. */
	__u64 executable_id;
	/** The executable or copy whose rows the fields below are of. */
	__u64 rows_id;
	/** Address of the first page of text in the process. */
	__u64 text_start;
	/** 0 if the executable has no rows, or none that are loaded. */
	__u32 page_count;
	__u32 page_index_cell;
	__u32 row_cell;
	__u32 row_count;
	__u32 rule_cell;
	__u32 rule_count;
	/** Result of a step from an address outside the pages (enum unwind_error). */
	__u32 error;
	__u32 reserved;
};

/**
 * The rule for an address of an executable. It stays valid between unwinds, since ids are never used
 * again and the rows of an executable never change. Each unwind still checks that the rows are published.
 */
struct cached_rule {
	/** 0 in an unused entry. */
	__u64 executable_id;
	__u64 address;
	struct unwind_rule rule __attribute__((aligned(8)));
};

_Static_assert(sizeof(struct cached_rule) == 32, "two entries to a cache line");

#endif
