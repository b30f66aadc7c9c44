/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The unwind rows of executables: load threads make them out of files, the sync thread publishes
 * them through the map_writer. They stay in the maps until the memory is used up; then those go
 * that were least recently sampled, and come back when a sample misses them.
 *
 * A part of executable_cache: its lock, its records.
 */
#ifndef AGENT_PROCESSES_EXECUTABLE_ROWS_H
#define AGENT_PROCESSES_EXECUTABLE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/processes/executable_cache.h"
#include "lib/model/stack_deltas.h"

/** Rows in memory that somebody reads. */
struct kept_rows;
struct load_request;

/** As for executable_cache_create(), which calls them. */
void executable_rows_init(struct executable_cache *cache);
void executable_rows_deinit(struct executable_cache *cache);

/** Load threads. Parses the file; the rows wait for executable_rows_publish(). */
void executable_load(struct executable_cache *cache, uint64_t executable_id);

/** The same of what takes some milliseconds at most; false if this would take longer, and nothing was done. */
bool executable_load_quick(struct executable_cache *cache, uint64_t executable_id);

/**
 * The same for a file that no sample asked for: what takes longer than some milliseconds is put off until one does, unless
 * it is a runtime, or mapped with one (executable_rows_need()).
 */
void executable_load_unwanted(struct executable_cache *cache, uint64_t executable_id);

/**
 * Any thread. Fills in what is known of a load before it is done: bytes, is_wanted and is_heavy of a request, which is
 * for its executable_id.
 */
void executable_load_size_up(struct executable_cache *cache, struct load_request *request);

/** Any thread. A request_load() was lost: it may be asked for again later. */
void executable_load_dropped(struct executable_cache *cache, uint64_t executable_id);

/** Sync. Publishes what was loaded; evicts for it if need be. */
void executable_rows_publish(struct executable_cache *cache, uint64_t now_ns);

/** Sync. Evicts rows of at least @bytes and waits until their memory is free. False: none left. */
bool executable_rows_make_room(struct executable_cache *cache, uint64_t bytes, uint64_t now_ns);

/** Sync, every few seconds. Notes which rows were used by samples. */
void executable_rows_note_used(struct executable_cache *cache, uint64_t now_ns);

/**
 * Work. A sample missed the rows of this executable, or waits for them: they are loaded (again), if
 * that may help, and soon.
 */
void executable_rows_want(struct executable_cache *cache, uint64_t executable_id);

/**
 * Work. A sample came to code of the file that no row is for. Large amounts of code that no table describes are
 * analysed when that has happened often enough.
 */
void executable_rows_note_lack(struct executable_cache *cache, uint64_t executable_id);

/**
 * Sync. A process with a runtime maps the file: its rows are made before samples come to it, since walks with interpreted
 * frames cannot go on in user space.
 */
void executable_rows_need(struct executable_cache *cache, uint64_t executable_id);

/** Any thread. A process runs the file again, of which rows had been unloaded. */
void executable_rows_bring_back(struct executable_cache *cache, uint64_t executable_id);

/** Any thread. Whether the rows are on their way; how many executables wait for theirs. */
bool executable_rows_are_loading(struct executable_cache *cache, uint64_t executable_id);
uint32_t executable_rows_loading_count(struct executable_cache *cache);

/** Any thread. The first executable in @rows that waits for its unwind rows; 0 if none does. */
uint64_t executable_rows_first_loading(struct executable_cache *cache,
				       const struct mapping_row *rows, uint32_t count);

/**
 * Work. The rows in memory, until they are given back; NULL if they are not there: then they are
 * loaded again for the next time. Only with keep_rows.
 */
const struct stack_deltas *executable_rows_borrow(struct executable_cache *cache,
						  uint64_t executable_id, struct kept_rows **kept);
void executable_rows_return(struct executable_cache *cache, struct kept_rows *kept);

/** Sync. The record goes: so do its rows. With the lock held. */
void executable_rows_forget(struct executable_cache *cache, struct executable *executable);

/** Sync. No process maps the file: its rows go until one does. With the lock held. */
void executable_rows_rest(struct executable_cache *cache, struct executable *executable);

/** One line for a file whose bytes make no sense, at a bounded rate. */
void executable_log_damaged(const char *path, int err);

#endif
