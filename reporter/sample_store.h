/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The sample store: every distinct sample (trace, and all that tells samples apart) once, with its
 * count and, if wanted, the time of each. It is a struct reporter: the work thread fills it, and the
 * thread that writes or sends takes all that is in it, again and again or once at the end. One lock,
 * held for a few hash lookups or for the exchange of a pointer. Memory has a limit; samples that
 * would need more are dropped and counted, and a warning comes once until the store is emptied.
 */
#ifndef REPORTER_SAMPLE_STORE_H
#define REPORTER_SAMPLE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/model/metrics.h"
#include "lib/model/process_info.h"
#include "reporter/reporter.h"

enum {
	SAMPLE_STORE_DEFAULT_MAX_BYTES = 256 << 20,
};

struct sample_store_options {
	/** Of what is in the store; what was taken is not. 0 takes the default. */
	size_t max_bytes;
	/** Keeps the time of every sample. */
	bool keeps_times;
	/** Samples of different CPUs are different ones. */
	bool keeps_cpus;
	/** Counts the samples that there was no room for; 0: METRIC_SAMPLES_UNSTORED. */
	enum metric unstored_metric;
	/**
	 * Called by who reports, without the lock, when half of max_bytes is used: once until all
	 * is taken. May be NULL.
	 */
	void (*half_full)(void *context);
	void *context;
};

/**
 * One distinct sample. What it points to lives as long as the snapshot that it is in, where equal
 * traces, equal processes, equal names and equal labels are the same pointers.
 */
struct stored_sample {
	/** Its cpu is SAMPLE_NO_NUMBER unless the store keeps CPUs. */
	struct sample sample;
	uint64_t count;
	/** CLOCK_MONOTONIC of each of the count samples, ascending; NULL unless the store keeps times. */
	const uint64_t *times_ns;
	/** The sum of the values; 0 where the origin has none. */
	uint64_t value_sum;
	/** The value at each time; NULL where the origin has none, or the store keeps no times. */
	const uint64_t *values;
};

struct sample_store;
struct sample_contents;

/** NULL without memory. */
struct sample_store *sample_store_create(const struct sample_store_options *options);
void sample_store_destroy(struct sample_store *store);

/** The reporter to hand samples to; borrowed from @store. */
struct reporter *sample_store_reporter(struct sample_store *store);

/** How many samples are in it. */
uint64_t sample_store_count(struct sample_store *store);

/** What was in a store at one moment. Owner: the thread that took it. */
struct sample_snapshot {
	/** Most frequent first; those of one count in the order in which they first came. */
	const struct stored_sample *samples;
	size_t count;
	/** Owns all of it. */
	struct sample_contents *contents;
};

/**
 * Takes everything out of the store, which is empty then and goes on. What is taken is sorted, times
 * and all, by the caller's thread without the lock. -ENOMEM: nothing is taken.
 */
int sample_store_take(struct sample_store *store, struct sample_snapshot *snapshot);

/** Takes a zeroed one. */
void sample_snapshot_deinit(struct sample_snapshot *snapshot);

#endif
