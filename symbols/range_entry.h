/* SPDX-License-Identifier: Apache-2.0 */
/** The state of one binary's ranges at each depth: made, on the way, or why they are not there. */
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
	/** The system could not do it: to be tried again when somebody asks, after a while. */
	RANGES_LATER,
	/** The file is not there: to be tried again when a process runs it. */
	RANGES_STALE,
};

/** When to try again what the system could not do, which tells nothing of the file. All zero is fresh. */
struct range_retry {
	/** CLOCK_MONOTONIC: not before. */
	uint64_t time_ns;
	uint32_t tries;
};

struct range_entry {
	/** A process that was told of. */
	pid_t pid;
	/** There was none any more when debug data was looked for; and how often that was done again. */
	bool is_rootless;
	uint32_t root_tries;
	enum range_state states[RANGE_DEPTH_COUNT];
	/** References. */
	struct made_file *made[RANGE_DEPTH_COUNT];
	/** Of RANGES_LATER. */
	struct range_retry retries[RANGE_DEPTH_COUNT];
	/** It is counted in METRIC_FILES_GONE. */
	bool is_gone;
};

/** True if what failed with @err is to be tried again: a few times, each time later. */
bool range_retry_note(struct range_retry *retry, int err);

bool range_entry_is_to_be_made(const struct range_entry *entry, const struct binary *binary,
			       enum range_depth depth);

/** Process @pid runs the binary, too: it may have a root still, in which there is a debug file. */
void range_entry_note_process(struct range_entry *entry, pid_t pid);

/** Ranges could not be made: @err says why, @is_rootless that there was no root to look for debug data in. */
void range_entry_note_failed(struct range_entry *entry, enum range_depth depth, int err,
			     bool is_rootless);

#endif
