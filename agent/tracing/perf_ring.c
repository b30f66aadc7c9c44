/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tracing/perf_ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/error.h"

int perf_ring_init(struct perf_ring *ring, int event_fd, size_t data_bytes)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	size_t mapped_bytes = page_bytes + data_bytes;
	void *page = mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, event_fd, 0);

	if (page == MAP_FAILED)
		return fail_errno(-errno, "cannot map a perf ring");
	*ring = (struct perf_ring){
		.page = page,
		.data = (const uint8_t *)page + page_bytes,
		.data_bytes = data_bytes,
		.mapped_bytes = mapped_bytes,
	};
	return 0;
}

void perf_ring_deinit(struct perf_ring *ring)
{
	if (ring->page)
		munmap(ring->page, ring->mapped_bytes);
	*ring = (struct perf_ring){ 0 };
}

uint64_t perf_ring_end(const struct perf_ring *ring)
{
	return __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

static void set_tail(struct perf_ring *ring, uint64_t tail)
{
	/* Release, since the kernel may overwrite the space once it sees the new tail. */
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
}

const struct perf_event_header *perf_ring_next(struct perf_ring *ring, uint64_t end,
					       struct perf_ring_record *scratch)
{
	/* Only we write it. */
	uint64_t tail = __atomic_load_n(&ring->page->data_tail, __ATOMIC_RELAXED);
	size_t offset = tail & (ring->data_bytes - 1), until_wrap = ring->data_bytes - offset;
	/* Records are multiples of 8 bytes, so the header itself never wraps. */
	const struct perf_event_header *header = (const void *)(ring->data + offset);

	if (tail == end)
		return NULL;
	if (header->size < sizeof(*header) || header->size % 8 || header->size > end - tail ||
	    header->size > ring->data_bytes) {
		set_tail(ring, end);
		return NULL;
	}
	if (header->size <= until_wrap)
		return header;
	memcpy(scratch->bytes, header, until_wrap);
	memcpy(scratch->bytes + until_wrap, ring->data, header->size - until_wrap);
	return &scratch->header;
}

void perf_ring_advance(struct perf_ring *ring, const struct perf_event_header *record)
{
	set_tail(ring, ring->page->data_tail + record->size);
}
