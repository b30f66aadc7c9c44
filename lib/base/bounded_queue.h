/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A thread-safe queue of records, of one size or of many, in a ring of bytes of a fixed size. Any
 * number of threads push and pop. Records are copied in and out. When the ring is full, the oldest
 * records go, so that a push never waits for a reader; the drop function may count them.
 */
#ifndef LIB_BASE_BOUNDED_QUEUE_H
#define LIB_BASE_BOUNDED_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Called for each record that is dropped, under the queue's lock, so that records may own things. @record is a
 * copy, aligned for any type, valid for the call.
 */
typedef void (*queue_drop_fn)(void *context, void *record, size_t bytes);

struct bounded_queue {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	unsigned char *ring;
	size_t ring_bytes;
	size_t max_record_bytes;
	/* Offset of the oldest record, and bytes in use, length words included. */
	size_t start;
	size_t used_bytes;
	/** Highest offset in the ring that records have reached since the ring was empty. */
	size_t peak_bytes;
	size_t count;
	/** Number of readers that wait in bounded_queue_pop(). */
	unsigned int waiting_count;
	bool is_closed;
	queue_drop_fn drop;
	void *drop_context;
	void *drop_record;
};

/**
 * Takes @ring_bytes of memory up front; each record costs its size and 4 bytes of it. @drop may be
 * NULL. -EINVAL if not even one record of @max_record_bytes fits, -ENOMEM.
 */
int bounded_queue_init(struct bounded_queue *queue, size_t ring_bytes, size_t max_record_bytes,
		       queue_drop_fn drop, void *drop_context);

/** Makes a ring for @max_count records of @record_bytes each. */
int bounded_queue_init_fixed(struct bounded_queue *queue, size_t max_count, size_t record_bytes,
			     queue_drop_fn drop, void *drop_context);

/** Drops the remaining records. No thread may use the queue any more. */
void bounded_queue_deinit(struct bounded_queue *queue);

/**
 * Copies a record in, after dropping as many of the oldest as necessary. -E2BIG over max_record_bytes, -EPIPE
 * after close; then the caller still owns what the record owns.
 */
int bounded_queue_push(struct bounded_queue *queue, const void *record, size_t bytes);

/**
 * Copies a record in without waking a reader. After the last of several records, bounded_queue_wake() wakes
 * one.
 */
int bounded_queue_put(struct bounded_queue *queue, const void *record, size_t bytes);
void bounded_queue_wake(struct bounded_queue *queue);

/**
 * Moves the oldest record into @record, which has room for max_record_bytes, and its size into *@bytes (may be
 * NULL). Waits at most @timeout_ns (0: not at all; negative: for ever). -EAGAIN after the time-out, -EPIPE when
 * the queue is closed and empty.
 */
int bounded_queue_pop(struct bounded_queue *queue, void *record, size_t *bytes, int64_t timeout_ns);

/**
 * Copies the first @count bytes of the oldest record, which stays, to @bytes. -EAGAIN if the queue is empty,
 * -E2BIG if the record is shorter.
 */
int bounded_queue_peek(struct bounded_queue *queue, void *bytes, size_t count);

/** Wakes all readers. They get the remaining records, then -EPIPE. Pushes fail from now on. */
void bounded_queue_close(struct bounded_queue *queue);

/** Number of records in the queue. */
size_t bounded_queue_count(struct bounded_queue *queue);

#endif
