/* SPDX-License-Identifier: Apache-2.0 */
/* The only file that knows xxHash. */

#include "lib/base/hash128.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/random.h>
#include <xxhash.h>

#include "lib/base/clock.h"

static pthread_once_t seed_once = PTHREAD_ONCE_INIT;
static uint64_t seed, content_seed;
static bool has_content_seed;

uint64_t hash128_draw_seed(void)
{
	uint64_t drawn;

	/* The kernel's pool may not be ready when the agent starts with the host: never wait. */
	if (getrandom(&drawn, sizeof(drawn), GRND_NONBLOCK) != sizeof(drawn))
		drawn = clock_realtime_ns() ^ (uintptr_t)&drawn << 32 ^ clock_monotonic_ns() << 20;
	return drawn;
}

static void draw_seeds(void)
{
	seed = hash128_draw_seed();
	if (!has_content_seed)
		content_seed = hash128_draw_seed();
}

void hash128_seed_content(uint64_t number)
{
	content_seed = number;
	has_content_seed = true;
}

uint64_t hash128_content_seed(void)
{
	pthread_once(&seed_once, draw_seeds);
	return content_seed;
}

static struct hash128 of_xxh(XXH128_hash_t hash)
{
	return (struct hash128){ .high = hash.high64, .low = hash.low64 };
}

struct hash128 hash128_bytes(const void *bytes, size_t count)
{
	return of_xxh(XXH3_128bits(bytes, count));
}

struct hash128 hash128_content(const void *bytes, size_t count)
{
	pthread_once(&seed_once, draw_seeds);
	return of_xxh(XXH3_128bits_withSeed(bytes, count, content_seed));
}

uint64_t hash64_bytes(const void *bytes, size_t count)
{
	pthread_once(&seed_once, draw_seeds);
	return XXH3_64bits_withSeed(bytes, count, seed);
}
