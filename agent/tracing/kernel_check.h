/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the agent needs of the kernel and of its privileges, thing by thing, also where one of them is missing: for
 * people who want to know all that is in the way. The agent itself relies on loading its programs (bpf_loader.h).
 */
#ifndef AGENT_TRACING_KERNEL_CHECK_H
#define AGENT_TRACING_KERNEL_CHECK_H

#include <stdbool.h>
#include <stdint.h>

/** Calls @take for each: whether it is there, and a line without its end that says what it is, and what its lack costs. */
void kernel_check_all(void (*take)(void *context, bool is_good, const char *text), void *context);

/** The same for privileges alone, of a thread whose effective capabilities are the bits of @effective. */
void kernel_check_capabilities(uint64_t effective,
			       void (*take)(void *context, bool is_good, const char *text),
			       void *context);

#endif
