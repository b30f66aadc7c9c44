/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The latest executable mappings that the side-band told of, of all processes. What a process has
 * mapped that is gone already is made from it: most of those that compile and build things live for
 * less time than it takes to read their maps.
 *
 * Bounded: the oldest go first. The ring thread writes, sync reads; a lock is held for copies only.
 */
#ifndef AGENT_PROCESSES_MAPPING_LOG_H
#define AGENT_PROCESSES_MAPPING_LOG_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/hash_map.h"
#include "lib/host/proc_maps.h"
#include "lib/model/events.h"

enum {
	/** A busy build maps some thousand files a second. Powers of two. */
	MAPPING_LOG_MAX = 1 << 13,
	MAPPING_LOG_BUCKETS = 1 << 11,
	MAPPING_LOG_MAX_PATHS = 1 << 13,
	/** Of all paths, and of one; a longer one is "", and its file unknown. */
	MAPPING_LOG_PATHS_MAX_BYTES = 1 << 20,
	MAPPING_LOG_PATH_MAX_BYTES = 512,
};

struct logged_mapping {
	uint64_t time_ns;
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint64_t inode;
	uint32_t device_major;
	uint32_t device_minor;
	uint32_t pid;
	/** The index of its path in the log's paths. */
	uint32_t path;
	/** The one before in the bucket of its pid, counted from 1; 0: there is none. */
	uint64_t previous;
};

struct mapping_log {
	pthread_mutex_t lock;
	/** MAPPING_LOG_MAX, used round and round; count is of all that there ever were. */
	struct logged_mapping *mappings;
	uint64_t count;
	/** By pid: the latest, counted from 1. */
	uint64_t buckets[MAPPING_LOG_BUCKETS];
	/** By the hash of their texts. Of two that have the same, one is taken for the other: its file is not that. */
	struct hash_map path_numbers;
	char *paths[MAPPING_LOG_MAX_PATHS];
	uint32_t path_count;
	uint32_t path_bytes;
	/** The time of the latest mapping. */
	uint64_t newest_ns;
	/** Mappings until then may have been lost. */
	uint64_t lost_until_ns;
	/** Atomic: all that was mapped until then is here, or was. */
	uint64_t heard_until_ns;
	/** How far apart the clocks were then: if one was set, times of files say nothing of what was mapped before. */
	int64_t realtime_offset_ns;
};

/** Which program of a pid is meant, by times of CLOCK_MONOTONIC. */
struct logged_program {
	uint32_t pid;
	/** When the process was made, and when the exec was over that began the program. */
	uint64_t start_ns;
	uint64_t exec_ns;
	/** Somewhere in the code of the program's file. */
	uint64_t code_address;
	/** A fork of it that is meant in its place, and when that was made; 0: none. */
	uint32_t fork_pid;
	uint64_t fork_ns;
};

/** 0 or -ENOMEM. */
int mapping_log_init(struct mapping_log *log);
void mapping_log_deinit(struct mapping_log *log);

/** Ring. Keeps a SIDE_BAND_MAPPING, or forgets what may be incomplete after a SIDE_BAND_LOST. */
void mapping_log_add(struct mapping_log *log, const struct side_band_event *event);

/** Ring. All that happened until @time_ns has been handed out. */
void mapping_log_note_heard(struct mapping_log *log, uint64_t time_ns);

/** Sync. Until when all is known that happened. */
uint64_t mapping_log_heard_until(struct mapping_log *log);

/**
 * Sync. What @program mapped in all its life, also what it unmapped: what is true of every moment. Where
 * different files lay one after the other there is nothing, and so no stack goes on there. What other
 * programs mapped later in the same pid counts as its own: where it can be mistaken for what this one
 * had, both lay there. -ENOENT if it is not all there (any more), -ENOMEM. The caller deinits @maps.
 */
int mapping_log_list(struct mapping_log *log, const struct logged_program *program,
		     struct proc_maps *maps);

/** Sync. False if the process @pid has mapped nothing since @since_ns, for certain. */
bool mapping_log_may_have(struct mapping_log *log, uint32_t pid, uint64_t since_ns);

#endif
