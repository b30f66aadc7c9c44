/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tracing/bpf_metrics.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/model/metrics.h"

int bpf_metrics_cpu_count(void)
{
	int cpu_count = libbpf_num_possible_cpus();

	return cpu_count < 0 ? fail_errno(cpu_count, "number of possible CPUs") : cpu_count;
}

static int read_cpus(int counters, enum counter counter, uint64_t *values)
{
	uint32_t key = counter;

	if (bpf_map_lookup_elem(counters, &key, values))
		return fail_errno(-errno, "cannot read counter %u of the kernel side", key);
	return 0;
}

int bpf_metrics_read_cpus(const struct bpf_fds *fds, enum counter counter, uint64_t *values)
{
	return read_cpus(fds->counters[ORIGIN_CLOCK], counter, values);
}

/* Adds the CPUs' counts of @counter to *@sum; @values has room for @cpu_count. */
static int add_cpus(int counters, enum counter counter, uint64_t *values, int cpu_count,
		    uint64_t *sum)
{
	int err = read_cpus(counters, counter, values);

	for (int cpu = 0; cpu < cpu_count && !err; cpu++)
		*sum += values[cpu];
	return err;
}

static int update_clock(const struct bpf_fds *fds, uint64_t *values, int cpu_count)
{
	uint64_t sums[COUNTER_COUNT] = { 0 };
	int err = 0;

	for (uint32_t counter = 0; counter < COUNTER_COUNT && !err; counter++)
		err = add_cpus(fds->counters[ORIGIN_CLOCK], counter, values, cpu_count,
			       &sums[counter]);
	for (uint32_t counter = 0; counter < COUNTER_COUNT && !err; counter++)
		metrics_set(metric_of_counter(counter), sums[counter]);
	return err;
}

static int update_other_origins(const struct bpf_fds *fds, uint64_t *values, int cpu_count)
{
	uint64_t sent = 0, lost = 0;
	int err = 0;

	for (uint32_t i = ORIGIN_CLOCK + 1; i < ORIGIN_COUNT && !err; i++) {
		if (fds->counters[i] < 0)
			continue;
		err = add_cpus(fds->counters[i], COUNTER_SAMPLES, values, cpu_count, &sent);
		if (!err)
			err = add_cpus(fds->counters[i], COUNTER_LOST_RING_FULL, values, cpu_count,
				       &lost);
	}
	if (err)
		return err;
	metrics_set(METRIC_OTHER_SAMPLES, sent);
	metrics_set(METRIC_OTHER_SAMPLES_LOST, lost);
	return 0;
}

int bpf_metrics_update(const struct bpf_fds *fds)
{
	int cpu_count = bpf_metrics_cpu_count();
	_cleanup_(free_pointer) uint64_t *values = NULL;
	int err;

	if (cpu_count < 0)
		return cpu_count;
	values = calloc((size_t)cpu_count, sizeof(*values));
	if (!values)
		return -ENOMEM;
	err = update_clock(fds, values, cpu_count);
	return err ? err : update_other_origins(fds, values, cpu_count);
}
