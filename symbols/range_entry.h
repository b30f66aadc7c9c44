/* SPDX-License-Identifier: Apache-2.0 */
/** The state of one binary's ranges at each depth: made, in progress, or why they are missing. */
#ifndef SYMBOLS_RANGE_ENTRY_H
#define SYMBOLS_RANGE_ENTRY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/model/binary.h"
#include "symbols/build/make_ranges.h"
#include "symbols/made_ranges.h"

enum {
	RANGE_DEPTH_COUNT = RANGE_DEPTH_FULL + 1,
};

enum range_state {
	RANGES_UNKNOWN,
	RANGES_WAITING,
	RANGES_MADE,
	/** There are none, or they cannot be made. */
	RANGES_NONE,
	/** The system had an error: retry after a while, when they are requested. */
	RANGES_LATER,
	/** The file is missing: retry when a process runs it. */
	RANGES_STALE,
};

/**
 * When to retry after an error of the system, which says nothing about the file. Initialize with
 * zeros.
 */
struct range_retry {
	/** CLOCK_MONOTONIC: not before this time. */
	uint64_t time_ns;
	uint32_t tries;
};

struct range_entry {
	/** A known process that runs the binary. */
	pid_t pid;
	/**
	 * True if that process was gone when debug data was searched for, and how many other
	 * processes were tried.
	 */
	bool is_rootless;
	uint32_t root_tries;
	enum range_state states[RANGE_DEPTH_COUNT];
	/** References. */
	struct made_file *made[RANGE_DEPTH_COUNT];
	/** For RANGES_LATER. */
	struct range_retry retries[RANGE_DEPTH_COUNT];
	/** The file is counted in METRIC_FILES_GONE. */
	bool is_gone;
};

/** True if the failure @err is to be retried: a few times, with growing delays. */
bool range_retry_note(struct range_retry *retry, int err);

bool range_entry_is_to_be_made(const struct range_entry *entry, const struct binary *binary,
			       enum range_depth depth);

/** Process @pid runs the binary too: it may still have a root directory with a debug file. */
void range_entry_note_process(struct range_entry *entry, pid_t pid);

/**
 * Ranges could not be made because of @err. @is_rootless: there was no root directory in which to
 * search for debug data.
 */
void range_entry_note_failed(struct range_entry *entry, enum range_depth depth, int err,
			     bool is_rootless);

#endif
