/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The mmapped ring of a perf event (perf_event_open(2), "MMAP layout"): returns records unchanged, joined where
 * they wrap. It checks only that a record is within the ring. One thread reads.
 */
#ifndef AGENT_TRACING_PERF_RING_H
#define AGENT_TRACING_PERF_RING_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

struct perf_ring {
	struct perf_event_mmap_page *page;
	const uint8_t *data;
	size_t data_bytes;
	size_t mapped_bytes;
};

/** Buffer for the longest record (its size is 16 bits), aligned as in the ring. */
struct perf_ring_record {
	_Alignas(8) union {
		struct perf_event_header header;
		uint8_t bytes[UINT16_MAX + 1];
	};
};

/** Maps a ring of @data_bytes, a power of two of at least a page. 0 or -errno. */
int perf_ring_init(struct perf_ring *ring, int event_fd, size_t data_bytes);
void perf_ring_deinit(struct perf_ring *ring);

/** Position up to which records are finished. */
uint64_t perf_ring_end(const struct perf_ring *ring);

/**
 * The next record before @end, NULL if there is none. Valid until perf_ring_advance(); @scratch is used for a
 * record that wraps. Malformed content is skipped up to @end.
 */
const struct perf_event_header *perf_ring_next(struct perf_ring *ring, uint64_t end,
					       struct perf_ring_record *scratch);

/** Returns the space of @record, the last one from perf_ring_next(), to the kernel. */
void perf_ring_advance(struct perf_ring *ring, const struct perf_event_header *record);

#endif
