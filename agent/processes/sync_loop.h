/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Event handling of the sync thread: decides which process is synced when, and when a process has ended. It has
 * no thread and no clock of its own; the process manager and tests call it.
 *
 *	unknown process		it is added and synced at once
 *	exec			synced and published once the program has mapped its libraries
 *	mapping			synced a moment later, so that the libraries of a start come together
 *	unknown address		synced; while that finds nothing new, asked for ever more rarely
 *	exit			if it was sampled it stays for a while, for samples still on their way
 *	runtimes lost		they are attached to again, but those of the process that did not answer
 *	code hit		it is copied, so that it gets rows (code_copies.h)
 *	files lost		processes that have some mapped are synced, by which they are opened again
 *	events lost		every process is synced, every process event armed again
 *
 * Repeated syncs of processes are spaced out when together they take more than RESYNC_PERCENT of a CPU.
 */
#ifndef AGENT_PROCESSES_SYNC_LOOP_H
#define AGENT_PROCESSES_SYNC_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/processes/process_sync.h"
#include "agent/processes/sync_schedule.h"
#include "ebpf/abi/process.h"
#include "lib/base/clock.h"

/**
 * Delay from an exec to the first sync: the time until the next sample may come, within these limits. While
 * libraries are being mapped it is extended by LIBRARIES_DELAY_NS, but not for ever.
 */
#define EXEC_DELAY_MIN_NS (2 * NS_PER_MS)
#define EXEC_DELAY_MAX_NS (30 * NS_PER_MS)
#define LIBRARIES_DELAY_NS (18 * NS_PER_MS)
/** Delay from the first of several mappings to the sync for all of them. */
#define MAPPING_DELAY_NS (NS_PER_MS + NS_PER_MS / 2)

enum {
	RESYNC_PERCENT = 8,
};

enum sync_event_type {
	EVENT_PROCESS,
	/** An executable mapping was made in a known process. */
	EVENT_MAPPING,
	/** Events were lost, so all processes are synced. */
	EVENT_LOST,
	/** load_remote opened a file, or could not. */
	EVENT_IDENTIFIED,
	/** Rows were loaded and can be published. */
	EVENT_LOADED,
	/** A load thread attached to a runtime, or could not. */
	EVENT_ATTACHED,
	/** A process that held runtimes was lost. */
	EVENT_RUNTIMES_LOST,
	/** Files that other processes held were lost. */
	EVENT_FILES_LOST,
	/** A sample hit anonymous code without rows. */
	EVENT_CODE_HIT,
	/** A load thread copied code, or could not. */
	EVENT_CODE_COPIED,
};

struct sync_event {
	/** Time of queueing (CLOCK_MONOTONIC). The first field, as queue_delay.h requires. */
	uint64_t queued_ns;
	enum sync_event_type type;
	union {
		struct process_event process_event;
		struct {
			uint32_t pid;
			/** Another file was mapped there before. */
			bool is_replaced;
			uint64_t start;
			uint64_t end;
		} mapping;
		struct {
			uint32_t pid;
			struct process_identity identity;
			uint64_t start;
			uint64_t inode;
			/** One reference; NULL if the file cannot be had. */
			struct executable *executable;
		} identified;
		struct attach_answer attached;
		struct {
			uint32_t pid;
			struct process_identity identity;
			uint64_t address;
			/** The code differs from its copy. */
			bool is_changed;
		} code_hit;
		/** On the heap; freed with its deltas when it is handled. */
		struct code_copy_answer *copied;
		/** The process that was read when the runtimes were lost; 0: none. */
		uint32_t lost_pid;
	};
};

/** Owned by the sync thread. */
struct sync_loop {
	struct process_sync sync;
	/**
	 * Whether samples of the process are wanted, as far as that can be told; NULL: of all. Others are read only when they
	 * are sampled nevertheless. @is_new: its program has just begun, and may still take another name. May be set after init.
	 */
	bool (*is_selected)(void *context, uint32_t pid, bool is_new);
	void *context;
	uint64_t exec_delay_ns;
	struct sync_schedule schedule;
	/** Processes whose process events are to be armed again, with reason SYNC_REARM only. */
	struct sync_schedule rearm;
	uint64_t next_tick_ns;
	uint64_t next_wait_ns;
	uint32_t tick_count;
	/**
	 * CPU time of repeated syncs since the last tick, and the factor by which pauses are lengthened for it
	 * (pause_percent).
	 */
	uint64_t resync_cost_ns;
	uint64_t last_tick_ns;
	uint64_t pause_percent;
	/** Events were lost again, before the next sync of all processes is allowed. */
	bool has_lost;
	uint64_t next_everything_ns;
};

/** @sync has its borrowed fields set. */
/** Delay from an exec to the first sync, at this sampling rate of each CPU. */
uint64_t sync_loop_exec_delay(uint32_t samples_per_second);

void sync_loop_init(struct sync_loop *loop, const struct process_sync *sync,
		    uint32_t samples_per_second);
/** Releases all processes of the table. */
void sync_loop_deinit(struct sync_loop *loop);

/** Adds a process that ran when the agent started. */
void sync_loop_add_task(struct sync_loop *loop, const struct task_snapshot *task, uint64_t now_ns);

/** Handles @event and takes over its references. */
void sync_loop_handle(struct sync_loop *loop, const struct sync_event *event, uint64_t now_ns);

/** Syncs processes that are due, at most @max_count; returns their number. */
uint32_t sync_loop_run_due(struct sync_loop *loop, uint64_t now_ns, uint32_t max_count);

/** Periodic housekeeping; returns at once unless it is due. */
void sync_loop_tick(struct sync_loop *loop, uint64_t now_ns);

/** Time of the next work that needs no event. */
uint64_t sync_loop_next_due(const struct sync_loop *loop);

/** Number of processes that wait for a sync. */
size_t sync_loop_pending_count(const struct sync_loop *loop);

#endif
