/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Learns what is told of a process beside its samples: executable, container, service. That is done
 * once, when its maps are read first; a process that moves to another container later is still told
 * of as it was. Owned by the sync thread.
 */
#ifndef AGENT_PROCESSES_PROCESS_ATTRIBUTES_H
#define AGENT_PROCESSES_PROCESS_ATTRIBUTES_H

#include "agent/processes/process.h"

/**
 * Reads them, unless they are known; a few system calls. A kernel thread or a process that is gone
 * gets none, and so does one for which there is no memory: the next sync tries again.
 */
void process_attributes_read(struct process_table *table, struct process *process,
			     const char *proc_root);

/**
 * Copies those of @parent, unless they are known: @process is a fork of it that runs the same
 * program still.
 */
void process_attributes_inherit(struct process_table *table, struct process *process,
				const struct process *parent);

#endif
