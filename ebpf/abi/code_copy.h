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
 * The rows of a page depend on the code from the starts of its functions on, which may be in pages before it. The fingerprint
 * is over these pages and the page itself, in ascending order, or, if they are more than CODE_CHECK_PAGES, over the
 * first and the last of them.
 */
#ifndef EBPF_ABI_CODE_COPY_H
#define EBPF_ABI_CODE_COPY_H

#include <linux/types.h>

#include "ebpf/abi/fingerprint.h"

enum {
	CODE_CHECK_PAGES = 8,
	CODE_CHECK_FIRST_PAGES = CODE_CHECK_PAGES / 2,
};

struct code_check {
	__u32 fingerprint;
	/** Number of pages in front of this one on which its rows depend. */
	__u32 pages_before;
};

_Static_assert(sizeof(struct code_check) == 8, "two struct code_check are a cell");

/** Number of pages that the fingerprint of @check is over. */
static inline __u32 code_check_page_count(const struct code_check *check)
{
	return check->pages_before < CODE_CHECK_PAGES ? check->pages_before + 1 : CODE_CHECK_PAGES;
}

/** The @index-th of these pages, as its distance in pages in front of the page. */
static inline __u32 code_check_distance(const struct code_check *check, __u32 index)
{
	if (index < CODE_CHECK_FIRST_PAGES || check->pages_before < CODE_CHECK_PAGES)
		return check->pages_before - index;
	return CODE_CHECK_PAGES - 1 - index;
}

/** Cells of the checks of @page_count pages. */
static inline __u32 code_check_cells(__u32 page_count)
{
	return page_count / 2 + page_count % 2;
}

#endif
