/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the ring thread reads of processes: notices of the kernel programs, and the side-band's mappings. What
 * nobody needs now is kept or noted; what is to be acted on becomes an event for the sync thread.
 */
#ifndef AGENT_PROCESSES_PROCESS_NEWS_H
#define AGENT_PROCESSES_PROCESS_NEWS_H

#include <stdint.h>

#include "agent/processes/mapping_log.h"
#include "agent/processes/new_programs.h"
#include "agent/processes/process.h"
#include "agent/processes/sync_loop.h"
#include "lib/model/events.h"

/** Used by the ring thread. */
struct process_news {
	struct process_table *table;
	struct mapping_log *mapping_log;
	struct new_programs new_programs;
	void (*push)(void *context, struct sync_event *event);
	void *context;
};

/** Borrows all; @push takes an event for the sync thread. */
void process_news_init(struct process_news *news, struct process_table *table,
		       struct mapping_log *mapping_log,
		       void (*push)(void *context, struct sync_event *event), void *context);

void process_news_take_notice(struct process_news *news, const struct process_notice *notice);
void process_news_take_side_band(struct process_news *news, const struct side_band_event *event);

/** All that happened before @until_ns (CLOCK_MONOTONIC) was taken. */
void process_news_end(struct process_news *news, uint64_t until_ns);

#endif
