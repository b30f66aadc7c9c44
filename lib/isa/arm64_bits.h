/* SPDX-License-Identifier: Apache-2.0 */
/** Fields of arm64's instruction words, as the Arm ARM gives them: lowest bit and number of bits. */
#ifndef LIB_ISA_ARM64_BITS_H
#define LIB_ISA_ARM64_BITS_H

#include <stdint.h>

/** @count is less than 32. */
static inline uint32_t arm64_bits(uint32_t word, unsigned int low, unsigned int count)
{
	return word >> low & ((1U << count) - 1);
}

static inline int64_t arm64_signed_bits(uint32_t word, unsigned int low, unsigned int count)
{
	return (int64_t)((uint64_t)word << (64 - low - count)) >> (64 - count);
}

#endif
