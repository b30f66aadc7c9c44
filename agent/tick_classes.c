/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tick_classes.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/tracing/bpf_metrics.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/model/metrics.h"

static int count_missed_ticks(const struct bpf_fds *fds, struct perf_sampler *sampler,
			      const struct tick_clock *clock, uint32_t samples_per_second)
{
	uint32_t cpu_count = clock->cpu_count;
	_cleanup_(free_pointer) uint64_t *ticks = calloc(cpu_count, sizeof(*ticks));
	_cleanup_(free_pointer) uint64_t *runs = calloc(cpu_count, sizeof(*runs));
	_cleanup_(free_pointer) uint64_t *idle_runs = calloc(cpu_count, sizeof(*idle_runs));
	struct missed_ticks missed = { 0 };
	int err;

	if (!ticks || !runs || !idle_runs)
		return fail(-ENOMEM, "no memory for the ticks of %u CPUs", cpu_count);
	err = bpf_metrics_read_cpus(fds, COUNTER_RUNS, runs);
	if (!err)
		err = bpf_metrics_read_cpus(fds, COUNTER_IDLE, idle_runs);
	if (err)
		return err;
	perf_sampler_read_ticks(sampler, ticks, cpu_count);
	for (uint32_t cpu = 0; cpu < cpu_count; cpu++) {
		const struct cpu_ticks cpu_ticks = { ticks[cpu], runs[cpu], idle_runs[cpu] };

		missed_ticks_add(&missed, &cpu_ticks, &clock->total[cpu], samples_per_second);
	}
	metrics_set(METRIC_IDLE_UNSEEN, missed.idle);
	metrics_set(METRIC_TICKS_STOLEN, missed.stolen);
	metrics_set(METRIC_SAMPLES_SKIPPED, missed.skipped);
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
