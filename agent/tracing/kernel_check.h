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

/** How much the kernel keeps from root (security/lockdown/lockdown.c). */
enum kernel_lockdown {
	KERNEL_OPEN,
	/** It may not be changed. */
	KERNEL_INTEGRITY,
	/** Nor may its memory be read, so that BPF programs can read none. */
	KERNEL_CONFIDENTIAL,
};

#define KERNEL_CONFIDENTIAL_TEXT                                                                   \
	"lockdown=confidentiality: BPF programs may not read memory, so that no stack can be "     \
	"unwound; start the kernel with lockdown=integrity, or without lockdown"

enum kernel_lockdown kernel_lockdown(void);

/** The same by the files @setting, as /sys/kernel/security/lockdown, or where that is missing @command_line. */
enum kernel_lockdown kernel_check_lockdown(const char *setting, const char *command_line);

/** True if addresses can be seen in the file @kallsyms, as /proc/kallsyms. Where they are hidden all are 0. */
bool kernel_check_has_addresses(const char *kallsyms);

/** Whether perf events of all processes are allowed, with the capabilities that are in effect. */
bool kernel_check_perf_events(void);

#endif
