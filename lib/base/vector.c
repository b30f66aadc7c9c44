/* SPDX-License-Identifier: Apache-2.0 */
/* The growth that all typed vectors share. */

#include "lib/base/vector.h"

#include <stdint.h>

enum { FIRST_CAPACITY = 8 };

void *vector_grow(void *items, size_t *capacity, size_t wanted, size_t element_bytes)
{
	size_t grown = *capacity > SIZE_MAX / 2 ? SIZE_MAX : *capacity * 2;
	size_t bytes;
	void *moved;

	if (grown < FIRST_CAPACITY)
		grown = FIRST_CAPACITY;
	if (grown < wanted)
		grown = wanted;
	if (__builtin_mul_overflow(grown, element_bytes, &bytes) || bytes > PTRDIFF_MAX)
		return NULL;
	moved = realloc(items, bytes);
	if (moved)
		*capacity = grown;
	return moved;
}

void *vector_shrink(void *items, size_t bytes)
{
	void *smaller = realloc(items, bytes);

	return smaller ? smaller : items;
}
