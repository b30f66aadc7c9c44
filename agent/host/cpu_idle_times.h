/* SPDX-License-Identifier: Apache-2.0 */
/** How long each CPU has been idle, as /proc/stat has it (proc(5)). */
#ifndef AGENT_HOST_CPU_IDLE_TIMES_H
#define AGENT_HOST_CPU_IDLE_TIMES_H

#include <stdint.h>

/**
 * Sets @idle_ns[0 .. @cpu_count - 1] to the time since boot for which the CPU was idle, waiting for
 * I/O included, in steps of the kernel's clock tick (10 ms); 0 for a CPU that is offline. @proc_root
 * is "/proc" or a test's folder. 0, -EBADMSG, or -errno of reading.
 */
int cpu_idle_times(const char *proc_root, uint64_t *idle_ns, uint32_t cpu_count);

#endif
