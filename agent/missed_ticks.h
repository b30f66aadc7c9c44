/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Classifies ticks at which the sampling program did not run. Either the kernel skipped it, since another BPF
 * program was running on that CPU; then a busy sample may be lost. Or nothing is lost: the idle CPU delayed the
 * tick, as kernels of some virtual machines do, also for perf's own samples; or the hypervisor had taken the
 * CPU, and several ticks came as one. The idle time and the stolen time of a CPU limit how many ticks can be of
 * these kinds. The remaining ticks were skipped.
 */
#ifndef AGENT_MISSED_TICKS_H
#define AGENT_MISSED_TICKS_H

#include <stdint.h>

#include "lib/host/cpu_times.h"

/** Idle and stolen time of each CPU while sampling was on. Not thread-safe. */
struct tick_clock {
	const char *proc_root;
	uint32_t cpu_count;
	/**
	 * Times when sampling was last switched on, and the sum over all periods in which it was on. Indexed by
	 * CPU, owned.
	 */
	struct cpu_times *start;
	struct cpu_times *total;
};

/** @proc_root is borrowed. 0 or -ENOMEM. */
int tick_clock_init(struct tick_clock *clock, const char *proc_root, uint32_t cpu_count);

/**
 * To be called before sampling is switched on, and after it was switched off. 0 or an error of
 * cpu_times_read().
 */
int tick_clock_start(struct tick_clock *clock);
int tick_clock_stop(struct tick_clock *clock);

/** Sets @totals[0 .. cpu_count - 1] to the times so far, the period that goes on included. Errors as tick_clock_stop(). */
int tick_clock_read(const struct tick_clock *clock, struct cpu_times *totals);

/** Takes a clock that is all zero. */
void tick_clock_deinit(struct tick_clock *clock);

/** Counts of one CPU: ticks of its event, and runs of its program. */
struct cpu_ticks {
	uint64_t ticks;
	uint64_t runs;
	/** Runs that found the CPU idle. */
	uint64_t idle_runs;
};

struct missed_ticks {
	/** Delayed by an idle CPU. */
	uint64_t idle;
	/** Upper limit of ticks lost while the hypervisor had the CPU. */
	uint64_t stolen;
	/** Skipped by the kernel. */
	uint64_t skipped;
};

/** Adds the missed ticks of a CPU to @missed. @times has its idle and stolen time. */
void missed_ticks_add(struct missed_ticks *missed, const struct cpu_ticks *cpu,
		      const struct cpu_times *times, uint32_t samples_per_second);

/**
 * A number of ticks that were skipped for certain so far, while sampling goes on. @cpu->ticks was read before the other
 * counts, and @times after them.
 */
uint64_t missed_ticks_skipped_at_least(const struct cpu_ticks *cpu, const struct cpu_times *times,
				       uint32_t samples_per_second);

/** If more ticks were counted as @skipped before, takes the difference from the other classes: no count falls. */
void missed_ticks_keep_skipped(struct missed_ticks *missed, uint64_t skipped);

#endif
