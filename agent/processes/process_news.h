/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Handles process events in the ring thread: what the kernel programs report, and mappings of the
 * side-band. Events that need no action now are kept or noted; the others become events for the sync thread.
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
 * Programs that started lately. Most programs of a build end a moment later without a sample, and the sync
 * thread need not know of them. Owned by the ring thread. All bytes zero: none.
 */
struct new_programs {
	/** Indexed by pid modulo NEW_PROGRAMS_MAX; pid 0: an empty slot. */
	struct process_event execs[NEW_PROGRAMS_MAX];
	uint32_t count;
	/** Called with a process event that needs action. */
	void (*pass_on)(void *context, const struct process_event *process_event);
	void *context;
};

/**
 * Keeps a PROCESS_EVENT_EXEC, replacing an earlier one of that pid. A process event of another pid in its slot is passed on.
 * Programs that go on running are passed on by new_programs_pass_on().
 */
void new_programs_add(struct new_programs *programs, const struct process_event *exec);

/** Passes on the exec of @pid, if there is one, since it was sampled. */
void new_programs_pass_on_of(struct new_programs *programs, uint32_t pid);

/** True if the exec of @exit's program was kept; it is dropped then, since the program was not sampled. */
bool new_programs_end(struct new_programs *programs, const struct process_event *exit);

/** Passes on the programs that started before @time_ns. */
void new_programs_pass_on(struct new_programs *programs, uint64_t time_ns);

/** Used by the ring thread. */
struct process_news {
	struct process_table *table;
	struct mapping_log *mapping_log;
	struct new_programs new_programs;
	void (*push)(void *context, struct sync_event *event);
	void *context;
};

/** Everything is borrowed. @push queues an event for the sync thread. */
void process_news_init(struct process_news *news, struct process_table *table,
		       struct mapping_log *mapping_log,
		       void (*push)(void *context, struct sync_event *event), void *context);

void process_news_take_process_event(struct process_news *news,
				     const struct process_event *process_event);
void process_news_take_side_band(struct process_news *news, const struct side_band_event *event);

/** All events before @until_ns (CLOCK_MONOTONIC) have been taken. */
void process_news_end(struct process_news *news, uint64_t until_ns);

#endif
