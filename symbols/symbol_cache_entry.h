/* SPDX-License-Identifier: Apache-2.0 */
/** The state of one binary's symbol caches at each depth: made, in progress, or why they are missing. */
#ifndef SYMBOLS_SYMBOL_CACHE_ENTRY_H
#define SYMBOLS_SYMBOL_CACHE_ENTRY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/model/binary.h"
#include "symbols/build/make_symbol_cache.h"
#include "symbols/made_symbol_caches.h"

enum {
	SYMBOL_DEPTH_COUNT = SYMBOL_DEPTH_FULL + 1,
};

enum symbol_cache_state {
	SYMBOL_CACHE_UNKNOWN,
	SYMBOL_CACHE_WAITING,
	SYMBOL_CACHE_MADE,
	/** There are none, or they cannot be made. */
	SYMBOL_CACHE_NONE,
	/** The system had an error: retry after a while, when they are requested. */
	SYMBOL_CACHE_LATER,
	/** The file is missing: retry when a process runs it. */
	SYMBOL_CACHE_STALE,
};

/**
 * When to retry after an error of the system, which says nothing about the file. Initialize with
 * zeros.
 */
struct symbol_cache_retry {
	/** CLOCK_MONOTONIC: not before this time. */
	uint64_t time_ns;
	uint32_t tries;
};

struct symbol_cache_entry {
	/** A known process that runs the binary. */
	pid_t pid;
	/**
	 * True if that process was gone when debug data was searched for, and how many other
	 * processes were tried.
	 */
	bool is_rootless;
	uint32_t root_tries;
	enum symbol_cache_state states[SYMBOL_DEPTH_COUNT];
	/** References. */
	struct made_file *made[SYMBOL_DEPTH_COUNT];
	/** For SYMBOL_CACHE_LATER. */
	struct symbol_cache_retry retries[SYMBOL_DEPTH_COUNT];
	/** The file is counted in METRIC_FILES_GONE. */
	bool is_gone;
};

/** True if the failure @err is to be retried: a few times, with growing delays. */
bool symbol_cache_retry_note(struct symbol_cache_retry *retry, int err);

bool symbol_cache_entry_is_to_be_made(const struct symbol_cache_entry *entry,
				      const struct binary *binary, enum symbol_depth depth);

/** Process @pid runs the binary too: it may still have a root directory with a debug file. */
void symbol_cache_entry_note_process(struct symbol_cache_entry *entry, pid_t pid);

/**
 * Ranges could not be made because of @err. @is_rootless: there was no root directory in which to
 * search for debug data.
 */
void symbol_cache_entry_note_failed(struct symbol_cache_entry *entry, enum symbol_depth depth,
				    int err, bool is_rootless);

#endif
