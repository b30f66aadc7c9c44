/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The recent samples in memory, for the page: columns of the ids of their keys, and of the times since
 * the previous sample with the CPUs, packed into four or five bytes a sample. Keys are stored once (viewer/history_keys.h). It is a struct reporter,
 * which the work thread fills; the viewer's thread reads it through views. One lock is held to add
 * a sample, and to drop the oldest, a few thousand at once.
 */
#ifndef VIEWER_HISTORY_H
#define VIEWER_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reporter/reporter.h"
#include "viewer/history_keys.h"

enum {
	HISTORY_DEFAULT_MAX_BYTES = 68 << 20,
};

#define HISTORY_WITHOUT_END UINT64_MAX

struct history_options {
	/**
	 * Samples that are older than the newest one by more than this are dropped;
	 * HISTORY_WITHOUT_END: none.
	 */
	uint64_t retention_ns;
	/**
	 * Limit of all memory, traces included; over it the oldest samples are dropped. 0: the
	 * default.
	 */
	size_t max_bytes;
	/**
	 * Keeps the value of each sample, and samples of all origins. Otherwise the history has only samples of the clock,
	 * and each counts as one.
	 */
	bool keeps_values;
	/** Times are rounded down to a multiple of this; 0: they are exact. */
	uint32_t time_unit_ns;
	/** An origin whose samples are no further ones, so that their values are added up instead: a weight's; 0: there is none. */
	uint8_t weight;
};

struct history;

/** NULL without memory. */
struct history *history_create(const struct history_options *options);
void history_destroy(struct history *history);

/** The reporter that takes samples; borrowed from @history. */
struct reporter *history_reporter(struct history *history);

/** A paused history ignores new samples. Any thread may call these. */
void history_pause(struct history *history, bool is_paused);
bool history_is_paused(struct history *history);

struct history_facts {
	uint64_t samples;
	/** The sum of the weight's values. */
	uint64_t weight;
	/** CLOCK_MONOTONIC; 0 without samples. */
	uint64_t first_ns;
	uint64_t last_ns;
	/** Samples that there was no room for, and samples that were dropped early to make room. */
	uint64_t dropped;
	size_t bytes;
	/** Incremented for every sample that is added or dropped. */
	uint64_t changes;
};

void history_facts(struct history *history, struct history_facts *facts);

/** The limit of the memory, and how much of it others need for what they make of the samples: old samples are dropped for it. */
size_t history_max_bytes(const struct history *history);
void history_reserve(struct history *history, size_t bytes);

/**
 * A snapshot of a history; nothing is dropped until it is closed. One at a time, for one thread.
 */
struct history_view {
	struct history *history;
	struct chunk *chunks;
	size_t chunk_count;
	struct history_keys_snapshot keys;
	/** Ids of keys are below this. */
	uint32_t key_count;
	/**
	 * A bit for each key that was freed between the view before this one and this one, even if its id is in
	 * use again.
	 */
	struct key_bits_vector freed;
	/** Samples before this time are skipped: they are too old already. */
	uint64_t first_ns;
	/** The time range that is read; to_ns is excluded. */
	uint64_t from_ns;
	uint64_t to_ns;
	size_t next_chunk;
	/** Read positions in the columns of the current chunk. */
	const uint8_t *next_key;
	const uint8_t *next_time;
	/** NULL if each sample counts as one. */
	const uint8_t *next_value;
	uint32_t samples_left;
	unsigned int cpu_bits;
	uint64_t time_ns;
};

struct history_sample {
	/** Below key_count. */
	uint32_t key;
	uint32_t cpu;
	uint64_t time_ns;
	int64_t value;
};

/** The caller must close it. -ENOMEM. */
int history_view_open(struct history *history, struct history_view *view);
/** Accepts a zeroed view. */
void history_view_close(struct history_view *view);

/** Restarts reading, with the samples from @from_ns until before @to_ns. */
void history_view_seek(struct history_view *view, uint64_t from_ns, uint64_t to_ns);

/** Reads the next sample, in nearly ascending order of time; false at the end. */
bool history_view_next(struct history_view *view, struct history_sample *sample);

/**
 * The sample fields of a key that the view returned, without a CPU, and with a trace that has no frames. Equal fields of keys are
 * the same pointers. Valid while the view is open; the same goes for what the other functions return.
 */
static inline const struct sample *history_view_key(const struct history_view *view, uint32_t id)
{
	return history_key_sample(&view->keys, id);
}

#endif
