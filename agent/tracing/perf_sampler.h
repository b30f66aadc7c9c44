/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The sampling clock: one PERF_COUNT_SW_CPU_CLOCK event of a fixed period per selected CPU that is online, each
 * running the program sample_entry. Idle CPUs tick too (the program counts and drops these ticks), because only
 * then do the events' counts equal the expected number of runs. Several agents can sample at once: each has its
 * own events.
 *
 * Events start disabled. Owned by one thread.
 */
#ifndef AGENT_TRACING_PERF_SAMPLER_H
#define AGENT_TRACING_PERF_SAMPLER_H

#include <stdint.h>

struct perf_sampler;

struct perf_sampler_options {
	/** The program to run, from bpf_loader_fds(); borrowed, must outlive the sampler. */
	int program_fd;
	/** 1 .. 10000 */
	uint32_t samples_per_second;
	/** CPUs to sample; NULL and 0: all. Copied. Offline ones are sampled when they go online. */
	const uint32_t *cpus;
	uint32_t cpu_count;
};

/**
 * Opens the events. -EPERM: privileges are missing; -EOPNOTSUPP: no perf events in this kernel;
 * -ENODEV: none of the CPUs is online.
 */
int perf_sampler_create(const struct perf_sampler_options *options, struct perf_sampler **sampler);
void perf_sampler_destroy(struct perf_sampler *sampler);

/** Turn all events on or off, including those of CPUs that go online later. */
int perf_sampler_enable(struct perf_sampler *sampler);
int perf_sampler_disable(struct perf_sampler *sampler);

/**
 * Follows CPUs that went online or offline, and keeps the counts of offline ones. To be called about once a
 * second. Returns 0, or -errno if a new CPU could not be sampled; it is tried again.
 */
int perf_sampler_tick(struct perf_sampler *sampler);

/** Number of CPUs that are sampled now. */
uint32_t perf_sampler_cpu_count(const struct perf_sampler *sampler);

/**
 * Sets @ticks[0 .. @cpu_count - 1] to the ticks of each CPU since the start, over all of its events: the
 * expected number of runs. The difference to the counter RUNS is the number of missed ticks.
 */
void perf_sampler_read_ticks(struct perf_sampler *sampler, uint64_t *ticks, uint32_t cpu_count);

#endif
