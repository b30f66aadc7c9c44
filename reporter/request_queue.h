/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finished requests that wait to be sent, oldest first, within a limit of bytes and of requests.
 * When there is no room the oldest go. The one that is being sent is out of the queue, and still
 * counts, so that it can always be put back. Not thread-safe; owner: struct otlp_sender.
 */
#ifndef REPORTER_REQUEST_QUEUE_H
#define REPORTER_REQUEST_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reporter/otlp_profile.h"

struct request_queue {
	/** A ring of max_count. */
	struct otlp_request *requests;
	uint32_t first;
	uint32_t count;
	uint32_t max_count;
	/** Of those in the ring, and of the one that was taken. */
	size_t bytes;
	size_t max_bytes;
	bool is_taken;
	size_t taken_bytes;
	/** Dropped so far, for lack of room or by request_queue_clear(). */
	uint64_t dropped_requests;
	uint64_t dropped_samples;
};

/** At least two requests. -ENOMEM. */
int request_queue_init(struct request_queue *queue, uint32_t max_count, size_t max_bytes);
void request_queue_deinit(struct request_queue *queue);

/** Whether @request_bytes more fit without that anything goes. */
bool request_queue_has_room(const struct request_queue *queue, size_t request_bytes);

/** Takes over @request, which is dropped itself if it can never fit. */
void request_queue_push(struct request_queue *queue, struct otlp_request *request);

/**
 * Moves the oldest into *@request, which is the caller's until one of the next two; false if the
 * queue is empty. No other may be taken meanwhile.
 */
bool request_queue_take(struct request_queue *queue, struct otlp_request *request);

/** The taken request is the oldest again. */
void request_queue_put_back(struct request_queue *queue, struct otlp_request *request);

/** The taken request is done with; frees it. */
void request_queue_release(struct request_queue *queue, struct otlp_request *request);

/** Drops all that is in the queue. */
void request_queue_clear(struct request_queue *queue);

#endif
