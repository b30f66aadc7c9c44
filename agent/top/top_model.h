/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The contents of `-top`, without a screen: the samples of the last seconds as rows of processes, of functions or of calls, in the
 * order and with the filter that the user has chosen. Owner: the top thread.
 */
#ifndef AGENT_TOP_TOP_MODEL_H
#define AGENT_TOP_TOP_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vector.h"
#include "reporter/function_counts.h"
#include "viewer/history.h"

enum top_list {
	TOP_PROCESSES,
	TOP_FUNCTIONS,
	TOP_CALLS,
	TOP_LIST_COUNT,
};

enum top_sort {
	TOP_BY_SELF,
	TOP_BY_TOTAL,
	TOP_BY_NAME,
	TOP_SORT_COUNT,
};

enum { TOP_FILTER_BYTES = 64 };

struct top_row {
	uint64_t self;
	uint64_t total;
	/** SAMPLE_NO_NUMBER but for processes. */
	uint32_t pid;
	/** Depth of a call, counted in branches. */
	uint32_t level;
	/** Borrowed from the model until it counts again. */
	const char *name;
	const char *file;
	/** enum text_kind */
	uint8_t kind;
};

VECTOR_DEFINE(top_row_vector, struct top_row)

struct top_model {
	/** Borrowed. */
	struct history *history;
	struct symbol_lookup *lookup;
	uint32_t samples_per_second;
	/** The user's choices. */
	enum top_list list;
	enum top_sort sort;
	/** Part of a name or of a file, in either case; "": all. */
	char filter[TOP_FILTER_BYTES];
	/** Functions and calls are those of this process alone. */
	bool has_process;
	uint32_t pid;
	/** The time that is counted, CLOCK_MONOTONIC. */
	uint64_t from_ns;
	uint64_t to_ns;
	/** Results of top_model_count() and top_model_list(). */
	struct function_counts counts;
	struct top_row_vector rows;
};

/** The fields above the results are the caller's. */
void top_model_deinit(struct top_model *model);

/** Counts the samples of the time, of the process if one is chosen and processes are not listed. -ENOMEM. */
int top_model_count(struct top_model *model);

/** Makes the rows of what was counted. -ENOMEM, -E2BIG for too many different calls. */
int top_model_list(struct top_model *model);

/** CPUs that were busy with @count samples. */
double top_model_cpus(const struct top_model *model, uint64_t count);

#endif
