/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Checks each kernel feature and privilege that the agent needs, also after one is missing, for users who want
 * to know all obstacles. The agent itself relies on loading its programs (bpf_loader.h).
 */
#ifndef AGENT_TRACING_KERNEL_CHECK_H
#define AGENT_TRACING_KERNEL_CHECK_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Calls @take for each with whether it is available, and a line (without its end) that describes it and the
 * effect of its absence.
 */
void kernel_check_all(void (*take)(void *context, bool is_good, const char *text), void *context);

/** Checks privileges alone, of a thread whose effective capabilities are the bits of @effective. */
void kernel_check_capabilities(uint64_t effective,
			       void (*take)(void *context, bool is_good, const char *text),
			       void *context);

/** Whether perf events of all processes are allowed, with the capabilities that are in effect. */
bool kernel_check_perf_events(void);

#endif
