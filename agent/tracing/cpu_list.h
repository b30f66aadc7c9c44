/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Lists of CPUs as the kernel writes them: `0-3,5`.
 */
#ifndef AGENT_TRACING_CPU_LIST_H
#define AGENT_TRACING_CPU_LIST_H

#include <stdbool.h>
#include <stdint.h>

enum { CPU_LIST_MAX_CPUS = 8192 };

/** Numbers in ascending order, none twice. */
struct cpu_list {
	uint32_t *cpus;
	uint32_t count;
};

/** Parses @text (a line end may follow). -EBADMSG; -E2BIG for CPUs from CPU_LIST_MAX_CPUS on. */
int cpu_list_parse(const char *text, struct cpu_list *list);

/** The CPUs that are online now, from /sys/devices/system/cpu/online. */
int cpu_list_read_online(struct cpu_list *list);

/**
 * One more than the highest number of a CPU that there can ever be: numbers may be missing, and then counting does not
 * tell. -errno.
 */
int cpu_list_count_numbers(void);
void cpu_list_deinit(struct cpu_list *list);

bool cpu_list_contains(const struct cpu_list *list, uint32_t cpu);

#endif
