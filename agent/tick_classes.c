/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tick_classes.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/tracing/bpf_metrics.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/model/metrics.h"

/* Counts of all CPUs, indexed by CPU. */
struct cpu_counts {
	uint64_t *ticks;
	uint64_t *runs;
	uint64_t *idle_runs;
	struct cpu_times *times;
};

static void cpu_counts_deinit(struct cpu_counts *counts)
{
	free(counts->ticks);
	free(counts->runs);
	free(counts->idle_runs);
	free(counts->times);
}

/* In the order that missed_ticks_skipped_at_least() needs. Takes memory, which the caller frees after an error, too. */
static int read_counts(struct cpu_counts *counts, const struct bpf_fds *fds,
		       struct perf_sampler *sampler, const struct tick_clock *clock)
{
	uint32_t cpu_count = clock->cpu_count;
	int err;

	*counts = (struct cpu_counts){
		.ticks = calloc(cpu_count, sizeof(*counts->ticks)),
		.runs = calloc(cpu_count, sizeof(*counts->runs)),
		.idle_runs = calloc(cpu_count, sizeof(*counts->idle_runs)),
		.times = calloc(cpu_count, sizeof(*counts->times)),
	};
	if (!counts->ticks || !counts->runs || !counts->idle_runs || !counts->times)
		return fail(-ENOMEM, "no memory for the ticks of %u CPUs", cpu_count);
	perf_sampler_read_ticks(sampler, counts->ticks, cpu_count);
	err = bpf_metrics_read_cpus(fds, COUNTER_RUNS, counts->runs);
	if (!err)
		err = bpf_metrics_read_cpus(fds, COUNTER_IDLE, counts->idle_runs);
	return err;
}

static struct cpu_ticks ticks_of(const struct cpu_counts *counts, uint32_t cpu)
{
	return (struct cpu_ticks){ counts->ticks[cpu], counts->runs[cpu], counts->idle_runs[cpu] };
}

static int count_missed_ticks(const struct bpf_fds *fds, struct perf_sampler *sampler,
			      const struct tick_clock *clock, uint32_t samples_per_second)
{
	_cleanup_(cpu_counts_deinit) struct cpu_counts counts = { 0 };
	struct missed_ticks missed = { 0 };
	int err = read_counts(&counts, fds, sampler, clock);

	if (err)
		return err;
	for (uint32_t cpu = 0; cpu < clock->cpu_count; cpu++) {
		const struct cpu_ticks cpu_ticks = ticks_of(&counts, cpu);

		missed_ticks_add(&missed, &cpu_ticks, &clock->total[cpu], samples_per_second);
	}
	missed_ticks_keep_skipped(&missed, metrics_read(METRIC_SAMPLES_SKIPPED));
	metrics_set(METRIC_IDLE_UNSEEN, missed.idle);
	metrics_set(METRIC_TICKS_STOLEN, missed.stolen);
	metrics_set(METRIC_SAMPLES_SKIPPED, missed.skipped);
	return 0;
}

int tick_classes_note_skipped(const struct bpf_fds *fds, struct perf_sampler *sampler,
			      const struct tick_clock *clock, uint32_t samples_per_second)
{
	_cleanup_(cpu_counts_deinit) struct cpu_counts counts = { 0 };
	uint64_t skipped = 0;
	int err = read_counts(&counts, fds, sampler, clock);

	if (!err)
		err = tick_clock_read(clock, counts.times);
	if (err)
		return err;
	for (uint32_t cpu = 0; cpu < clock->cpu_count; cpu++) {
		const struct cpu_ticks cpu_ticks = ticks_of(&counts, cpu);

		skipped += missed_ticks_skipped_at_least(&cpu_ticks, &counts.times[cpu],
							 samples_per_second);
	}
	if (skipped > metrics_read(METRIC_SAMPLES_SKIPPED))
		metrics_set(METRIC_SAMPLES_SKIPPED, skipped);
	return 0;
}

int tick_classes_count(const struct bpf_fds *fds, struct perf_sampler *sampler,
		       const struct tick_clock *clock, uint32_t samples_per_second)
{
	int err = bpf_metrics_update(fds);

	if (!err)
		err = count_missed_ticks(fds, sampler, clock, samples_per_second);
	if (!err)
		tick_classes_note_unread();
	return err;
}

void tick_classes_note_unread(void)
{
	uint64_t samples = metrics_read(metric_of_counter(COUNTER_SAMPLES));
	uint64_t received = metrics_read(METRIC_SAMPLES_RECEIVED);
	uint64_t runs = metrics_read(metric_of_counter(COUNTER_RUNS));
	uint64_t counted = metrics_read(metric_of_counter(COUNTER_IDLE)) +
			   metrics_read(metric_of_counter(COUNTER_UNSELECTED)) + samples +
			   metrics_read(metric_of_counter(COUNTER_LOST_RING_FULL));

	metrics_set(METRIC_SAMPLES_UNSENT, runs > counted ? runs - counted : 0);
	metrics_set(METRIC_SAMPLES_UNREAD, samples > received ? samples - received : 0);
}
