/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Tells why the sampling program did not run at a tick of its event. Either the kernel skipped it
 * (another BPF program was running on that CPU): a busy sample may be lost. Or the CPU was idle and
 * kept the tick back, as the kernels of some virtual machines do, perf's own samples included; or the
 * hypervisor had taken the CPU, and several ticks came as one: nothing is lost. How long a CPU was
 * idle, and how long it was taken, says how many ticks can be of these kinds at most; what neither can
 * explain was skipped.
 */
#ifndef AGENT_MISSED_TICKS_H
#define AGENT_MISSED_TICKS_H

#include <stdint.h>

#include "lib/host/cpu_times.h"

/** Where the time of each CPU went while sampling was on. Not thread-safe. */
struct tick_clock {
	const char *proc_root;
	uint32_t cpu_count;
	/** When sampling was switched on last; of all the times it was on. By CPU, owned. */
	struct cpu_times *start;
	struct cpu_times *total;
};

/** @proc_root is borrowed. 0 or -ENOMEM. */
int tick_clock_init(struct tick_clock *clock, const char *proc_root, uint32_t cpu_count);

/** Before sampling is switched on, and after it was switched off. 0 or see cpu_times_read(). */
int tick_clock_start(struct tick_clock *clock);
int tick_clock_stop(struct tick_clock *clock);

/** Takes one that is all zero. */
void tick_clock_deinit(struct tick_clock *clock);

/** Of one CPU: what its event counted, and what its program did. */
struct cpu_ticks {
	uint64_t ticks;
	uint64_t runs;
	/** Those of the runs that found the CPU idle. */
	uint64_t idle_runs;
};

struct missed_ticks {
	/** Kept back by an idle CPU. */
	uint64_t idle;
	/** Gone while the hypervisor had the CPU, at most. */
	uint64_t stolen;
	/** Skipped by the kernel. */
	uint64_t skipped;
};

/** Adds to @missed what is missing on a CPU whose time went as @times say. */
void missed_ticks_add(struct missed_ticks *missed, const struct cpu_ticks *cpu,
		      const struct cpu_times *times, uint32_t samples_per_second);

#endif
