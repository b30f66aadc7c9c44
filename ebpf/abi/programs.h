/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Indexes of the program array `unwinders`. An unwinder enters another language's by a tail call to
 * its index; every walk ends with one to UNWINDER_STOP, which sends the record.
 */
#ifndef EBPF_ABI_PROGRAMS_H
#define EBPF_ABI_PROGRAMS_H

#include "ebpf/abi/frame.h"

enum unwinder {
	UNWINDER_STOP = 0,
	UNWINDER_NATIVE = 1,
	/** Of the languages in the order of their enum frame_kind: unwinder_of(). */
	UNWINDER_FIRST_INTERPRETED = 2,
	UNWINDER_PYTHON = 2,
	UNWINDER_GO = 3,
	UNWINDER_JAVA = 4,
	UNWINDER_COUNT = 16,
};

/** The unwinder of the interpreted frames of kind @language. */
static inline __u32 unwinder_of(__u32 language)
{
	return UNWINDER_FIRST_INTERPRETED + language - FRAME_FIRST_INTERPRETED;
}

#endif
