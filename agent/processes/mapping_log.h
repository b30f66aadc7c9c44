/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The latest executable mappings of all processes that the side-band reported. The mappings of a process that
 * is already gone are reconstructed from it. Most processes of a build live for less time than it takes to read
 * their maps.
 *
 * Bounded: the oldest are dropped first. The ring thread writes and the sync thread reads; a lock is held for
 * copies only.
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
	/** Powers of two. A busy build maps some thousand files a second. */
	MAPPING_LOG_MAX = 1 << 13,
	MAPPING_LOG_BUCKETS = 1 << 11,
	MAPPING_LOG_MAX_PATHS = 1 << 13,
	/** Limits of all paths together, and of one path. A longer path becomes "", and its file is unknown. */
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
	/** The id of its path: the index in the log's paths. */
	uint32_t path;
	/** Number of the previous mapping in the bucket of its pid, counted from 1; 0: there is none. */
	uint64_t previous;
};

struct mapping_log {
	pthread_mutex_t lock;
	/** A ring of MAPPING_LOG_MAX; count is the number of all mappings ever added. */
	struct logged_mapping *mappings;
	uint64_t count;
	/** Number of the latest mapping by pid, counted from 1. */
	uint64_t buckets[MAPPING_LOG_BUCKETS];
	/**
	 * Id of a path by the hash of its text. Of two paths with the same hash, one is taken for the other,
	 * but then its file is not the one that was mapped.
	 */
	struct hash_map path_ids;
	char *paths[MAPPING_LOG_MAX_PATHS];
	uint32_t path_count;
	uint32_t path_bytes;
	/** The time of the latest mapping. */
	uint64_t newest_ns;
	/** Mappings up to this time may have been lost. */
	uint64_t lost_until_ns;
	/** Atomic: all mappings up to this time have been added. */
	uint64_t heard_until_ns;
	/**
	 * Offset of the clocks at the last check. If a clock was set, times of files cannot be compared with
	 * earlier mappings.
	 */
	int64_t realtime_offset_ns;
};

/** Identifies a program of a pid by times of CLOCK_MONOTONIC. */
struct logged_program {
	uint32_t pid;
	/** Time at which the process was made, and time at which the exec of the program was complete. */
	uint64_t start_ns;
	uint64_t exec_ns;
	/** An address in the code of the program's file. */
	uint64_t code_address;
	/**
	 * A fork of the process that is meant instead, and the time at which it was made; 0: none. What it maps after fork_until_ns is left
	 * out: mostly that is the program that it executes.
	 */
	uint32_t fork_pid;
	uint64_t fork_ns;
	uint64_t fork_until_ns;
};

/** 0 or -ENOMEM. */
int mapping_log_init(struct mapping_log *log);
void mapping_log_deinit(struct mapping_log *log);

/** Ring. Adds a SIDE_BAND_MAPPING, or drops what may be incomplete after a SIDE_BAND_LOST. */
void mapping_log_add(struct mapping_log *log, const struct side_band_event *event);

/** Ring. All events up to @time_ns have been handed out. */
void mapping_log_note_heard(struct mapping_log *log, uint64_t time_ns);

/** Sync. The time up to which all events are known. */
uint64_t mapping_log_heard_until(struct mapping_log *log);

/**
 * Sync. Lists all mappings that @program made, including those that it unmapped, as far as they hold for its
 * whole life, or for that of a fork until fork_until_ns. A range in which different files were mapped in turn is
 * left out, so that no stack is continued there. Mappings of later programs in the same pid are included. They
 * can be confused with this program's only where both had mappings, and such ranges are left out. -ENOENT if the
 * log does not have all of them (any more), -ENOMEM. The caller deinits @maps.
 */
int mapping_log_list(struct mapping_log *log, const struct logged_program *program,
		     struct proc_maps *maps);

/** Sync. Until when the process @pid has certainly mapped nothing since @since_ns; UINT64_MAX: it has mapped nothing so far. */
uint64_t mapping_log_first_since(struct mapping_log *log, uint32_t pid, uint64_t since_ns);

#endif
