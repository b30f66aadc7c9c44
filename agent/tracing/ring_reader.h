/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reads a BPF ring buffer (kernel/bpf/ringbuf.c, since 5.8). libbpf's reader is not used, because the event
 * reader must stop at a position that it has noted before.
 *
 * Trusts the kernel that the ring is well formed. One thread reads.
 */
#ifndef AGENT_TRACING_RING_READER_H
#define AGENT_TRACING_RING_READER_H

#include <stddef.h>
#include <stdint.h>

struct ring_reader {
	/** The page with the consumer's position, which we write. */
	uint64_t *consumer_position;
	/** The page with the producer's position. data_bytes of data follow it, mapped twice. */
	const uint64_t *producer_position;
	const uint8_t *data;
	size_t data_bytes;
	size_t page_bytes;
};

typedef void (*ring_reader_callback)(void *context, const void *record, size_t bytes);

/** Maps the ring buffer @map_fd, which is borrowed and not needed afterwards. 0 or -errno. */
int ring_reader_init(struct ring_reader *reader, int map_fd);
void ring_reader_deinit(struct ring_reader *reader);

/** Position of the next record; everything before it was reserved before the call. */
uint64_t ring_reader_end(const struct ring_reader *reader);

/**
 * Hands out finished records before @end, stops at the first unfinished one, and returns their space one by
 * one. Records are borrowed for the call. Returns their number.
 */
uint32_t ring_reader_consume(struct ring_reader *reader, uint64_t end,
			     ring_reader_callback callback, void *context);

#endif
