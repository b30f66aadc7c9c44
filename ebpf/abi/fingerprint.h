/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Fingerprints of a runtime's objects (abi/frame.h). The kernel side computes one for each frame, and user space computes
 * one when it looks an object up. Both read the same words of memory and get the same number.
 */
#ifndef EBPF_ABI_FINGERPRINT_H
#define EBPF_ABI_FINGERPRINT_H

#include <linux/types.h>

static inline __u64 fingerprint_mix(__u64 sum, __u64 word)
{
	sum = (sum ^ word) * 0x9e3779b97f4a7c15ULL;
	return sum ^ sum >> 29;
}

/** The fingerprint of the words mixed into @sum: 32 bits, never 0. */
static inline __u32 fingerprint_end(__u64 sum)
{
	__u32 fingerprint = sum >> 32;

	return fingerprint ? fingerprint : 1;
}

/** Makes the fingerprint of two words. */
static inline __u32 fingerprint_of(__u64 first, __u64 second)
{
	return fingerprint_end(fingerprint_mix(fingerprint_mix(0, first), second));
}

#endif
