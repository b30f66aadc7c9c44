/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The samples of the last while, in memory, for the page: columns of the numbers of their keys, the times since the
 * sample before and the CPUs, packed: about six bytes a sample. It is a struct reporter, which the work thread fills;
 * the viewer's thread reads by views. One lock, held to add a sample, and to let the oldest go, a few thousand at once.
 */
#ifndef VIEWER_HISTORY_H
#define VIEWER_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reporter/reporter.h"
#include "reporter/sample_table.h"

enum {
	HISTORY_DEFAULT_MAX_BYTES = 68 << 20,
};

#define HISTORY_WITHOUT_END UINT64_MAX

struct history_options {
	/** Samples that are older than the newest one by more go; HISTORY_WITHOUT_END: none does. */
	uint64_t retention_ns;
	/** Of all that is kept, traces and all; beyond it the oldest go. 0 takes the default. */
	size_t max_bytes;
};

struct history;

/** NULL without memory. */
struct history *history_create(const struct history_options *options);
void history_destroy(struct history *history);

/** The reporter to hand samples to; borrowed from @history. */
struct reporter *history_reporter(struct history *history);

/** While it is paused it takes no samples. Any thread. */
void history_pause(struct history *history, bool is_paused);
bool history_is_paused(struct history *history);

struct history_facts {
	uint64_t samples;
	/** CLOCK_MONOTONIC; 0 without samples. */
	uint64_t first_ns;
	uint64_t last_ns;
	/** Samples that there was no room for, and that went before their time for others. */
	uint64_t dropped;
	size_t bytes;
	/** Grows with every sample that comes or goes. */
	uint64_t changes;
};

void history_facts(struct history *history, struct history_facts *facts);

/** One moment of a history; until it is closed nothing goes. One at a time, for one thread. */
struct history_view {
	struct history *history;
	struct chunk *chunks;
	size_t chunk_count;
	struct sample_entry **blocks;
	uint32_t key_count;
	/** Samples before are not seen: those that are too old already. */
	uint64_t first_ns;
	/** Where it reads: between these times, the second excluded. */
	uint64_t from_ns;
	uint64_t to_ns;
	size_t next_chunk;
	/** In each column of its chunk. */
	const uint8_t *keys;
	const uint8_t *times;
	const uint8_t *cpus;
	uint32_t samples_left;
	uint64_t time_ns;
};

struct history_sample {
	/** Below history_view_key_count(). */
	uint32_t key;
	uint32_t cpu;
	uint64_t time_ns;
};

/** -ENOMEM. The caller closes it. */
int history_view_open(struct history *history, struct history_view *view);
/** Takes a zeroed one. */
void history_view_close(struct history_view *view);

/** Starts again with the samples of times from @from_ns on, before @to_ns. */
void history_view_seek(struct history_view *view, uint64_t from_ns, uint64_t to_ns);

/** The next sample, nearly in the order of times; false at the end. */
bool history_view_next(struct history_view *view, struct history_sample *sample);

/** The key of a sample that the view gave, without a CPU; NULL for a number that is free. As long as the view. */
static inline const struct sample *history_view_key(const struct history_view *view,
						    uint32_t number)
{
	const struct sample *sample = &sample_table_at(view->blocks, number)->sample;

	return sample->trace ? sample : NULL;
}

#endif
