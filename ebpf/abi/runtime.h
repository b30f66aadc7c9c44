/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * The data of the runtimes in a process for the kernel side. It is in the slabs (abi/slab.h). It is
 * written before the process's entry is published, never changes while that is published, and is
 * freed with it:
 *
 *	runtime table		RUNTIMES_MAX rows, one cell each; the entry has the first cell
 *	language's data		as many cells as its struct has (abi/python.h, ...)
 *
 * Rows of code that runs interpreted functions (the eval loop of CPython) have a rule flagged
 * RULE_LOOP. At such a rule the unwind looks up the executable in the process's runtime table. If it is
 * there, the language's unwinder adds its frames before the native one, which called them; else only
 * the native frame is added.
 */
#ifndef EBPF_ABI_RUNTIME_H
#define EBPF_ABI_RUNTIME_H

#include <linux/types.h>

#include "ebpf/abi/languages.h"

enum {
	RUNTIMES_MAX = 4,
	THREAD_LOCAL_MAX_DEPTH = 3,
};

/** Flags beside the kind in struct runtime_row.language. */
enum runtime_flag {
	/** The runtime generates code, which is outside every file. */
	RUNTIME_HAS_CODE = 1 << 8,
	/** The runtime makes stacks (LANGUAGE_LOOP_WITH_STACKS). */
	RUNTIME_HAS_STACKS = 1 << 9,
};

struct runtime_row {
	/** 0 ends the table. */
	__u64 executable_id;
	/** enum frame_kind of the runtime's language, from FRAME_FIRST_INTERPRETED on, and enum runtime_flag. */
	__u32 language;
	/** First cell of the language's data. */
	__u32 cell;
};

_Static_assert(sizeof(struct runtime_row) == 16, "struct runtime_row is one cell");

/** Returns the flags of runtimes of a language whose functions run in code of this kind. */
static inline __u32 runtime_flags_of(enum language_frames frames)
{
	switch (frames) {
	case LANGUAGE_OWN_CODE:
	case LANGUAGE_LOOP_WITH_CODE:
		return RUNTIME_HAS_CODE;
	case LANGUAGE_LOOP_WITH_STACKS:
		return RUNTIME_HAS_CODE | RUNTIME_HAS_STACKS;
	default:
		return 0;
	}
}

/** Makes the value of struct runtime_row.language for the language @kind; a @kind that no language has is unchanged. */
static inline __u32 runtime_row_language(__u32 kind)
{
	switch (kind) {
#define X(number, NAME, name, type, frames, files)                                                 \
	case number:                                                                               \
		return kind | runtime_flags_of(LANGUAGE_##frames);
		LANGUAGES(X)
#undef X
	}
	return kind;
}

/**
 * Path to a thread-local pointer. It starts at the thread pointer (fs base, tpidr_el0); each of the depth steps
 * adds the next offset to the address and loads the word there.
 */
struct thread_local_path {
	__s32 offsets[THREAD_LOCAL_MAX_DEPTH];
	__u32 depth;
};

_Static_assert(sizeof(struct thread_local_path) == 16, "struct thread_local_path is one cell");

#endif
