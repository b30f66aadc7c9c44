/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Sends samples to a collector, and the agent's metrics if that is wanted (metrics_reporter.h). It has its own sample
 * store, which is emptied into requests every interval, and a sender for the requests. There are two threads, so that a collector which does
 * not answer delays an interval by the timeout of one call at most. Thread `report` empties the
 * store, builds requests, and waits for room in the queue while no call fails; thread `send` waits
 * for the network. Memory is limited by the store's limit, the sender's queue, and what one
 * interval takes to build.
 */
#ifndef REPORTER_OTLP_REPORTER_H
#define REPORTER_OTLP_REPORTER_H

#include <stdbool.h>
#include <stdint.h>

#include "reporter/metrics_reporter.h"
#include "reporter/otlp_profile.h"
#include "reporter/otlp_sender.h"
#include "reporter/reporter.h"
#include "reporter/sample_store.h"

enum {
	/** Collectors take 4 MiB by default. */
	OTLP_MAX_REQUEST_BYTES = 3670016,
	/** Limit of the samples of one interval. */
	OTLP_STORE_MAX_BYTES = 64 << 20,
};

struct otlp_reporter_config {
	struct otlp_sender_config sender;
	/** Borrowed; otlp_request_fn gets requests of up to its max_request_bytes. */
	const struct otlp_options *otlp;
	uint64_t interval_ns;
	/** 0 to 1: each interval is longer or shorter by up to this fraction. */
	double jitter;
	/** Counts samples of different CPUs separately. */
	bool keeps_cpus;
	/**
	 * The report thread calls it with the samples of an interval, before they are named. May be
	 * NULL.
	 */
	void (*taken)(void *context, const struct sample_snapshot *snapshot);
	void *context;
	/**
	 * Limit of the samples of one interval, which ends when half of it is used; 0:
	 * OTLP_STORE_MAX_BYTES.
	 */
	size_t store_max_bytes;
	/** Interval of the agent's metrics; 0: they are not sent. */
	uint64_t metrics_interval_ns;
	/** When the agent was started, ns since 1970. */
	uint64_t start_ns;
	/** The report thread calls it to fill the table, which is empty. */
	void (*fill_metrics)(void *metrics_context, struct metric_table *table);
	void *metrics_context;
};

struct otlp_reporter;

/** Starts the first interval, but no thread yet. -ENOMEM. */
int otlp_reporter_create(const struct otlp_reporter_config *config,
			 struct otlp_reporter **reporter);

/** The reporter that takes samples; borrowed. */
struct reporter *otlp_reporter_door(struct otlp_reporter *reporter);

/** Starts the threads, and restarts the first interval. */
int otlp_reporter_start(struct otlp_reporter *reporter);

/**
 * The loop bodies of the two threads, for callers without them. Each does the work that is due and
 * returns when to call it again, like otlp_sender_step().
 */
uint64_t otlp_reporter_tick(struct otlp_reporter *reporter);
uint64_t otlp_reporter_send(struct otlp_reporter *reporter);

/**
 * Ends the interval and sends everything until @deadline_ns (CLOCK_MONOTONIC); requests that are
 * not sent by then are dropped and counted. Returns at once. No sample may be reported afterwards.
 */
void otlp_reporter_begin_stop(struct otlp_reporter *reporter, uint64_t deadline_ns);

/** Waits for the end of the stop, until shortly after the deadline at most. */
void otlp_reporter_finish(struct otlp_reporter *reporter);

/** Stops the threads at once. Takes NULL. */
void otlp_reporter_destroy(struct otlp_reporter *reporter);

#endif
