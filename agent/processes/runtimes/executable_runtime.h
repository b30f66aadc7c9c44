/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Detects executables that are language runtimes. A load thread does so once per file, when it makes the rows,
 * and flags the rows of the eval loop. The flags are not stored in the disk cache, which depends on the file's
 * tables only. A runtime of an unknown version is logged in one line, and its processes keep their native
 * frames.
 *
 * A part of executable_cache that uses its lock and its records.
 */
#ifndef AGENT_PROCESSES_RUNTIMES_EXECUTABLE_RUNTIME_H
#define AGENT_PROCESSES_RUNTIMES_EXECUTABLE_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/processes/executable_cache.h"

/**
 * Load threads. Probes the file of @binary, unless that was done, and flags rows in @deltas if it is a runtime.
 * A failure costs the interpreted frames, never the rows.
 */
void executable_runtime_flag(struct executable_cache *cache, const struct binary *binary,
			     struct stack_deltas *deltas);

/** Probes the file of @binary, unless that was done, without flagging rows. */
void executable_runtime_probe(struct executable_cache *cache, const struct binary *binary);

/** Load threads. Whether the file, which was probed, is a runtime whose rows must be flagged. */
bool executable_runtime_has_ranges(struct executable_cache *cache, const struct binary *binary);

/** Any thread. The runtime that was found; NULL: no runtime, or not probed yet. Lives as long as the record. */
const struct runtime_file *executable_runtime(const struct executable *executable);

/** Any thread. Whether one of @rows is of a file that is to be probed, so that it may still turn out to be a runtime. */
bool executable_runtime_is_pending(struct executable_cache *cache, const struct mapping_row *rows,
				   uint32_t count);

/** Any thread. Whether there are runtimes that the sync thread has not handled. */
bool executable_runtime_has_news(const struct executable_cache *cache);
/** Any thread: the number of runtimes found so far. Sync: notes that so many have been handled. */
uint32_t executable_runtime_count(const struct executable_cache *cache);
void executable_runtime_note_seen(struct executable_cache *cache, uint32_t count);

/** Keeps error_text() as the reason why the runtime @executable is not attached to, if there is none yet. Any thread. */
void executable_runtime_note_refused(struct executable *executable);

/** That reason, valid as long as the executable; NULL: none. Any thread. */
const char *executable_runtime_refusal(const struct executable *executable);

/**
 * Counts a refused runtime, and logs error_text() as the reason. @more follows @path: the process, or "".
 */
void executable_runtime_log_refused(const char *path, const char *more);

/** Frees a runtime that was found. Takes NULL. */
void executable_runtime_release(const struct runtime_file *file);

#endif
