/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Indexes of the program array `unwinders`. An unwinder enters another language's by a tail call to
 * its index. Every unwind ends with a tail call to UNWINDER_STOP, which sends the record.
 */
#ifndef EBPF_ABI_PROGRAMS_H
#define EBPF_ABI_PROGRAMS_H

#include "ebpf/abi/frame.h"

enum unwinder {
	UNWINDER_STOP = 0,
	UNWINDER_NATIVE = 1,
	/** The languages' unwinders follow in the order of their enum frame_kind: unwinder_of(). */
	UNWINDER_FIRST_INTERPRETED = 2,
	UNWINDER_COUNT = 16,
#define X(kind, NAME, name, type, frames, files)                                                   \
	UNWINDER_##NAME = UNWINDER_FIRST_INTERPRETED + (kind)-FRAME_FIRST_INTERPRETED,
	LANGUAGES(X)
#undef X
};

#define X(kind, NAME, name, type, frames, files)                                                   \
	_Static_assert(UNWINDER_##NAME >= UNWINDER_FIRST_INTERPRETED &&                            \
			       UNWINDER_##NAME < UNWINDER_COUNT,                                   \
		       "the program array has an entry for it");
LANGUAGES(X)
#undef X

/** The unwinder of the interpreted frames of kind @language. */
static inline __u32 unwinder_of(__u32 language)
{
	return UNWINDER_FIRST_INTERPRETED + language - FRAME_FIRST_INTERPRETED;
}

#endif
