/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Sends the agent's metrics to a collector: every interval a request with all of them, by a sender of its own, so that
 * a collector that takes profiles and no metrics, or the other way round, delays only one of them. It has no thread:
 * the report thread calls metrics_reporter_tick(), and the send thread steps the sender.
 */
#ifndef REPORTER_METRICS_REPORTER_H
#define REPORTER_METRICS_REPORTER_H

#include "reporter/otlp_metrics.h"
#include "reporter/otlp_sender.h"

enum {
	/** Limits of the requests that wait. */
	METRICS_MAX_REQUESTS = 256,
	METRICS_MAX_BYTES = 4 << 20,
};

/** Pointers are borrowed. */
struct metrics_reporter_config {
	/** Its signal and its limits are set here. */
	struct otlp_sender_config sender;
	/** The attributes of the resource, and the agent's version. */
	const struct otlp_options *otlp;
	/** 0: no metrics are sent. */
	uint64_t interval_ns;
	double jitter;
	/** When the agent was started, ns since 1970. */
	uint64_t start_ns;
	/** Fills the table, which is empty. */
	void (*fill)(void *context, struct metric_table *table);
	void *context;
};

/** Owner: the report thread, apart from the sender. */
struct metrics_reporter {
	struct metrics_reporter_config config;
	struct otlp_sender sender;
	uint64_t next_tick_ns;
	unsigned short random_state[3];
};

/** -ENOMEM. */
int metrics_reporter_init(struct metrics_reporter *reporter,
			  const struct metrics_reporter_config *config);
void metrics_reporter_deinit(struct metrics_reporter *reporter);

/** Restarts the first interval. */
void metrics_reporter_begin(struct metrics_reporter *reporter);

/** Makes a request if the interval is over. Returns when to call again, UINT64_MAX without an interval. */
uint64_t metrics_reporter_tick(struct metrics_reporter *reporter);

/** Makes a request with the values of now; nothing without an interval. */
void metrics_reporter_send_now(struct metrics_reporter *reporter);

#endif
