/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * What the kernel side knows of the runtimes in a process. All of it lies in the slabs
 * (abi/slab.h), is written before the process's entry is published, never changes while it is, and
 * goes with it:
 *
 *	runtime table	RUNTIMES_MAX rows, one cell each; the entry has the first cell
 *	language's data		as many cells as its struct has (abi/python.h, ...)
 *
 * How it is used: rows of code that runs interpreted functions (the loop of CPython) lead to a rule
 * flagged RULE_LOOP. Where a walk meets one it looks for the executable in the process's
 * table. If it is there, the language's unwinder adds its frames before the native one, for the
 * native code called them; else the native frame stands alone.
 */
#ifndef EBPF_ABI_RUNTIME_H
#define EBPF_ABI_RUNTIME_H

#include <linux/types.h>

#include "ebpf/abi/languages.h"

enum {
	RUNTIMES_MAX = 4,
	THREAD_LOCAL_MAX_DEPTH = 3,
};

/** Beside the kind in struct runtime_row.language. */
enum runtime_flag {
	/** It makes code, which lies in no file (LANGUAGE_OWN_CODE). */
	RUNTIME_HAS_CODE = 1 << 8,
};

struct runtime_row {
	/** 0 where there are no more. */
	__u64 executable_id;
	/** enum frame_kind of its language, from FRAME_FIRST_INTERPRETED on, and enum runtime_flag. */
	__u32 language;
	/** First cell of the language's data. */
	__u32 cell;
};

_Static_assert(sizeof(struct runtime_row) == 16, "struct runtime_row is one cell");

/** What struct runtime_row.language is for a runtime of the language @kind; of kinds that no language has, itself. */
static inline __u32 runtime_row_language(__u32 kind)
{
	switch (kind) {
#define X(number, NAME, name, type, frames, files)                                                 \
	case number:                                                                               \
		return kind | (LANGUAGE_##frames == LANGUAGE_OWN_CODE ? RUNTIME_HAS_CODE : 0);
		LANGUAGES(X)
#undef X
	}
	return kind;
}

/**
 * How a thread's own pointer is found, from its thread pointer (fs base, tpidr_el0): depth times
 * the word at the address plus the next offset is loaded.
 */
struct thread_local_path {
	__s32 offsets[THREAD_LOCAL_MAX_DEPTH];
	__u32 depth;
};

_Static_assert(sizeof(struct thread_local_path) == 16, "struct thread_local_path is one cell");

#endif
