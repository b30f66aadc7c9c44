/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Indexes of the program array `unwinders`. An unwinder enters another language's by a tail call to
 * its index; every walk ends with one to UNWINDER_STOP, which sends the record.
 */
#ifndef EBPF_ABI_PROGRAMS_H
#define EBPF_ABI_PROGRAMS_H

enum unwinder {
	UNWINDER_STOP = 0,
	UNWINDER_NATIVE = 1,
	UNWINDER_COUNT = 16,
};

#endif
