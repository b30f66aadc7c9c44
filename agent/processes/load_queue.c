/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array that is searched at each pop. It has a few hundred requests at the start of the agent and a few
 * later, and each request takes longer than a search among LOAD_QUEUE_MAX.
 */
#include "agent/processes/load_queue.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/urgent_thread.h"

int load_queue_init(struct load_queue *queue)
{
	int err;

	*queue = (struct load_queue){ 0 };
	queue->requests = calloc(LOAD_QUEUE_MAX, sizeof(*queue->requests));
	if (!queue->requests)
		return -ENOMEM;
	/* The sync thread, which is urgent, pushes. */
	err = urgent_lock_init(&queue->lock);
	if (err) {
		free(queue->requests);
		queue->requests = NULL;
		return err;
	}
	pthread_cond_init(&queue->filled, NULL);
	return 0;
}

void load_queue_deinit(struct load_queue *queue)
{
	if (!queue->requests)
		return;
	pthread_cond_destroy(&queue->filled);
	pthread_mutex_destroy(&queue->lock);
	free(queue->requests);
	queue->requests = NULL;
}

/* Whether the request reads memory of a process, which may delay that. */
static bool reads_memory(const struct load_request *request)
{
	return request->attach || request->copy;
}

bool load_request_is_small(const struct load_request *request)
{
	return reads_memory(request) || (!request->is_heavy && request->bytes <= LOAD_SMALL_BYTES);
}

/* Rank of a request; the lowest is next. */
static int rank(const struct load_request *request)
{
	if (!load_request_is_small(request))
		return request->is_wanted ? 0 : 3;
	return request->is_wanted ? 1 : 2;
}

static bool goes_before(const struct load_request *a, const struct load_request *b)
{
	if (rank(a) != rank(b))
		return rank(a) < rank(b);
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes;
	return a->order < b->order;
}

/* The index of the next request for the caller; the count if there is none. */
static size_t find_next(const struct load_queue *queue, bool only_small)
{
	size_t best = queue->count;

	for (size_t i = 0; i < queue->count; i++) {
		if ((only_small && !load_request_is_small(&queue->requests[i])) ||
		    (queue->is_reading_memory && reads_memory(&queue->requests[i])))
			continue;
		if (best == queue->count ||
		    goes_before(&queue->requests[i], &queue->requests[best]))
			best = i;
	}
	return best;
}

int load_queue_push(struct load_queue *queue, const struct load_request *request)
{
	int err = 0;

	pthread_mutex_lock(&queue->lock);
	if (queue->is_closed) {
		err = -EPIPE;
	} else if (queue->count == LOAD_QUEUE_MAX) {
		err = -ENOSPC;
	} else {
		queue->requests[queue->count] = *request;
		queue->requests[queue->count++].order = ++queue->last_order;
		/* Wakes all threads, since a single one may be the one that takes no large requests. */
		pthread_cond_broadcast(&queue->filled);
	}
	pthread_mutex_unlock(&queue->lock);
	return err;
}

bool load_queue_raise(struct load_queue *queue, uint64_t executable_id)
{
	bool is_found = false;

	pthread_mutex_lock(&queue->lock);
	for (size_t i = 0; i < queue->count && !is_found; i++) {
		struct load_request *request = &queue->requests[i];

		if (reads_memory(request) || request->executable_id != executable_id)
			continue;
		request->is_wanted = true;
		is_found = true;
	}
	pthread_mutex_unlock(&queue->lock);
	return is_found;
}

static void take_out(struct load_queue *queue, size_t index, struct load_request *request)
{
	*request = queue->requests[index];
	queue->is_reading_memory |= reads_memory(request);
	queue->requests[index] = queue->requests[--queue->count];
}

int load_queue_pop(struct load_queue *queue, bool only_small, struct load_request *request)
{
	size_t index;
	int err = 0;

	pthread_mutex_lock(&queue->lock);
	while ((index = find_next(queue, only_small)) == queue->count && !queue->is_closed)
		pthread_cond_wait(&queue->filled, &queue->lock);
	if (index < queue->count)
		take_out(queue, index, request);
	else
		err = -EPIPE;
	pthread_mutex_unlock(&queue->lock);
	return err;
}

void load_queue_memory_done(struct load_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->is_reading_memory = false;
	pthread_cond_broadcast(&queue->filled);
	pthread_mutex_unlock(&queue->lock);
}

void load_queue_close(struct load_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->is_closed = true;
	pthread_cond_broadcast(&queue->filled);
	pthread_mutex_unlock(&queue->lock);
}

bool load_queue_take_any(struct load_queue *queue, struct load_request *request)
{
	bool is_taken;

	pthread_mutex_lock(&queue->lock);
	is_taken = queue->count;
	if (is_taken)
		take_out(queue, queue->count - 1, request);
	pthread_mutex_unlock(&queue->lock);
	return is_taken;
}

size_t load_queue_count(struct load_queue *queue)
{
	size_t count;

	pthread_mutex_lock(&queue->lock);
	count = queue->count;
	pthread_mutex_unlock(&queue->lock);
	return count;
}
