/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Copies of anonymous code. User space copies code that a process has made at run time, and makes rows from the instructions of
 * the copy. It publishes them as those of a file (abi/slab.h), with an id that has EXECUTABLE_ID_COPY, and the part of the
 * mapping that was copied has this id in the process's mapping table. Addresses are the process's: the bias is 0.
 *
 * The process may write other code there at any time. So the kernel side compares, for each frame, the process's memory with the
 * copy: behind the page index there is a struct code_check for each page. If they differ, the frame is one of anonymous
 * code without rows, and the record has RECORD_CODE_CHANGED.
 *
 * The rows of a page depend on all the code of the functions that have code in it, which may be in pages before it and behind it:
 * paths come to a page from both sides. So the fingerprint is over all these pages, in ascending order. If they are more than
 * CODE_CHECK_PAGES, it is 0, and the page has no rows: no code has the fingerprint 0.
 */
#ifndef EBPF_ABI_CODE_COPY_H
#define EBPF_ABI_CODE_COPY_H

#include <linux/types.h>

#include "ebpf/abi/fingerprint.h"

enum {
	CODE_CHECK_PAGES = 64,
};

struct code_check {
	/** 0: the rows of the page are not used. */
	__u32 fingerprint;
	/** Number of pages in front of this one, and behind it, that the fingerprint is over, too. */
	__u16 pages_before;
	__u16 pages_after;
};

_Static_assert(sizeof(struct code_check) == 8, "two struct code_check are a cell");

/** Number of pages that the fingerprint of @check is over. */
static inline __u32 code_check_page_count(const struct code_check *check)
{
	return (__u32)check->pages_before + 1 + check->pages_after;
}

/** Cells of the checks of @page_count pages. */
static inline __u32 code_check_cells(__u32 page_count)
{
	return page_count / 2 + page_count % 2;
}

#endif
