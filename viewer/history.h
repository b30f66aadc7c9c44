/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The samples of the last while, in memory, for the page: every one with its time, a few bytes each. It is
 * a struct reporter, which the work thread fills; the viewer's thread reads.
 */
#ifndef VIEWER_HISTORY_H
#define VIEWER_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reporter/reporter.h"
#include "reporter/sample_store.h"

struct history_options {
	/** Samples that are older go. */
	uint64_t retention_ns;
	/** Of all that is kept, traces and all; beyond it the oldest go, counted. */
	size_t max_bytes;
};

struct history;

/** NULL without memory. */
struct history *history_create(const struct history_options *options);
void history_destroy(struct history *history);

/** The reporter to hand samples to; borrowed from @history. */
struct reporter *history_reporter(struct history *history);

/** While it is paused it takes no samples. */
void history_pause(struct history *history, bool is_paused);

/** As sample_store_list(): the traces that came since @cursor. */
uint32_t history_list(struct history *history, struct sample_cursor *cursor,
		      struct listed_trace *traces, uint32_t capacity);

#endif
