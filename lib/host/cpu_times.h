/* SPDX-License-Identifier: Apache-2.0 */
/** Idle and stolen time of each CPU, from /proc/stat (proc(5)). */
#ifndef LIB_HOST_CPU_TIMES_H
#define LIB_HOST_CPU_TIMES_H

#include <stdint.h>

/** Times since boot, in steps of the kernel's clock tick (10 ms); 0 for a CPU that is offline. */
struct cpu_times {
	/** Idle time, including waits for I/O. */
	uint64_t idle_ns;
	/**
	 * Time taken by the hypervisor while a task was ready to run; 0 where the hypervisor does not report
	 * it.
	 */
	uint64_t stolen_ns;
};

/**
 * Sets @times[0 .. @cpu_count - 1]. @proc_root is "/proc" or a test's folder. 0, -EBADMSG, or
 * -errno of reading.
 */
int cpu_times_read(const char *proc_root, struct cpu_times *times, uint32_t cpu_count);

#endif
