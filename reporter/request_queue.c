// SPDX-License-Identifier: Apache-2.0
#include "reporter/request_queue.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "lib/base/error.h"

int request_queue_init(struct request_queue *queue, uint32_t max_count, size_t max_bytes)
{
	struct otlp_request *requests = calloc(max_count, sizeof(*requests));

	assert(max_count >= 2);
	if (!requests)
		return fail(-ENOMEM, "no memory for a queue of %u requests", max_count);
	*queue = (struct request_queue){
		.requests = requests,
		.max_count = max_count,
		.max_bytes = max_bytes,
	};
	return 0;
}

void request_queue_deinit(struct request_queue *queue)
{
	if (queue->requests)
		request_queue_clear(queue);
	free(queue->requests);
	*queue = (struct request_queue){ 0 };
}

static void drop(struct request_queue *queue, struct otlp_request *request)
{
	queue->dropped_requests++;
	queue->dropped_samples += request->sample_count;
	free(request->bytes);
}

static struct otlp_request *pop(struct request_queue *queue)
{
	struct otlp_request *request = &queue->requests[queue->first];

	queue->first = (queue->first + 1) % queue->max_count;
	queue->count--;
	return request;
}

static void drop_oldest(struct request_queue *queue)
{
	struct otlp_request *request = pop(queue);

	queue->bytes -= request->byte_count;
	drop(queue, request);
}

bool request_queue_has_room(const struct request_queue *queue, size_t request_bytes)
{
	/* A slot of the ring and the bytes of the taken request stay reserved. */
	return queue->count < queue->max_count - queue->is_taken &&
	       request_bytes <= queue->max_bytes - queue->bytes;
}

void request_queue_push(struct request_queue *queue, struct otlp_request *request)
{
	if (request->byte_count > queue->max_bytes - queue->taken_bytes)
		return drop(queue, request);
	while (!request_queue_has_room(queue, request->byte_count))
		drop_oldest(queue);
	queue->requests[(queue->first + queue->count) % queue->max_count] = *request;
	queue->count++;
	queue->bytes += request->byte_count;
}

bool request_queue_take(struct request_queue *queue, struct otlp_request *request)
{
	assert(!queue->is_taken);
	if (!queue->count)
		return false;
	*request = *pop(queue);
	queue->is_taken = true;
	queue->taken_bytes = request->byte_count;
	return true;
}

void request_queue_put_back(struct request_queue *queue, struct otlp_request *request)
{
	assert(queue->is_taken);
	queue->is_taken = false;
	queue->taken_bytes = 0;
	queue->first = (queue->first + queue->max_count - 1) % queue->max_count;
	queue->requests[queue->first] = *request;
	queue->count++;
}

void request_queue_release(struct request_queue *queue, struct otlp_request *request)
{
	assert(queue->is_taken);
	queue->is_taken = false;
	queue->bytes -= queue->taken_bytes;
	queue->taken_bytes = 0;
	free(request->bytes);
}

void request_queue_clear(struct request_queue *queue)
{
	while (queue->count)
		drop_oldest(queue);
}
