/* SPDX-License-Identifier: Apache-2.0 */
/** Determines whether a mapping is a file, a copy of a file's text, kernel code, or anonymous memory. */
#ifndef AGENT_PROCESSES_MAPPING_IDENTITY_H
#define AGENT_PROCESSES_MAPPING_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/processes/process_sync.h"
#include "agent/runtimes/proc_home.h"

/** Sync. Whether the file of @row is on a local file system. The sync thread opens no others. */
bool mapping_is_local(struct process_sync *sync, const struct process *process,
		      const struct proc_mapping *row);

/**
 * Sync. Opens the file of @row by its path in the root of process @pid or of a living thread of it. The caller
 * owns *@fd. -ENOENT unless device and inode are those of the mapping.
 */
int mapping_open_by_path(struct process_sync *sync, pid_t pid, const struct proc_mapping *row,
			 int *fd, struct file_key *key);

/**
 * Sync. Fills id, executable (a reference) and bias of @mapping, which is the executable line @row of @maps. @key is the key
 * of its file, if that is local. @known are the mappings known before, sorted. On failure the mapping has no id, and
 * so no row; samples there report an unknown address, which causes another try.
 */
void mapping_identify(struct process_sync *sync, struct process *process,
		      const struct proc_maps *maps, uint32_t row, const struct mapped_key *key,
		      const struct process_mapping *known, uint32_t known_count,
		      struct process_mapping *mapping);

/** Fills id and bias of @mapping from its executable. -ENOENT if the executable has no such part. */
int mapping_set_bias(struct process_mapping *mapping);

#endif
