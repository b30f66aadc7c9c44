/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Hashes of bytes by XXH3. Seeds are numbers that no program under profile knows, so that none can choose
 * collisions. The 128-bit hash without a seed is equal on every host.
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
 * Seeded hash that identifies content from outside: data made from one file is used for every file with the
 * same hash. The seed is that of hash128_seed_content(), otherwise a random number drawn at the first call in
 * this process.
 */
struct hash128 hash128_content(const void *bytes, size_t count);

/** Sets the seed of hash128_content(). To be called once, before other threads start. */
void hash128_seed_content(uint64_t seed);

/** The seed of hash128_content(), for another process that is to make the same hashes. */
uint64_t hash128_content_seed(void);

/** Draws a random seed. Never waits. */
uint64_t hash128_draw_seed(void);

/** Seeded with a random number drawn at the first call in this process. */
uint64_t hash64_bytes(const void *bytes, size_t count);

#endif
