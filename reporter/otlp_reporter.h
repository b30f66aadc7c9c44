/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Samples to a collector: a sample store of its own, which every interval is emptied into requests,
 * and a sender for those. Two threads, so that a collector which does not answer holds up an interval
 * for the timeout of a call at most: `report` empties the store, builds, and waits for room in the
 * queue as long as no call fails; `send` waits for the network. Memory is bounded by the store's
 * limit, the sender's queue, and what one interval takes to build.
 */
#ifndef REPORTER_OTLP_REPORTER_H
#define REPORTER_OTLP_REPORTER_H

#include <stdbool.h>
#include <stdint.h>

#include "reporter/otlp_profile.h"
#include "reporter/otlp_sender.h"
#include "reporter/reporter.h"
#include "reporter/sample_store.h"

enum {
	/** Collectors take 4 MiB by default. */
	OTLP_MAX_REQUEST_BYTES = 3670016,
	/** Of the samples of one interval. */
	OTLP_STORE_MAX_BYTES = 64 << 20,
};

struct otlp_reporter_config {
	struct otlp_sender_config sender;
	/** Borrowed; otlp_request_fn gets requests of its max_request_bytes. */
	const struct otlp_options *otlp;
	uint64_t interval_ns;
	/** 0 to 1: each interval is longer or shorter by up to this part of it. */
	double jitter;
	/** Samples of different CPUs are different ones. */
	bool keeps_cpus;
	/** Called by the report thread with the samples of an interval, before they are named. May be NULL. */
	void (*taken)(void *context, const struct sample_snapshot *snapshot);
	void *context;
	/** Of the samples of one interval, which ends when half of it is used; 0: OTLP_STORE_MAX_BYTES. */
	size_t store_max_bytes;
};

struct otlp_reporter;

/** Starts no thread yet, and the first interval now. -ENOMEM. */
int otlp_reporter_create(const struct otlp_reporter_config *config,
			 struct otlp_reporter **reporter);

/** The reporter to hand samples to; borrowed. */
struct reporter *otlp_reporter_door(struct otlp_reporter *reporter);

/** Starts the threads, and the first interval anew. */
int otlp_reporter_start(struct otlp_reporter *reporter);

/**
 * What the threads run, for those who have none: each does what is due, and returns when to call it
 * again, as otlp_sender_step() does.
 */
uint64_t otlp_reporter_tick(struct otlp_reporter *reporter);
uint64_t otlp_reporter_send(struct otlp_reporter *reporter);

/**
 * Ends the interval and has everything sent until @deadline_ns (CLOCK_MONOTONIC); what is not sent
 * by then is dropped and counted. Returns at once. No sample may come any more.
 */
void otlp_reporter_begin_stop(struct otlp_reporter *reporter, uint64_t deadline_ns);

/** Waits for that, until shortly after the deadline at most. */
void otlp_reporter_finish(struct otlp_reporter *reporter);

/** Stops what runs, at once. Takes NULL. */
void otlp_reporter_destroy(struct otlp_reporter *reporter);

#endif
