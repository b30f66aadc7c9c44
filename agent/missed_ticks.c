/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/missed_ticks.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/error.h"
#include "agent/host/cpu_idle_times.h"

int idle_clock_init(struct idle_clock *clock, const char *proc_root, uint32_t cpu_count)
{
	*clock = (struct idle_clock){
		.proc_root = proc_root,
		.cpu_count = cpu_count,
		.start_ns = calloc(cpu_count, sizeof(uint64_t)),
		.idle_ns = calloc(cpu_count, sizeof(uint64_t)),
	};
	if (clock->start_ns && clock->idle_ns)
		return 0;
	idle_clock_deinit(clock);
	return fail(-ENOMEM, "no memory for the idle times of %u CPUs", cpu_count);
}

int idle_clock_start(struct idle_clock *clock)
{
	return cpu_idle_times(clock->proc_root, clock->start_ns, clock->cpu_count);
}

int idle_clock_stop(struct idle_clock *clock)
{
	_cleanup_(free_pointer) uint64_t *now_ns = calloc(clock->cpu_count, sizeof(*now_ns));
	int err;

	if (!now_ns)
		return fail(-ENOMEM, "no memory for the idle times of %u CPUs", clock->cpu_count);
	err = cpu_idle_times(clock->proc_root, now_ns, clock->cpu_count);
	if (err)
		return err;
	for (uint32_t cpu = 0; cpu < clock->cpu_count; cpu++) {
		/* A CPU that was offline at either end has no time to compare with. */
		if (clock->start_ns[cpu] && now_ns[cpu] > clock->start_ns[cpu])
			clock->idle_ns[cpu] += now_ns[cpu] - clock->start_ns[cpu];
		clock->start_ns[cpu] = 0;
	}
	return 0;
}

void idle_clock_deinit(struct idle_clock *clock)
{
	free(clock->start_ns);
	free(clock->idle_ns);
	*clock = (struct idle_clock){ 0 };
}

void missed_ticks_add(struct missed_ticks *missed, const struct cpu_ticks *cpu, uint64_t idle_ns,
		      uint32_t samples_per_second)
{
	uint64_t idle_ticks = idle_ns / (NS_PER_SECOND / samples_per_second);
	uint64_t missing = cpu->ticks > cpu->runs ? cpu->ticks - cpu->runs : 0;
	uint64_t idle = idle_ticks > cpu->idle_runs ? idle_ticks - cpu->idle_runs : 0;

	if (idle > missing)
		idle = missing;
	missed->idle += idle;
	missed->skipped += missing - idle;
}
