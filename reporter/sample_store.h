/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The sample store: every distinct sample (trace, and all fields that distinguish samples) once,
 * with its count and, if wanted, the time of each. It is a struct reporter: the work thread fills
 * it, and the thread that writes or sends takes all samples, repeatedly or once at the end. It has
 * one lock, held for a few hash lookups or for the exchange of a pointer. Memory has a limit;
 * samples that would exceed it are dropped and counted, with one warning until the store is
 * emptied.
 */
#ifndef REPORTER_SAMPLE_STORE_H
#define REPORTER_SAMPLE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/model/metrics.h"
#include "lib/model/origins.h"
#include "lib/model/process_info.h"
#include "reporter/reporter.h"

enum {
	SAMPLE_STORE_DEFAULT_MAX_BYTES = 256 << 20,
};

struct sample_store_options {
	/** Limit of the store's contents; taken samples do not count. 0: the default. */
	size_t max_bytes;
	/** Keeps the time of every sample. */
	bool keeps_times;
	/** Counts samples of different CPUs separately. */
	bool keeps_cpus;
	/** Counts the samples that there was no room for; 0: METRIC_SAMPLES_UNSTORED. */
	enum metric unstored_metric;
	/**
	 * Called by the reporting thread, without the lock, when half of max_bytes is used: once
	 * until all samples are taken. May be NULL.
	 */
	void (*half_full)(void *context);
	void *context;
};

/**
 * One distinct sample. Its pointers are valid while the snapshot lives. Within a snapshot equal
 * traces, processes, names and labels are the same pointers.
 */
struct stored_sample {
	/** Its cpu is SAMPLE_NO_NUMBER unless the store keeps CPUs. */
	struct sample sample;
	uint64_t count;
	/**
	 * CLOCK_MONOTONIC of each of the count samples, ascending; NULL unless the store keeps
	 * times.
	 */
	const uint64_t *times_ns;
	/** The sum of the values; 0 if the origin has none. */
	uint64_t value_sum;
	/** The value at each time; NULL if the origin has none, or if the store keeps no times. */
	const uint64_t *values;
};

/** Its count where all samples are of one origin: the number of its samples, or of a weight the sum of the values. */
static inline uint64_t stored_sample_count(const struct stored_sample *stored)
{
	return origin_is_weight(stored->sample.origin) ? stored->value_sum : stored->count;
}

struct sample_store;
struct sample_contents;

/** NULL without memory. */
struct sample_store *sample_store_create(const struct sample_store_options *options);
void sample_store_destroy(struct sample_store *store);

/** The reporter that takes samples; borrowed from @store. */
struct reporter *sample_store_reporter(struct sample_store *store);

/** The number of samples in the store, without those of a weight. */
uint64_t sample_store_count(struct sample_store *store);

/** The contents of a store at one moment. Owner: the thread that took it. */
struct sample_snapshot {
	/** Most frequent first; samples of equal count in the order of their first occurrence. */
	const struct stored_sample *samples;
	size_t count;
	/** Owns everything above. */
	struct sample_contents *contents;
};

/**
 * Takes all samples out of the store, which is then empty and in use again. The calling thread
 * sorts the samples and their times without the lock. -ENOMEM: nothing is taken.
 */
int sample_store_take(struct sample_store *store, struct sample_snapshot *snapshot);

/** Accepts a zeroed snapshot. */
void sample_snapshot_deinit(struct sample_snapshot *snapshot);

#endif
