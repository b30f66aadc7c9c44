/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reads the process attributes: executable, command line, container, unit, user, parent, service, and facts from the program's
 * file. This is done once, when its maps are first read and its executable was identified, so that all of its samples have
 * them. A process that moves to another container or takes another user later keeps its attributes. Only a file that may never
 * answer is read later, by another thread; earlier samples lack the facts from it. Owned by the sync thread.
 */
#ifndef AGENT_PROCESSES_PROCESS_ATTRIBUTES_H
#define AGENT_PROCESSES_PROCESS_ATTRIBUTES_H

#include "agent/processes/process.h"
#include "agent/runtimes/proc_home.h"
#include "lib/host/proc_maps.h"
#include "lib/host/user_names.h"

/** Sources of attributes; borrowed. */
struct attribute_sources {
	const char *proc_root;
	struct user_names *users;
};

/**
 * Reads the attributes, unless they are known; a few system calls. @first was read with the maps.
 * @mappings has the mapping of each row of @maps; the one of the process's executable is marked. A kernel
 * thread or a process that is gone gets none, nor does any process without memory for them; the next sync tries
 * again.
 */
void process_attributes_read(struct process_table *table, struct process *process,
			     const struct attribute_sources *sources,
			     const struct proc_first_read *first, const struct proc_maps *maps,
			     struct process_mapping *mappings);

/**
 * Sets the attributes of a process that is gone. @maps come from the side-band. Its executable is the file at
 * @code_address, its container, unit and user are its parent's, and its service and command line are not known.
 */
void process_attributes_replay(struct process_table *table, struct process *process,
			       const struct attribute_sources *sources,
			       const struct proc_maps *maps, struct process_mapping *mappings,
			       uint64_t code_address);

/** Adds the facts from the file of @mapping, which was identified later, if it is the marked one. */
void process_attributes_identified(struct process_table *table, struct process *process,
				   const struct process_mapping *mapping);

/**
 * Copies the attributes of @parent, unless they are known. @process is a fork that still runs the same program. Its own are
 * the parent and, if it is not gone, command line and user: servers change both in their forks. @first: NULL if it is gone.
 */
void process_attributes_inherit(struct process_table *table, struct process *process,
				const struct process *parent,
				const struct attribute_sources *sources,
				const struct proc_first_read *first);

#endif
