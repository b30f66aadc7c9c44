/* SPDX-License-Identifier: Apache-2.0 */
/** Finds out whether a mapping is a file, a copy of a file's text, code of the kernel, or memory. */
#ifndef AGENT_PROCESSES_MAPPING_IDENTITY_H
#define AGENT_PROCESSES_MAPPING_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/processes/process_sync.h"
#include "agent/runtimes/proc_home.h"

/** Sync. Whether the file of @row lies on a local file system: no other is opened by sync. */
bool mapping_is_local(struct process_sync *sync, const struct process *process,
		      const struct proc_mapping *row);

/**
 * Sync. Opens the file of @row by its path in the root of process @pid, or of a thread of it that lives, if device and inode there are those of the
 * mapping: -ENOENT. The caller owns *@fd.
 */
int mapping_open_by_path(struct process_sync *sync, pid_t pid, const struct proc_mapping *row,
			 int *fd, struct file_key *key);

/**
 * Sync. Fills id, executable (a reference) and bias of @mapping, which is the line @row; @key is that of its file, if it is a
 * local one; @known, sorted, is what was
 * known of the process's mappings before. Failures leave the mapping without an id, and so without
 * a row: samples there say that nothing is known, and ask again.
 */
void mapping_identify(struct process_sync *sync, const struct process *process,
		      const struct proc_mapping *row, const struct mapped_key *key,
		      const struct process_mapping *known, uint32_t known_count,
		      struct process_mapping *mapping);

/** Fills id and bias of @mapping from its executable. -ENOENT if that has no such part. */
int mapping_place(struct process_mapping *mapping);

#endif
