/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the ring thread reads of processes: notices of the kernel programs, and the side-band's mappings. What
 * nobody needs now is kept or noted; what is to be acted on becomes an event for the sync thread.
 */
#ifndef AGENT_PROCESSES_PROCESS_NEWS_H
#define AGENT_PROCESSES_PROCESS_NEWS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/processes/mapping_log.h"
#include "agent/processes/process.h"
#include "agent/processes/sync_loop.h"
#include "ebpf/abi/process.h"
#include "lib/model/events.h"

enum {
	/** A power of two. */
	NEW_PROGRAMS_MAX = 512,
};

/**
 * Programs that began lately. Most of those of a build have ended a moment later and were never sampled: the sync
 * thread does not hear of them. Owned by the ring thread. All bytes zero: none.
 */
struct new_programs {
	/** By pid, modulo their number; pid 0: none. */
	struct process_notice execs[NEW_PROGRAMS_MAX];
	uint32_t count;
	/** Takes a notice that is to be acted on. */
	void (*pass_on)(void *context, const struct process_notice *notice);
	void *context;
};

/**
 * Keeps a NOTICE_EXEC, in place of an earlier one of that pid; what else has its place is passed on, and what
 * goes on running by new_programs_pass_on().
 */
void new_programs_add(struct new_programs *programs, const struct process_notice *exec);

/** Passes the exec of @pid on, if there is one: it was sampled. */
void new_programs_pass_on_of(struct new_programs *programs, uint32_t pid);

/** True if the exec of @exit's program was there, which then is forgotten: nothing came of it. */
bool new_programs_end(struct new_programs *programs, const struct process_notice *exit);

/** Passes on those that began before @time_ns. */
void new_programs_pass_on(struct new_programs *programs, uint64_t time_ns);

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
