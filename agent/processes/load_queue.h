/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The queue of requests for the load threads, ordered by priority. Two threads pop requests, and one of them
 * takes small ones only, so that small requests never wait for a large one.
 *
 *	both		requests that a sample waits for come before the rest
 *	small thread	then smaller requests come before larger ones
 *	other thread	large requests that a sample waits for, then small ones, then the rest
 *
 * Only one thread at a time attaches to runtimes or copies code. Of equal requests the older one goes first. Bounded; any
 * number of threads push and raise.
 */
#ifndef AGENT_PROCESSES_LOAD_QUEUE_H
#define AGENT_PROCESSES_LOAD_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attach_request;
struct code_copy_request;

enum {
	LOAD_QUEUE_MAX = 1 << 14,
	/** Files with tables up to this size usually take some milliseconds of CPU time at most. */
	LOAD_SMALL_BYTES = 4 << 20,
};

struct load_request {
	/**
	 * Not NULL: the request is to attach to a runtime, or to copy code, and is small. Both NULL: it is to make the rows
	 * of executable_id.
	 */
	struct attach_request *attach;
	struct code_copy_request *copy;
	uint64_t executable_id;
	/** Approximate size of the file's tables. */
	uint64_t bytes;
	/** A sample waits for it. */
	bool is_wanted;
	/** The load turned out to take long, whatever its size. */
	bool is_heavy;
	/** Sequence number, private to the queue. */
	uint64_t order;
};

/** Shared by its threads; it has a lock. */
struct load_queue {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	/** Unordered. */
	struct load_request *requests;
	size_t count;
	uint64_t last_order;
	/**
	 * A thread attaches to a runtime, or copies code. The other one makes rows meanwhile, however long that process keeps
	 * the first waiting.
	 */
	bool is_reading_memory;
	bool is_closed;
};

/** Whether the request is likely to take some milliseconds only. */
bool load_request_is_small(const struct load_request *request);

/** -ENOMEM. */
int load_queue_init(struct load_queue *queue);
/** No thread may use it any more, and it must be empty. */
void load_queue_deinit(struct load_queue *queue);

/** Copies @request in. -ENOSPC if LOAD_QUEUE_MAX wait already, -EPIPE after close. */
int load_queue_push(struct load_queue *queue, const struct load_request *request);

/** A sample waits for these rows; false if the request is not in the queue (any more). */
bool load_queue_raise(struct load_queue *queue, uint64_t executable_id);

/**
 * Waits for a request and takes out the next one, with @only_small the next small one. -EPIPE when the queue is
 * closed and has none for the caller.
 */
int load_queue_pop(struct load_queue *queue, bool only_small, struct load_request *request);

/** A thread has finished the request to attach or to copy code that it popped. */
void load_queue_memory_done(struct load_queue *queue);

/** Wakes all readers. They get the rest of the queue, and then -EPIPE. Pushes fail from now on. */
void load_queue_close(struct load_queue *queue);

/** Takes out any request; false if there is none. */
bool load_queue_take_any(struct load_queue *queue, struct load_request *request);

/** Number of requests in the queue. */
size_t load_queue_count(struct load_queue *queue);

#endif
