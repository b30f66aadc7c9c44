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

int bpf_metrics_read_cpus(const struct bpf_fds *fds, enum counter counter, uint64_t *values)
{
	uint32_t key = counter;

	if (bpf_map_lookup_elem(fds->counters, &key, values))
		return fail_errno(-errno, "counter %u of the kernel side", key);
	return 0;
}

int bpf_metrics_update(const struct bpf_fds *fds)
{
	int cpu_count = bpf_metrics_cpu_count();
	_cleanup_(free_pointer) uint64_t *values = NULL;
	uint64_t sums[COUNTER_COUNT] = { 0 };

	if (cpu_count < 0)
		return cpu_count;
	values = calloc((size_t)cpu_count, sizeof(*values));
	if (!values)
		return -ENOMEM;
	for (uint32_t counter = 0; counter < COUNTER_COUNT; counter++) {
		int err = bpf_metrics_read_cpus(fds, counter, values);

		if (err)
			return err;
		for (int cpu = 0; cpu < cpu_count; cpu++)
			sums[counter] += values[cpu];
	}
	for (uint32_t counter = 0; counter < COUNTER_COUNT; counter++)
		metrics_set(metric_of_counter(counter), sums[counter]);
	return 0;
}
