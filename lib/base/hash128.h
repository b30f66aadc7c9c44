/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Hashes of bytes by XXH3. Those that are seeded are so by numbers that no program under profile knows, so that
 * none can choose its collisions; the plain 128-bit one is equal on every host.
 */
#ifndef LIB_BASE_HASH128_H
#define LIB_BASE_HASH128_H

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

/**
 * Seeded, for what foreign bytes are known by: what is made of one file is believed for all that have its hash. The
 * seed is hash128_seed_content()'s, else a random number drawn at the first call in this process.
 */
struct hash128 hash128_content(const void *bytes, size_t count);

/** Once, before any other thread is there. */
void hash128_seed_content(uint64_t seed);

/** A number for a seed. Never waits. */
uint64_t hash128_draw_seed(void);

/** Seeded with a random number drawn at the first call in this process. */
uint64_t hash64_bytes(const void *bytes, size_t count);

#endif
