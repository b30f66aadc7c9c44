/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/missed_ticks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"

/* The times of /proc/stat have steps of 10 ms, and counts of a running CPU are read one after the other. */
#define TIMES_MARGIN_NS (20 * NS_PER_MS)

int tick_clock_init(struct tick_clock *clock, const char *proc_root, uint32_t cpu_count)
{
	*clock = (struct tick_clock){
		.proc_root = proc_root,
		.cpu_count = cpu_count,
		.start = calloc(cpu_count, sizeof(*clock->start)),
		.total = calloc(cpu_count, sizeof(*clock->total)),
	};
	if (clock->start && clock->total)
		return 0;
	tick_clock_deinit(clock);
	return fail(-ENOMEM, "no memory for the times of %u CPUs", cpu_count);
}

int tick_clock_start(struct tick_clock *clock)
{
	return cpu_times_read(clock->proc_root, clock->start, clock->cpu_count);
}

/* @now_ns minus @start_ns; 0 for a CPU that went offline, whose time is 0 now. */
static uint64_t time_since(uint64_t start_ns, uint64_t now_ns)
{
	return now_ns > start_ns ? now_ns - start_ns : 0;
}

int tick_clock_read(const struct tick_clock *clock, struct cpu_times *totals)
{
	_cleanup_(free_pointer) struct cpu_times *now = calloc(clock->cpu_count, sizeof(*now));
	int err;

	if (!now)
		return fail(-ENOMEM, "no memory for the times of %u CPUs", clock->cpu_count);
	err = cpu_times_read(clock->proc_root, now, clock->cpu_count);
	if (err)
		return err;
	for (uint32_t cpu = 0; cpu < clock->cpu_count; cpu++) {
		const struct cpu_times *start = &clock->start[cpu];

		totals[cpu] = clock->total[cpu];
		/* A CPU that was offline at the start has 0; all others have been idle at some time. */
		if (!start->idle_ns)
			continue;
		totals[cpu].idle_ns += time_since(start->idle_ns, now[cpu].idle_ns);
		totals[cpu].stolen_ns += time_since(start->stolen_ns, now[cpu].stolen_ns);
	}
	return 0;
}

int tick_clock_stop(struct tick_clock *clock)
{
	int err = tick_clock_read(clock, clock->total);

	if (!err)
		memset(clock->start, 0, clock->cpu_count * sizeof(*clock->start));
	return err;
}

void tick_clock_deinit(struct tick_clock *clock)
{
	free(clock->start);
	free(clock->total);
	*clock = (struct tick_clock){ 0 };
}

static uint64_t at_most(uint64_t count, uint64_t limit)
{
	return count < limit ? count : limit;
}

void missed_ticks_add(struct missed_ticks *missed, const struct cpu_ticks *cpu,
		      const struct cpu_times *times, uint32_t samples_per_second)
{
	uint64_t period_ns = NS_PER_SECOND / samples_per_second;
	uint64_t idle_ticks = times->idle_ns / period_ns;
	uint64_t missing = cpu->ticks > cpu->runs ? cpu->ticks - cpu->runs : 0;
	uint64_t idle =
		at_most(idle_ticks > cpu->idle_runs ? idle_ticks - cpu->idle_runs : 0, missing);
	uint64_t stolen = at_most(times->stolen_ns / period_ns, missing - idle);

	missed->idle += idle;
	missed->stolen += stolen;
	missed->skipped += missing - idle - stolen;
}

uint64_t missed_ticks_skipped_at_least(const struct cpu_ticks *cpu, const struct cpu_times *times,
				       uint32_t samples_per_second)
{
	uint64_t period_ns = NS_PER_SECOND / samples_per_second;
	uint64_t idle_ticks = (times->idle_ns + TIMES_MARGIN_NS) / period_ns + 1;
	uint64_t stolen_ticks = (times->stolen_ns + TIMES_MARGIN_NS) / period_ns + 1;
	uint64_t missing = cpu->ticks > cpu->runs ? cpu->ticks - cpu->runs : 0;
	uint64_t idle = idle_ticks > cpu->idle_runs ? idle_ticks - cpu->idle_runs : 0;

	return missing > idle + stolen_ticks ? missing - idle - stolen_ticks : 0;
}

void missed_ticks_keep_skipped(struct missed_ticks *missed, uint64_t skipped)
{
	uint64_t more = skipped > missed->skipped ? skipped - missed->skipped : 0;
	uint64_t of_idle = at_most(more, missed->idle);
	uint64_t of_stolen = at_most(more - of_idle, missed->stolen);

	missed->idle -= of_idle;
	missed->stolen -= of_stolen;
	missed->skipped += of_idle + of_stolen;
}
