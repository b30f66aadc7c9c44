/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the load threads are to do, in the order in which it is wanted. Two threads take from it, and one of
 * them takes small requests only: so these never wait for a large one.
 *
 *	both		what a sample waits for goes before the rest
 *	small thread	then the smaller goes before the larger
 *	other thread	large ones that a sample waits for, then small ones, then the rest
 *
 * One thread at a time attaches. Of equals the older one goes first. Bounded; any number of threads push and raise.
 */
#ifndef AGENT_PROCESSES_LOAD_QUEUE_H
#define AGENT_PROCESSES_LOAD_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attach_request;

enum {
	LOAD_QUEUE_MAX = 1 << 14,
	/** Files with tables of no more than this take some milliseconds of CPU time at most, but for surprises. */
	LOAD_SMALL_BYTES = 4 << 20,
};

struct load_request {
	/** Not NULL: attaches to a runtime, which is small, and else makes the rows of executable_id. */
	struct attach_request *attach;
	uint64_t executable_id;
	/** About the size of the file's tables. */
	uint64_t bytes;
	/** A sample waits for it. */
	bool is_wanted;
	/** Turned out to take long, whatever its size. */
	bool is_heavy;
	/** The queue's own. */
	uint64_t order;
};

/** Owned by all of its threads: it has a lock. */
struct load_queue {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	/** Unordered. */
	struct load_request *requests;
	size_t count;
	uint64_t last_order;
	/** A thread attaches: the other one makes rows, however long a process keeps it waiting. */
	bool is_attaching;
	bool is_closed;
};

/** Whether it is done in some milliseconds, as far as is known. */
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
 * Takes out the request that is next; of the small ones alone if @only_small. Waits for one. -EPIPE when the
 * queue is closed and has none for the caller.
 */
int load_queue_pop(struct load_queue *queue, bool only_small, struct load_request *request);

/** The request that a thread popped was an attach, and is done. */
void load_queue_attach_done(struct load_queue *queue);

/** Wakes all readers, who get the rest of the queue, and then -EPIPE. Pushes fail from now on. */
void load_queue_close(struct load_queue *queue);

/** Takes out any request; false if there is none. */
bool load_queue_take_any(struct load_queue *queue, struct load_request *request);

#endif
