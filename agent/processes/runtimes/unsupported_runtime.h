/* SPDX-License-Identifier: Apache-2.0 */
/** Runtimes of languages that are known by their files' names alone: nothing is known of their frames. */
#ifndef AGENT_PROCESSES_RUNTIMES_UNSUPPORTED_RUNTIME_H
#define AGENT_PROCESSES_RUNTIMES_UNSUPPORTED_RUNTIME_H

/** Such as "Ruby" for the path of a file called libruby-3.1.so.3.1; NULL for all others. Borrowed. */
const char *unsupported_runtime_name(const char *path);

/** What makes it write a perf map (lib/host/perf_map.h), by the name as above; NULL if nothing is known of. */
const char *unsupported_runtime_option(const char *name);

#endif
