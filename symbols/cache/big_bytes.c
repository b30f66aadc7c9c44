/* SPDX-License-Identifier: Apache-2.0 */
/* The capacity of a vector shows whether it is mapped. */
#include "symbols/cache/big_bytes.h"

#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/cleanup.h"

enum { STEP_BYTES = 1 << 20 };

static int (*open_file)(int *fd);
static size_t mapped_bytes;

void big_bytes_use_files(int (*open)(int *fd))
{
	open_file = open;
}

static bool is_mapped(const struct byte_vector *bytes)
{
	return bytes->capacity > BIG_BYTES_IN_HEAP_MAX;
}

static void *map(size_t size)
{
	_cleanup_(close_fd) int fd = -1;

	if (open_file && open_file(&fd))
		fd = -1;
	return mmap(NULL, size, PROT_READ | PROT_WRITE,
		    fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
}

static int grow_mapped(struct byte_vector *bytes, size_t capacity)
{
	size_t before = is_mapped(bytes) ? bytes->capacity : 0;
	void *items;

	if (mapped_bytes - before > BIG_BYTES_MAX - capacity)
		return -ENOMEM;
	items = before ? mremap(bytes->items, before, capacity, MREMAP_MAYMOVE) : map(capacity);
	if (items == MAP_FAILED)
		return -ENOMEM;
	if (!before && bytes->count)
		memcpy(items, bytes->items, bytes->count);
	if (!before)
		free(bytes->items);
	mapped_bytes += capacity - before;
	bytes->items = items;
	bytes->capacity = capacity;
	return 0;
}

int big_bytes_reserve(struct byte_vector *bytes, size_t wanted)
{
	size_t capacity = 2 * bytes->capacity;

	if (wanted <= bytes->capacity)
		return 0;
	if (wanted > BIG_BYTES_MAX)
		return -ENOMEM;
	if (capacity < wanted)
		capacity = wanted;
	if (capacity <= BIG_BYTES_IN_HEAP_MAX)
		return byte_vector_reserve(bytes, wanted);
	capacity = (capacity + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
	if (capacity > BIG_BYTES_MAX)
		capacity = BIG_BYTES_MAX;
	return grow_mapped(bytes, capacity);
}

void big_bytes_deinit(struct byte_vector *bytes)
{
	if (!is_mapped(bytes)) {
		byte_vector_deinit(bytes);
		return;
	}
	munmap(bytes->items, bytes->capacity);
	mapped_bytes -= bytes->capacity;
	*bytes = (struct byte_vector){ 0 };
}
