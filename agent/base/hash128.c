/* SPDX-License-Identifier: Apache-2.0 */
/* The only file that knows xxHash. */

#include "agent/base/hash128.h"

#include <pthread.h>
#include <sys/random.h>
#include <xxhash.h>

#include "agent/base/clock.h"

static pthread_once_t seed_once = PTHREAD_ONCE_INIT;
static uint64_t seed;

static void draw_seed(void)
{
	/* The kernel's pool may not be ready when the agent starts with the host: never wait. */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = clock_realtime_ns() ^ (uintptr_t)&seed << 32 ^ clock_monotonic_ns() << 20;
}

struct hash128 hash128_bytes(const void *bytes, size_t count)
{
	XXH128_hash_t hash = XXH3_128bits(bytes, count);

	return (struct hash128){ .high = hash.high64, .low = hash.low64 };
}

uint64_t hash64_bytes(const void *bytes, size_t count)
{
	pthread_once(&seed_once, draw_seed);
	return XXH3_64bits_withSeed(bytes, count, seed);
}
