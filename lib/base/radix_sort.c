/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/radix_sort.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"

enum {
	RADIX_BITS = 11,
	RADIX_BUCKETS = 1 << RADIX_BITS,
	RADIX_PASSES = 3,
};

static uint32_t radix_digit(uint64_t key, int pass)
{
	return key >> (32 + pass * RADIX_BITS) & (RADIX_BUCKETS - 1);
}

/* @bucket_ends: the numbers of keys with each digit, which this pass uses up. */
static void radix_pass(const uint64_t *from, uint64_t *to, size_t count, int pass,
		       size_t *bucket_ends)
{
	size_t position = 0;

	for (uint32_t i = 0; i < RADIX_BUCKETS; i++) {
		size_t bucket_count = bucket_ends[i];

		bucket_ends[i] = position;
		position += bucket_count;
	}
	for (size_t i = 0; i < count; i++)
		to[bucket_ends[radix_digit(from[i], pass)]++] = from[i];
}

int radix_sort_upper_half(uint64_t *keys, size_t count)
{
	_cleanup_(free_pointer)
		size_t(*buckets)[RADIX_BUCKETS] = calloc(RADIX_PASSES, sizeof(*buckets));
	_cleanup_(free_pointer) uint64_t *other = malloc((count + 1) * sizeof(*other));
	uint64_t *from = keys, *to = other;

	if (!buckets || !other)
		return fail(-ENOMEM, "no memory to sort %zu numbers", count);
	for (size_t i = 0; i < count; i++)
		for (int pass = 0; pass < RADIX_PASSES; pass++)
			buckets[pass][radix_digit(keys[i], pass)]++;
	for (int pass = 0; pass < RADIX_PASSES; pass++) {
		uint64_t *swap = from;

		radix_pass(from, to, count, pass, buckets[pass]);
		from = to;
		to = swap;
	}
	/* The number of passes is odd. */
	memcpy(keys, from, count * sizeof(*keys));
	return 0;
}
