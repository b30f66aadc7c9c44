/* SPDX-License-Identifier: Apache-2.0 */
/** Log lines at the start about what may not be as the user thinks. @proc_root: "/proc". */
#ifndef AGENT_START_WARNINGS_H
#define AGENT_START_WARNINGS_H

#include <stdint.h>

#include "agent/options.h"

/** Warns of each name of -comm that no process has now. */
void warn_of_missing_comms(const struct options *options, const char *proc_root);

/** Says that the page has @port since somebody else listens at @wanted, and who. */
void log_taken_port(const char *proc_root, uint16_t wanted, uint16_t port);

/** The process that listens at TCP port @port of this network namespace; 0 if it is not found. */
uint32_t find_listener(const char *proc_root, uint16_t port);

#endif
