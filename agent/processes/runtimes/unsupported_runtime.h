/* SPDX-License-Identifier: Apache-2.0 */
/** Language runtimes that are recognized by their files' names alone. Their frames cannot be found. */
#ifndef AGENT_PROCESSES_RUNTIMES_UNSUPPORTED_RUNTIME_H
#define AGENT_PROCESSES_RUNTIMES_UNSUPPORTED_RUNTIME_H

/**
 * Name of the runtime, such as "Ruby" for the path of a file called libruby-3.1.so.3.1; NULL for other files.
 * Borrowed.
 */
const char *unsupported_runtime_name(const char *path);

/** The option that makes the runtime called @name write a perf map (lib/host/perf_map.h); NULL if none is known. */
const char *unsupported_runtime_option(const char *name);

#endif
