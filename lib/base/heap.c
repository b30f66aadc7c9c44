/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/heap.h"

#include <malloc.h>

#include "lib/base/clock.h"

enum { BLOCK_BYTES = 64 << 10 };

#define TRIM_NS (30 * NS_PER_SECOND)

void heap_limit(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, BLOCK_BYTES);
	mallopt(M_TRIM_THRESHOLD, 2 * BLOCK_BYTES);
}

void heap_trim(uint64_t now_ns, uint64_t *next_trim_ns)
{
	if (now_ns < *next_trim_ns)
		return;
	malloc_trim(0);
	*next_trim_ns = now_ns + TRIM_NS;
}
