/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The unwind rows of executables. Load threads make them from files, and the sync thread publishes them through
 * the map_writer. Rows stay in the maps until the memory is used up. Then the least recently sampled ones are
 * evicted, and loaded again when a sample misses them.
 *
 * A part of executable_cache that uses its lock and its records.
 */
#ifndef AGENT_PROCESSES_EXECUTABLE_ROWS_H
#define AGENT_PROCESSES_EXECUTABLE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/processes/executable_cache.h"
#include "lib/model/stack_deltas.h"

/** Rows in memory that are borrowed. */
struct cached_rows;
struct load_request;

/** Called by executable_cache_create() and executable_cache_destroy(). */
void executable_rows_init(struct executable_cache *cache);
void executable_rows_deinit(struct executable_cache *cache);

/** Load threads. Parses the file; the rows wait for executable_rows_publish(). */
void executable_load(struct executable_cache *cache, uint64_t executable_id);

/**
 * As executable_load(), if it takes some milliseconds at most; for a file that no sample asked for, if there is time to
 * spare for such files. False if it would take longer; then nothing was done.
 */
bool executable_load_quick(struct executable_cache *cache, uint64_t executable_id);

/**
 * Puts a load that no sample asked for off until a sample asks for it, or a process maps the file some seconds later. False: it must be
 * made, since the file is a runtime, or is mapped with one (executable_rows_need()), or a sample asked for it meanwhile.
 */
bool executable_put_off(struct executable_cache *cache, uint64_t executable_id);

/** As executable_load(), for a file that no sample asked for; it is put off if it is not quick, and may be. */
void executable_load_unwanted(struct executable_cache *cache, uint64_t executable_id);

/**
 * Any thread. Fills in what is known about a load in advance: bytes, is_wanted and is_heavy of the request for
 * request->executable_id.
 */
void executable_load_size_up(struct executable_cache *cache, struct load_request *request);

/** Any thread. A request of request_load() was lost, and may be made again later. */
void executable_load_dropped(struct executable_cache *cache, uint64_t executable_id);

/** Sync. Publishes loaded rows; evicts others if necessary. */
void executable_rows_publish(struct executable_cache *cache, uint64_t now_ns);

/** Sync. Evicts rows of at least @bytes and waits until their memory is free. False if none are left. */
bool executable_rows_make_room(struct executable_cache *cache, uint64_t bytes, uint64_t now_ns);

/** Sync, every few seconds. Notes which rows were used by samples. */
void executable_rows_note_used(struct executable_cache *cache, uint64_t now_ns);

/**
 * Work. A sample missed the rows of this executable, or waits for them. They are loaded soon, or loaded again,
 * if that may help.
 */
void executable_rows_want(struct executable_cache *cache, uint64_t executable_id);

/**
 * Work. A sample hit code of the file that has no row. Large amounts of code that no table describes are
 * analysed when this has happened often enough.
 */
void executable_rows_note_lack(struct executable_cache *cache, uint64_t executable_id);

/**
 * Sync. A process with a runtime maps the file. Its rows are made before samples hit it, since an unwind with
 * interpreted frames cannot be continued in user space.
 */
void executable_rows_need(struct executable_cache *cache, uint64_t executable_id);

/** Any thread. A process runs the file again after its rows were unloaded. */
void executable_rows_bring_back(struct executable_cache *cache, uint64_t executable_id);

/** Any thread. Whether the rows are being loaded; the number of executables whose rows are. */
bool executable_rows_are_loading(struct executable_cache *cache, uint64_t executable_id);
uint32_t executable_rows_loading_count(struct executable_cache *cache);

/** Any thread. Id of the first executable in @rows whose unwind rows are being loaded; 0 if there is none. */
uint64_t executable_rows_first_loading(struct executable_cache *cache,
				       const struct mapping_row *rows, uint32_t count);

/**
 * Work. Borrows the rows in memory until executable_rows_return(). NULL if they are not there; then they are
 * loaded again for the next time. Only with cache_rows.
 */
const struct stack_deltas *executable_rows_borrow(struct executable_cache *cache,
						  uint64_t executable_id,
						  struct cached_rows **cached);
void executable_rows_return(struct executable_cache *cache, struct cached_rows *cached);

/** Sync. Drops the rows of a record that is removed. To be called with the lock held. */
void executable_rows_forget(struct executable_cache *cache, struct executable *executable);

/**
 * Sync. Unloads the rows of a file that no process maps, until one maps it again. To be called with the lock
 * held.
 */
void executable_rows_rest(struct executable_cache *cache, struct executable *executable);

/** Logs a line for a malformed file, at a bounded rate. */
void executable_log_damaged(const char *path, int err);

#endif
