/* SPDX-License-Identifier: Apache-2.0 */
/** Which runtimes of languages run in the processes that are known, and how they are supported. */
#ifndef AGENT_PROCESSES_RUNTIMES_RUNTIME_LIST_H
#define AGENT_PROCESSES_RUNTIMES_RUNTIME_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/processes/process.h"

/** A runtime of a language that a process runs, or why nothing is known of its frames. */
struct listed_runtime {
	uint32_t pid;
	/** Of the executable that is the runtime. */
	const char *path;
	/** As -tracers has it, and such as "CPython 3.13"; NULL where the version is not known. */
	const char *language;
	const char *version;
	/** Its frames are found. */
	bool is_attached;
	/** Why not; NULL: it was not ready yet. */
	const char *refusal;
	/** One that is known by its file's name alone (unsupported_runtime.h): the name. Nothing else is set then. */
	const char *unsupported;
};

/** Tells @take of all of them, in no order; texts are borrowed for the call. When no other thread has the table. */
void runtime_list(const struct process_table *table,
		  void (*take)(void *context, const struct listed_runtime *runtime), void *context);

#endif
