/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a process that is gone had mapped, from the side-band's news of it. Its files are found by their
 * paths, by others who may see them, and taken only if they are for certain what was mapped.
 */
#ifndef AGENT_PROCESSES_GONE_PROCESS_H
#define AGENT_PROCESSES_GONE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/processes/process.h"
#include "lib/model/file_key.h"

struct process_sync;

enum {
	GONE_FILES_MAX = 64,
};

/** The files that were found by their paths last: programs that end by the dozen have the same libraries. */
struct gone_files {
	struct file_key keys[GONE_FILES_MAX];
	uint32_t next;
};

/**
 * Sync. Lists the mappings of @process, sorted, with a reference to each file that was found; the caller
 * frees them. What the process says of itself is set, if it was not. False if they are not known.
 */
bool gone_process_list(struct process_sync *sync, struct process *process,
		       struct process_mapping **mappings, uint32_t *count);

#endif
