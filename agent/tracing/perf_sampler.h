/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The sampling clock: one PERF_COUNT_SW_CPU_CLOCK event of a fixed period per selected CPU that is
 * online, each running the program sample_entry. Idle CPUs tick too (the program drops those ticks
 * and counts them), because only then do the events' own counts tell how many runs there should
 * have been. Several agents can sample at once: each has its own events.
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
	/** CPUs to sample; NULL and 0: all. Copied. Those that are offline count when they come. */
	const uint32_t *cpus;
	uint32_t cpu_count;
};

/**
 * Opens the events. -EPERM: privileges are missing; -EOPNOTSUPP: no perf events in this kernel;
 * -ENODEV: none of the CPUs is online.
 */
int perf_sampler_create(const struct perf_sampler_options *options, struct perf_sampler **sampler);
void perf_sampler_destroy(struct perf_sampler *sampler);

/** Turns all events on or off, CPUs that come later included. */
int perf_sampler_enable(struct perf_sampler *sampler);
int perf_sampler_disable(struct perf_sampler *sampler);

/**
 * Follows CPUs that came or went, and keeps the counts of those that go. To be called about once a
 * second. Returns 0, or -errno if a CPU that came could not be sampled; it is tried again.
 */
int perf_sampler_tick(struct perf_sampler *sampler);

/** CPUs being sampled now. */
uint32_t perf_sampler_cpu_count(const struct perf_sampler *sampler);

/**
 * Sets @ticks[0 .. @cpu_count - 1] to the ticks of each CPU since the start, over all events it ever
 * had: how often the program should have run there. What the counter RUNS has less was missed.
 */
void perf_sampler_read_ticks(struct perf_sampler *sampler, uint64_t *ticks, uint32_t cpu_count);

#endif
