/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Which executables are language runtimes: a load thread finds out, once per file, when it makes the
 * rows, and flags those of the code that runs interpreted functions. That never gets into the disk
 * cache, which knows tables only. A runtime of a version that is not known is told of in one line,
 * and its processes keep their native frames.
 *
 * A part of executable_cache: its lock, its records.
 */
#ifndef AGENT_PROCESSES_RUNTIMES_EXECUTABLE_RUNTIME_H
#define AGENT_PROCESSES_RUNTIMES_EXECUTABLE_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/processes/executable_cache.h"

/**
 * Load threads. Probes the file of @binary, if nobody has yet, and flags rows in @deltas if it is a
 * runtime. What fails costs the interpreted frames, never the rows.
 */
void executable_runtime_flag(struct executable_cache *cache, const struct binary *binary,
			     struct stack_deltas *deltas);

/** Probes the file of @binary, if nobody has yet, without flagging anything. */
void executable_runtime_probe(struct executable_cache *cache, const struct binary *binary);

/** Load threads. Whether the file is a runtime whose rows are to be flagged. Probes it, if nobody has yet. */
bool executable_runtime_has_ranges(struct executable_cache *cache, const struct binary *binary);

/** Any thread. What probe found; NULL: no runtime, or not probed yet. Lives as long as the record. */
const struct runtime_file *executable_runtime(const struct executable *executable);

/** Any thread. Whether there are runtimes that sync has not acted on. */
bool executable_runtime_has_news(const struct executable_cache *cache);
/** Any thread. Runtimes found so far; and sync, which has acted on that many. */
uint32_t executable_runtime_count(const struct executable_cache *cache);
void executable_runtime_note_seen(struct executable_cache *cache, uint32_t count);

/** Keeps error_text() as the reason why the runtime @executable is not attached to, if there is none yet. Any thread. */
void executable_runtime_note_refused(struct executable *executable);

/** That reason, for as long as the executable; NULL: none. Any thread. */
const char *executable_runtime_refusal(const struct executable *executable);

/**
 * Counts a runtime that is refused, and logs why: error_text(). @more goes behind @path: which
 * process it is about, or "".
 */
void executable_runtime_log_refused(const char *path, const char *more);

/** Frees what probe found. Takes NULL. */
void executable_runtime_release(const struct runtime_file *file);

#endif
