/* SPDX-License-Identifier: Apache-2.0 */
/** Lists the language runtimes in the known processes, and how they are supported. */
#ifndef AGENT_PROCESSES_RUNTIMES_RUNTIME_LIST_H
#define AGENT_PROCESSES_RUNTIMES_RUNTIME_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/processes/process.h"

/** A language runtime in a process, or the reason why its frames are not found. */
struct listed_runtime {
	uint32_t pid;
	/** Path of the runtime's executable. */
	const char *path;
	/**
	 * The language as in -tracers, and a version such as "CPython 3.13"; NULL where the version is not
	 * known.
	 */
	const char *language;
	const char *version;
	/** Its frames are found. */
	bool is_attached;
	/** The reason why they are not; NULL: the runtime was not ready yet. */
	const char *refusal;
	/**
	 * Name of a runtime that is known by its file's name alone (unsupported_runtime.h). Then no other field
	 * but pid and path is set.
	 */
	const char *unsupported;
};

/**
 * Calls @take for each runtime, in no order; texts are borrowed for the call. No other thread may use the
 * table.
 */
void runtime_list(const struct process_table *table,
		  void (*take)(void *context, const struct listed_runtime *runtime), void *context);

#endif
