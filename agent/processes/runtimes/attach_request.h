/* SPDX-License-Identifier: Apache-2.0 */
/** To attach to a runtime in a process: what that needs, apart from the process's own state. */
#ifndef AGENT_PROCESSES_RUNTIMES_ATTACH_REQUEST_H
#define AGENT_PROCESSES_RUNTIMES_ATTACH_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/processes/executable_cache.h"
#include "agent/processes/process.h"
#include "agent/processes/runtimes/process_runtime.h"
#include "interpreters/language.h"
#include "lib/host/binary_file.h"

enum {
	/** More files of a process are not shown to the languages. */
	ATTACH_MAX_MODULES = 4096,
};

/** What a load thread is to do. Holds all that it needs, so it may outlive the process. */
struct attach_request {
	uint32_t pid;
	struct process_stamp stamp;
	/** Of the runtime; one reference. */
	struct executable *executable;
	uint64_t bias;
	/** One of the files is on a file system that may never answer: for load_remote. */
	bool is_remote;
	uint32_t module_count;
	/** Their files, which are read by the modules; a reference to each binary. Remote ones are copied when it is run. */
	struct borrowed_file *files;
	struct attach_module *modules;
	/** Set by attach_request_run(): CPU time that it took elsewhere. */
	uint64_t cpu_ns;
};

/** With the files that @process has mapped. NULL without memory. */
struct attach_request *attach_request_create(struct executable_cache *executables,
					     const struct process *process,
					     struct executable *executable, uint64_t bias);

/**
 * Attaches, in @home but to what attaches_at_once (interpreter.h); 0 and one reference to the caller, or as
 * runtime_home_ops.attach(). Any thread.
 */
int attach_request_run(struct attach_request *request, const char *proc_root,
		       struct runtime_home *home, struct process_runtime **runtime);
void attach_request_destroy(struct attach_request *request, struct executable_cache *executables);

#endif
