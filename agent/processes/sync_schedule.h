/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The schedule of syncs: one entry per pid, due at the earliest requested time, with the requests since then
 * merged. Owned by the sync thread; bounded by the number of processes. Callers pass the time.
 */
#ifndef AGENT_PROCESSES_SYNC_SCHEDULE_H
#define AGENT_PROCESSES_SYNC_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/hash_map.h"
#include "lib/base/vector.h"

/** Reasons for a sync, as bits. */
enum sync_reason {
	/** Its mappings may have changed. */
	SYNC_MAPPINGS = 1 << 0,
	/** The kernel side has no entry for it. */
	SYNC_UNKNOWN_PROCESS = 1 << 1,
	/** A sample hit an address outside of its rows. */
	SYNC_UNKNOWN_ADDRESS = 1 << 2,
	/** Not a sync: the kernel side may send its next process event about the process. */
	SYNC_REARM = 1 << 3,
	/** Not a sync: a runtime may be attached to (attachments.h). */
	SYNC_ATTACH = 1 << 4,
	/** Sync the earlier programs in its pid, not the process itself. */
	SYNC_OLDER = 1 << 5,
};

struct scheduled_sync {
	uint32_t pid;
	/** enum sync_reason */
	uint32_t reasons;
	uint64_t due_ns;
	/** Range in which something was mapped; start UINT64_MAX and end 0 if there is none. */
	uint64_t touched_start;
	uint64_t touched_end;
};

/** A time in the heap. Of several for one pid, the first that matches its entry counts. */
struct due_time {
	uint64_t due_ns;
	uint32_t pid;
};

VECTOR_DEFINE(due_vector, struct due_time)

/** All bytes zero is an empty schedule. */
struct sync_schedule {
	/** pid -> struct scheduled_sync. */
	struct hash_map by_pid;
	/** A binary heap, the earliest first. */
	struct due_vector due;
};

void sync_schedule_deinit(struct sync_schedule *schedule);

/** Merges @request into the entry of its pid. 0 or -ENOMEM. */
int sync_schedule_add(struct sync_schedule *schedule, const struct scheduled_sync *request);

/**
 * Postpones the entry of @pid to @due_ns, if it would be due earlier and has no reason other than @reasons.
 */
void sync_schedule_postpone(struct sync_schedule *schedule, uint32_t pid, uint32_t reasons,
			    uint64_t due_ns);

/** When the earliest entry is due; UINT64_MAX if there is none. */
uint64_t sync_schedule_next_due(const struct sync_schedule *schedule);

/** Takes out an entry that is due at @now_ns, the earliest first; false if there is none. */
bool sync_schedule_pop(struct sync_schedule *schedule, uint64_t now_ns,
		       struct scheduled_sync *entry);

size_t sync_schedule_count(const struct sync_schedule *schedule);

#endif
