/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table, and one number per line of it. The names are made from the enum's at the first use, so
 * that no list of names can fall behind the list of metrics.
 */

#include "lib/model/metrics.h"

#include <assert.h>
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>

#include "lib/model/trace.h"

enum { METRIC_NAME_BYTES = 48 };

/* By the column of the table. */
#define IS_SUM false
#define IS_STATE true

static uint64_t values[METRIC_COUNT];

static pthread_once_t names_once = PTHREAD_ONCE_INIT;
static char names[METRIC_COUNT][METRIC_NAME_BYTES];

static struct metric_description descriptions[METRIC_COUNT] = {
#define X(name, unit, meaning) [COUNTER_##name] = { "bpf_" #name, unit, meaning, false },
	COUNTERS(X)
#undef X
#define X(name, kind, unit, meaning) [METRIC_##name] = { #name, unit, meaning, IS_##kind },
		USER_METRICS(X)
#undef X
};

static void make_names(void)
{
	for (int error = 0; error < UNWIND_ERROR_COUNT; error++) {
		struct metric_description *description = &descriptions[COUNTER_ERRORS + error];

		snprintf(names[COUNTER_ERRORS + error], METRIC_NAME_BYTES, "bpf_error_%s",
			 unwind_error_name(error));
		description->unit = "samples";
		description->meaning = unwind_error_text(error);
		description->name = names[COUNTER_ERRORS + error];
	}
	for (int metric = 0; metric < METRIC_COUNT; metric++) {
		struct metric_description *description = &descriptions[metric];
		const char *from = description->name;

		for (int i = 0; from[i] && i < METRIC_NAME_BYTES - 1; i++)
			names[metric][i] = (char)tolower((unsigned char)from[i]);
		description->name = names[metric];
	}
}

const struct metric_description *metric_describe(enum metric metric)
{
	assert((unsigned int)metric < METRIC_COUNT);
	pthread_once(&names_once, make_names);
	return &descriptions[metric];
}

void metrics_add(enum metric metric, uint64_t count)
{
	__atomic_fetch_add(&values[metric], count, __ATOMIC_RELAXED);
}

void metrics_set(enum metric metric, uint64_t value)
{
	__atomic_store_n(&values[metric], value, __ATOMIC_RELAXED);
}

uint64_t metrics_read(enum metric metric)
{
	return __atomic_load_n(&values[metric], __ATOMIC_RELAXED);
}

void metrics_take_snapshot(struct metrics_snapshot *snapshot)
{
	for (int metric = 0; metric < METRIC_COUNT; metric++)
		snapshot->values[metric] = metrics_read(metric);
}

void metrics_reset(void)
{
	for (int metric = 0; metric < METRIC_COUNT; metric++)
		metrics_set(metric, 0);
}
