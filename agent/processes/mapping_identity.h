/* SPDX-License-Identifier: Apache-2.0 */
/** Finds out whether a mapping is a file, a copy of a file's text, code of the kernel, or memory. */
#ifndef AGENT_PROCESSES_MAPPING_IDENTITY_H
#define AGENT_PROCESSES_MAPPING_IDENTITY_H

#include <stdint.h>

#include "agent/processes/process_sync.h"

/**
 * Sync. Fills id, executable (a reference) and bias of @mapping, which is the line @row; @known, sorted, is what was
 * known of the process's mappings before. Failures leave the mapping without an id, and so without
 * a row: samples there say that nothing is known, and ask again.
 */
void mapping_identify(struct process_sync *sync, const struct process *process,
		      const struct proc_mapping *row, const struct process_mapping *known,
		      uint32_t known_count, struct process_mapping *mapping);

/** Fills id and bias of @mapping from its executable. -ENOENT if that has no such part. */
int mapping_place(struct process_mapping *mapping);

#endif
