/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Learns what is told of a process beside its samples: executable, container, service, and of a
 * program of Go what that says of itself. That is done once, when its maps are read first and its
 * executable was looked at, so that all of its samples have it; a process that moves to another
 * container later is still told of as it was. Only a file that may never answer is looked at later, by
 * another thread: samples from before are told of without what it says. Owned by the sync thread.
 */
#ifndef AGENT_PROCESSES_PROCESS_ATTRIBUTES_H
#define AGENT_PROCESSES_PROCESS_ATTRIBUTES_H

#include "agent/processes/process.h"
#include "lib/host/proc_maps.h"

/**
 * Reads them, unless they are known; a few system calls. @service_name was read with the maps. @mappings has what each
 * row of @maps is; that of the process's executable is marked. A kernel thread or a process that is gone gets none, and so
 * does one for which there is no memory: the next sync tries again.
 */
void process_attributes_read(struct process_table *table, struct process *process,
			     const char *proc_root, const char *service_name,
			     const struct proc_maps *maps, struct process_mapping *mappings);

/**
 * The same for a process that is gone: @maps come from the side-band, its executable is what has
 * @code_address, its container that of its parent, and its service is not known.
 */
void process_attributes_replay(struct process_table *table, struct process *process,
			       const struct proc_maps *maps, struct process_mapping *mappings,
			       uint64_t code_address);

/** Adds what the file of @mapping says, which has come to be known, if it is the marked one. */
void process_attributes_identified(struct process_table *table, struct process *process,
				   const struct process_mapping *mapping);

/**
 * Copies those of @parent, unless they are known: @process is a fork of it that runs the same
 * program still.
 */
void process_attributes_inherit(struct process_table *table, struct process *process,
				const struct process *parent);

#endif
