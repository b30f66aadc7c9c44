/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What load threads do for executable_rows: they make rows out of files, as many as somebody needs. A part of
 * executable_cache: its lock, its records.
 */
#ifndef AGENT_PROCESSES_EXECUTABLE_LOAD_H
#define AGENT_PROCESSES_EXECUTABLE_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/processes/executable_cache.h"

struct load_request;

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

#endif
