/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring of bytes under one lock. Each record follows a 4-byte length. Both may wrap at the end of the ring, so
 * they are only ever copied.
 */

#include "lib/base/bounded_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/monotonic_condition.h"
#include "lib/base/urgent_thread.h"

enum {
	LENGTH_BYTES = sizeof(uint32_t),
	/* Memory that an empty ring keeps. Memory that a burst took beyond it is returned to the system. */
	IDLE_BYTES = 256 << 10,
};

static int init_locks(struct bounded_queue *queue)
{
	int err = monotonic_condition_init(&queue->filled);

	if (err)
		return err;
	err = urgent_lock_init(&queue->lock);
	if (err)
		pthread_cond_destroy(&queue->filled);
	return err;
}

int bounded_queue_init(struct bounded_queue *queue, size_t ring_bytes, size_t max_record_bytes,
		       queue_drop_fn drop, void *drop_context)
{
	int err;

	if (max_record_bytes > UINT32_MAX || ring_bytes < LENGTH_BYTES ||
	    ring_bytes - LENGTH_BYTES < max_record_bytes)
		return -EINVAL;
	memset(queue, 0, sizeof(*queue));
	queue->ring = malloc(ring_bytes);
	if (drop)
		queue->drop_record = malloc(max_record_bytes + 1);
	err = queue->ring && (!drop || queue->drop_record) ? init_locks(queue) : -ENOMEM;
	if (err) {
		free(queue->ring);
		free(queue->drop_record);
		memset(queue, 0, sizeof(*queue));
		return err;
	}
	queue->ring_bytes = ring_bytes;
	queue->max_record_bytes = max_record_bytes;
	queue->drop = drop;
	queue->drop_context = drop_context;
	return 0;
}

int bounded_queue_init_fixed(struct bounded_queue *queue, size_t max_count, size_t record_bytes,
			     queue_drop_fn drop, void *drop_context)
{
	size_t ring_bytes;

	if (__builtin_mul_overflow(max_count, record_bytes + LENGTH_BYTES, &ring_bytes))
		return -EINVAL;
	return bounded_queue_init(queue, ring_bytes, record_bytes, drop, drop_context);
}

static void copy_in(struct bounded_queue *queue, const void *bytes, size_t count)
{
	size_t at = (queue->start + queue->used_bytes) % queue->ring_bytes;
	size_t first = queue->ring_bytes - at < count ? queue->ring_bytes - at : count;

	if (!count)
		return;
	memcpy(queue->ring + at, bytes, first);
	memcpy(queue->ring, (const unsigned char *)bytes + first, count - first);
	queue->used_bytes += count;
}

/* Copies the @count bytes at @offset from the start. */
static void copy_from(const struct bounded_queue *queue, size_t offset, void *bytes, size_t count)
{
	size_t at = (queue->start + offset) % queue->ring_bytes;
	size_t first = queue->ring_bytes - at < count ? queue->ring_bytes - at : count;

	memcpy(bytes, queue->ring + at, first);
	memcpy((unsigned char *)bytes + first, queue->ring, count - first);
}

/* @bytes may be NULL, to drop the bytes. */
static void copy_out(struct bounded_queue *queue, void *bytes, size_t count)
{
	if (bytes && count)
		copy_from(queue, 0, bytes, count);
	queue->start = (queue->start + count) % queue->ring_bytes;
	queue->used_bytes -= count;
}

/*
 * An empty ring restarts at offset 0, so that a ring that holds little at a time touches little memory.
 */
static void start_anew(struct bounded_queue *queue)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = (uintptr_t)queue->ring + IDLE_BYTES + page_bytes - 1;
	uintptr_t end = (uintptr_t)queue->ring + queue->ring_bytes;

	from -= from % page_bytes;
	end -= end % page_bytes;
	queue->start = 0;
	if (queue->peak_bytes > IDLE_BYTES && from < end)
		madvise((void *)from, end - from, MADV_DONTNEED);
	queue->peak_bytes = 0;
}

static size_t take_oldest(struct bounded_queue *queue, void *record)
{
	uint32_t bytes;

	copy_out(queue, &bytes, sizeof(bytes));
	copy_out(queue, record, bytes);
	queue->count--;
	if (!queue->count)
		start_anew(queue);
	return bytes;
}

static void drop_oldest(struct bounded_queue *queue)
{
	size_t bytes = take_oldest(queue, queue->drop_record);

	if (queue->drop)
		queue->drop(queue->drop_context, queue->drop_record, bytes);
}

