/* SPDX-License-Identifier: Apache-2.0 */
/** perf_event_open(2) for one CPU, with errors for users. */
#ifndef AGENT_TRACING_PERF_EVENT_H
#define AGENT_TRACING_PERF_EVENT_H

#include <linux/perf_event.h>
#include <stdint.h>

/**
 * Opens @attributes for all tasks on @cpu. Returns a descriptor that the caller owns, or
 *
 *	-EPERM		privileges are missing
 *	-EOPNOTSUPP	the kernel has no perf events, or not this one
 *	-ENODEV		the CPU is offline
 *	others		as the system call said
 */
int perf_event_open_on_cpu(struct perf_event_attr *attributes, uint32_t cpu);

#endif
