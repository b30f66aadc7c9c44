/* SPDX-License-Identifier: Apache-2.0 */
/** A request to attach to a runtime in a process, with the data that it needs. */
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
	/** Limit of a process's files that are passed to the languages. */
	ATTACH_MAX_MODULES = 4096,
};

/** A request for a load thread. It owns all that it needs, so it may outlive the process. */
struct attach_request {
	uint32_t pid;
	struct process_identity identity;
	/** The runtime's executable; one reference. */
	struct executable *executable;
	uint64_t bias;
	/** One of the files is on a file system that may never answer, so the request is for load_remote. */
	bool is_remote;
	/** If its memory makes no sense, the runtime is not refused yet (ATTACH_EARLY_TRIES). */
	bool is_early;
	uint32_t module_count;
	/** The modules' files, with a reference to each binary. Remote files are copied when the request is run. */
	struct borrowed_file *files;
	struct attach_module *modules;
	/** Set by attach_request_run(): CPU time that other processes used for it. */
	uint64_t cpu_ns;
};

/** Makes a request with the files that @process has mapped. NULL without memory. */
struct attach_request *attach_request_create(struct executable_cache *executables,
					     const struct process *process,
					     struct executable *executable, uint64_t bias);

/**
 * Attaches in @home, or here if the language attaches at once (attaches_at_once). Returns 0 and one reference
 * for the caller, or an error of runtime_home_ops.attach(). Any thread.
 */
int attach_request_run(struct attach_request *request, const char *proc_root,
		       struct runtime_home *home, struct process_runtime **runtime);
void attach_request_destroy(struct attach_request *request, struct executable_cache *executables);

#endif
