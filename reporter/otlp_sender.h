/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Sends finished requests, oldest first and one at a time. The answer decides what happens to each:
 * it is done, or it is retried with the same bytes after a back-off or after the time that the
 * collector asks for, or it is dropped and counted. The sender has no thread and no clock of its
 * own.
 *
 * Retried: CANCELLED, DEADLINE_EXCEEDED, ABORTED, OUT_OF_RANGE, UNAVAILABLE, DATA_LOSS, and
 * RESOURCE_EXHAUSTED with RetryInfo (opentelemetry.io/docs/specs/otlp, "Failures"). A partial
 * success is a success. If a collector does not answer, the queue fills up to its limit.
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

/** The contents of requests: they decide the method, and the metrics that count the requests. */
enum otlp_signal {
	OTLP_PROFILES,
	OTLP_METRICS,
};

/** Pointers are borrowed. */
struct otlp_sender_config {
	struct transport *transport;
	enum otlp_signal signal;
	/** The collector's name in the log: `host:port`. */
	const char *collector;
	uint64_t call_timeout_ns;
	/** Limits of the requests that wait, including the one being sent; 0: the defaults. */
	size_t max_bytes;
	uint32_t max_requests;
	/** NULL: clock_monotonic_ns(). */
	uint64_t (*now_ns)(void);
};

struct otlp_sender {
	struct otlp_sender_config config;
	/** Guards all fields below; never held during a call. */
	pthread_mutex_t lock;
	struct request_queue queue;
	/** The part of the queue's counts that the metrics already have. */
	uint64_t counted_requests;
	uint64_t counted_samples;
	/** Failed tries in a row that are to be retried, and the time of the next try. */
	uint32_t failure_count;
	uint64_t retry_at_ns;
	bool is_draining;
	uint64_t drain_deadline_ns;
	unsigned short random_state[3];
	/** The fields below are for the log. */
	bool is_loss_logged;
	char logged_loss[TRANSPORT_MESSAGE_BYTES];
	/**
	 * The reason why the last try is to be retried; "" if it is not, or if the stop interrupted
	 * it.
	 */
	char loss[TRANSPORT_MESSAGE_BYTES];
	struct log_limit loss_limit;
	struct log_limit full_limit;
	struct log_limit partial_limit;
	struct log_limit refusal_limits[RPC_STATUS_COUNT];
};

/** -ENOMEM. */
int otlp_sender_init(struct otlp_sender *sender, const struct otlp_sender_config *config);
/** Requests that still wait are dropped and counted. */
void otlp_sender_deinit(struct otlp_sender *sender);

/** The time by the configured clock. */
uint64_t otlp_sender_now_ns(const struct otlp_sender *sender);

/** Takes over @request. Any thread may call it at any time; it does not wait for the network. */
void otlp_sender_push(struct otlp_sender *sender, struct otlp_request *request);

/**
 * True if a push of @request would drop others although they are being delivered: the last call, if
 * any, did not fail. A caller that waits is then woken by the end of every step. Any thread may
 * call it.
 */
bool otlp_sender_must_wait(struct otlp_sender *sender, const struct otlp_request *request);

/**
 * Sends the oldest request if it is due, and waits for the answer. Returns when to call again: at
 * once (0), at a time, or UINT64_MAX: after a push. Called by the sending thread.
 */
uint64_t otlp_sender_step(struct otlp_sender *sender);

/**
 * From now on nothing may be pushed, tries follow each other quickly, and requests that are left at
 * @deadline_ns are dropped. Any thread may call it.
 */
void otlp_sender_drain(struct otlp_sender *sender, uint64_t deadline_ns);

/** True after otlp_sender_drain(), once nothing is left. */
bool otlp_sender_is_done(struct otlp_sender *sender);

#endif
