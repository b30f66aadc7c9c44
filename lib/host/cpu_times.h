/* SPDX-License-Identifier: Apache-2.0 */
/** How long each CPU ran nothing of ours, as /proc/stat has it (proc(5)). */
#ifndef LIB_HOST_CPU_TIMES_H
#define LIB_HOST_CPU_TIMES_H

#include <stdint.h>

/** Since boot, in steps of the kernel's clock tick (10 ms); 0 for a CPU that is offline. */
struct cpu_times {
	/** Idle, waiting for I/O included. */
	uint64_t idle_ns;
	/** Taken by the hypervisor while there was something to run; 0 where it does not say. */
	uint64_t stolen_ns;
};

/**
 * Sets @times[0 .. @cpu_count - 1]. @proc_root is "/proc" or a test's folder. 0, -EBADMSG, or
 * -errno of reading.
 */
int cpu_times_read(const char *proc_root, struct cpu_times *times, uint32_t cpu_count);

#endif
