/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finished requests that wait to be sent, oldest first, limited in bytes and in requests. When
 * there is no room, the oldest are dropped. The request that is being sent is not in the queue but
 * still counts, so that it can always be put back. Not thread-safe; owner: struct otlp_sender.
 */
#ifndef REPORTER_REQUEST_QUEUE_H
#define REPORTER_REQUEST_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reporter/otlp_profile.h"

struct request_queue {
	/** A ring of max_count slots. */
	struct otlp_request *requests;
	uint32_t first;
	uint32_t count;
	uint32_t max_count;
	/** Bytes of the requests in the ring and of the taken one. */
	size_t bytes;
	size_t max_bytes;
	bool is_taken;
	size_t taken_bytes;
	/** Dropped so far, for lack of room or by request_queue_clear(). */
	uint64_t dropped_requests;
	uint64_t dropped_samples;
};

/** @max_count is at least 2. -ENOMEM. */
int request_queue_init(struct request_queue *queue, uint32_t max_count, size_t max_bytes);
void request_queue_deinit(struct request_queue *queue);

/** True if @request_bytes more fit without dropping a request. */
bool request_queue_has_room(const struct request_queue *queue, size_t request_bytes);

/** Takes over @request, which is itself dropped if it can never fit. */
void request_queue_push(struct request_queue *queue, struct otlp_request *request);

/**
 * Moves the oldest request to *@request. The caller owns it until request_queue_put_back() or
 * request_queue_release(), and may take no other until then. False if the queue is empty.
 */
bool request_queue_take(struct request_queue *queue, struct otlp_request *request);

/** Puts the taken request back as the oldest. */
void request_queue_put_back(struct request_queue *queue, struct otlp_request *request);

/** Frees the taken request. */
void request_queue_release(struct request_queue *queue, struct otlp_request *request);

/** Drops all requests in the queue. */
void request_queue_clear(struct request_queue *queue);

#endif
