/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Sends finished requests, oldest first and one at a time, and decides what becomes of each by the
 * answer: taken; tried again, with the same bytes, after a back-off or the time that the collector
 * asks for; or dropped and counted. It has no thread and no clock of its own.
 *
 * Tried again: CANCELLED, DEADLINE_EXCEEDED, ABORTED, OUT_OF_RANGE, UNAVAILABLE, DATA_LOSS, and
 * RESOURCE_EXHAUSTED with RetryInfo (opentelemetry.io/docs/specs/otlp, "Failures"). A partial
 * success is a success. A collector that does not answer fills the queue, and no more.
 */
#ifndef REPORTER_OTLP_SENDER_H
#define REPORTER_OTLP_SENDER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/log.h"
#include "reporter/request_queue.h"
#include "reporter/transport.h"

enum {
	OTLP_SENDER_DEFAULT_MAX_BYTES = 16 << 20,
	OTLP_SENDER_DEFAULT_MAX_REQUESTS = 4096,
	RPC_STATUS_COUNT = RPC_UNAUTHENTICATED + 1,
};

/** Borrowed but for the numbers. */
struct otlp_sender_config {
	struct transport *transport;
	/** What the log calls the collector: `host:port`. */
	const char *collector;
	uint64_t call_timeout_ns;
	/** Of the requests that wait, the one that is being sent among them; 0: the defaults. */
	size_t max_bytes;
	uint32_t max_requests;
	/** NULL: clock_monotonic_ns(). */
	uint64_t (*now_ns)(void);
};

struct otlp_sender {
	struct otlp_sender_config config;
	/** Of all that follows; never held over a call. */
	pthread_mutex_t lock;
	struct request_queue queue;
	/** What of the queue's counts is in the metrics. */
	uint64_t counted_requests;
	uint64_t counted_samples;
	/** Tries in a row that are to be repeated, and when. */
	uint32_t failure_count;
	uint64_t retry_at_ns;
	bool is_draining;
	uint64_t drain_deadline_ns;
	unsigned short random_state[3];
	/** The rest is for the log. */
	bool is_loss_logged;
	char logged_loss[TRANSPORT_MESSAGE_BYTES];
	/** Why the last try is to be repeated; "" if it is not, or when the stop cut it short. */
	char loss[TRANSPORT_MESSAGE_BYTES];
	struct log_limit loss_limit;
	struct log_limit full_limit;
	struct log_limit partial_limit;
	struct log_limit refusal_limits[RPC_STATUS_COUNT];
};

/** -ENOMEM. */
int otlp_sender_init(struct otlp_sender *sender, const struct otlp_sender_config *config);
/** What still waits is dropped and counted. */
void otlp_sender_deinit(struct otlp_sender *sender);

/** The time by the clock of the config. */
uint64_t otlp_sender_now_ns(const struct otlp_sender *sender);

/** Any thread, at any time, without waiting for the network: takes over @request. */
void otlp_sender_push(struct otlp_sender *sender, struct otlp_request *request);

/**
 * Any thread: whether a push of @request would drop others, and these are on their way: the last
 * call, if there was one, did not fail. Who waits then is woken by every end of a step.
 */
bool otlp_sender_must_wait(struct otlp_sender *sender, const struct otlp_request *request);

/**
 * The sending thread: sends the oldest request if its time has come, and waits for the answer.
 * Returns when to call again: at once (0), at a time, or UINT64_MAX: when something was pushed.
 */
uint64_t otlp_sender_step(struct otlp_sender *sender);

/**
 * Any thread: from now on nothing is pushed, tries follow each other quickly, and what is left at
 * @deadline_ns is dropped.
 */
void otlp_sender_drain(struct otlp_sender *sender, uint64_t deadline_ns);

/** True after otlp_sender_drain(), once nothing is left. */
bool otlp_sender_is_done(struct otlp_sender *sender);

#endif