void bounded_queue_deinit(struct bounded_queue *queue)
{
	if (!queue->ring)
		return;
	while (queue->count)
		drop_oldest(queue);
	pthread_cond_destroy(&queue->filled);
	pthread_mutex_destroy(&queue->lock);
	free(queue->ring);
	free(queue->drop_record);
	memset(queue, 0, sizeof(*queue));
}

/* Copies a record in; *@is_waited_for tells whether a reader waits for it. */
static int put(struct bounded_queue *queue, const void *record, size_t bytes, bool *is_waited_for)
{
	uint32_t length = bytes;

	if (bytes > queue->max_record_bytes)
		return -E2BIG;
	pthread_mutex_lock(&queue->lock);
	if (queue->is_closed) {
		pthread_mutex_unlock(&queue->lock);
		return -EPIPE;
	}
	while (queue->ring_bytes - queue->used_bytes < bytes + LENGTH_BYTES)
		drop_oldest(queue);
	copy_in(queue, &length, sizeof(length));
	copy_in(queue, record, bytes);
	if (queue->peak_bytes < queue->start + queue->used_bytes)
		queue->peak_bytes = queue->start + queue->used_bytes;
	queue->count++;
	*is_waited_for = queue->waiting_count;
	pthread_mutex_unlock(&queue->lock);
	return 0;
}

int bounded_queue_put(struct bounded_queue *queue, const void *record, size_t bytes)
{
	bool is_waited_for;

	return put(queue, record, bytes, &is_waited_for);
}

int bounded_queue_push(struct bounded_queue *queue, const void *record, size_t bytes)
{
	bool is_waited_for;
	int err = put(queue, record, bytes, &is_waited_for);

	/* The lock is free here: a reader that is woken while it is held would have to wait for it. */
	if (!err && is_waited_for)
		pthread_cond_signal(&queue->filled);
	return err;
}

void bounded_queue_wake(struct bounded_queue *queue)
{
	bool is_waited_for;

	pthread_mutex_lock(&queue->lock);
	is_waited_for = queue->count && queue->waiting_count;
	pthread_mutex_unlock(&queue->lock);
	if (is_waited_for)
		pthread_cond_signal(&queue->filled);
}

/* 0 when there is a record; called and left with the lock held. */
static int wait_filled(struct bounded_queue *queue, int64_t timeout_ns)
{
	uint64_t deadline_ns = clock_monotonic_ns() + (uint64_t)timeout_ns;
	bool is_over = false;

	queue->waiting_count++;
	while (!queue->count && !queue->is_closed && !is_over) {
		if (timeout_ns < 0)
			pthread_cond_wait(&queue->filled, &queue->lock);
		else
			is_over = !monotonic_condition_wait(&queue->filled, &queue->lock,
							    deadline_ns);
	}
	queue->waiting_count--;
	if (queue->count)
		return 0;
	return queue->is_closed ? -EPIPE : -EAGAIN;
}

int bounded_queue_pop(struct bounded_queue *queue, void *record, size_t *bytes, int64_t timeout_ns)
{
	size_t record_bytes;
	int err = 0;

	pthread_mutex_lock(&queue->lock);
	if (!queue->count)
		err = timeout_ns || queue->is_closed ? wait_filled(queue, timeout_ns) : -EAGAIN;
	if (!err) {
		record_bytes = take_oldest(queue, record);
		if (bytes)
			*bytes = record_bytes;
	}
	pthread_mutex_unlock(&queue->lock);
	return err;
}

int bounded_queue_peek(struct bounded_queue *queue, void *bytes, size_t count)
{
	uint32_t length;
	int err = -EAGAIN;

	pthread_mutex_lock(&queue->lock);
	if (queue->count) {
		copy_from(queue, 0, &length, sizeof(length));
		err = length < count ? -E2BIG : 0;
		if (!err)
			copy_from(queue, sizeof(length), bytes, count);
	}
	pthread_mutex_unlock(&queue->lock);
	return err;
}

void bounded_queue_close(struct bounded_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->is_closed = true;
	pthread_cond_broadcast(&queue->filled);
	pthread_mutex_unlock(&queue->lock);
}

size_t bounded_queue_count(struct bounded_queue *queue)
{
	size_t count;

	pthread_mutex_lock(&queue->lock);
	count = queue->count;
	pthread_mutex_unlock(&queue->lock);
	return count;
}
