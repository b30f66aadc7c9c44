/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Tells why the sampling program did not run at a tick of its event. Either the kernel skipped it
 * (another BPF program was running on that CPU): a busy sample may be lost. Or the CPU was idle and
 * kept the tick back, as the kernels of some virtual machines do, perf's own samples included:
 * nothing is lost. The time for which a CPU was idle says how many ticks can be of the second kind.
 */
#ifndef AGENT_MISSED_TICKS_H
#define AGENT_MISSED_TICKS_H

#include <stdint.h>

/** The idle time of each CPU while sampling was on. Not thread-safe. */
struct idle_clock {
	const char *proc_root;
	uint32_t cpu_count;
	/** When sampling was switched on last; of all the times it was on. By CPU, owned. */
	uint64_t *start_ns;
	uint64_t *idle_ns;
};

/** @proc_root is borrowed. 0 or -ENOMEM. */
int idle_clock_init(struct idle_clock *clock, const char *proc_root, uint32_t cpu_count);

/** Before sampling is switched on, and after it was switched off. 0 or see cpu_idle_times(). */
int idle_clock_start(struct idle_clock *clock);
int idle_clock_stop(struct idle_clock *clock);

/** Takes one that is all zero. */
void idle_clock_deinit(struct idle_clock *clock);

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
	/** Skipped by the kernel. */
	uint64_t skipped;
};

/** Adds to @missed what is missing on a CPU that was idle for @idle_ns. */
void missed_ticks_add(struct missed_ticks *missed, const struct cpu_ticks *cpu, uint64_t idle_ns,
		      uint32_t samples_per_second);

#endif
