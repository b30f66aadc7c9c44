/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Hashes of bytes by XXH3. The 64-bit one is seeded at start, so that no program under profile
 * can choose its collisions; the 128-bit one is unseeded: equal on every host.
 */
#ifndef AGENT_BASE_HASH128_H
#define AGENT_BASE_HASH128_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash128 {
	uint64_t high;
	uint64_t low;
};

static inline bool hash128_equal(struct hash128 a, struct hash128 b)
{
	return a.high == b.high && a.low == b.low;
}

struct hash128 hash128_bytes(const void *bytes, size_t count);

/** Seeded with a random number drawn at the first call in this process. */
uint64_t hash64_bytes(const void *bytes, size_t count);

#endif
