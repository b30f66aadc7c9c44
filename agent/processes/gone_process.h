/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reconstructs the mappings of a process that is gone, from side-band events. Its files are opened by their
 * paths in other roots, and used only if they are certain to be those that were mapped.
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

/** The files that were found last, since many short-lived programs have the same libraries. */
struct gone_files {
	struct file_key keys[GONE_FILES_MAX];
	uint32_t next;
};

/**
 * Sync. Lists the mappings of @process, sorted, with a reference to each file that was found; the caller frees
 * them. Also sets the process attributes, if they were not. False if the mappings are not known.
 */
bool gone_process_list(struct process_sync *sync, struct process *process,
		       struct process_mapping **mappings, uint32_t *count);

#endif
