/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reads the process attributes: executable, container, service, and facts from the program's file. This is done
 * once, when its maps are first read and its executable was identified, so that all of its samples have them. A
 * process that moves to another container later keeps its attributes. Only a file that may never answer is read
 * later, by another thread; earlier samples lack the facts from it. Owned by the sync thread.
 */
#ifndef AGENT_PROCESSES_PROCESS_ATTRIBUTES_H
#define AGENT_PROCESSES_PROCESS_ATTRIBUTES_H

#include "agent/processes/process.h"
#include "lib/host/proc_maps.h"

/**
 * Reads the attributes, unless they are known; a few system calls. @service_name was read with the maps.
 * @mappings has the mapping of each row of @maps; the one of the process's executable is marked. A kernel
 * thread or a process that is gone gets none, nor does any process without memory for them; the next sync tries
 * again.
 */
void process_attributes_read(struct process_table *table, struct process *process,
			     const char *proc_root, const char *service_name,
			     const struct proc_maps *maps, struct process_mapping *mappings);

/**
 * Sets the attributes of a process that is gone. @maps come from the side-band. Its executable is the file at
 * @code_address, its container is its parent's, and its service is not known.
 */
void process_attributes_replay(struct process_table *table, struct process *process,
			       const struct proc_maps *maps, struct process_mapping *mappings,
			       uint64_t code_address);

/** Adds the facts from the file of @mapping, which was identified later, if it is the marked one. */
void process_attributes_identified(struct process_table *table, struct process *process,
				   const struct process_mapping *mapping);

/**
 * Copies the attributes of @parent, unless they are known. @process is a fork that still runs the same program.
 */
void process_attributes_inherit(struct process_table *table, struct process *process,
				const struct process *parent);

#endif
