/* SPDX-License-Identifier: Apache-2.0 */
/* The lines "cpuN user nice system idle iowait irq softirq steal ..." at the top of /proc/stat. */
#include "lib/host/cpu_times.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"

/* Sets the times of the CPU that @line is about, unless that is beyond @cpu_count. */
static int take_line(const char *line, struct cpu_times *times, uint32_t cpu_count)
{
	uint64_t clock_tick_ns = NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t idle_ticks, iowait_ticks, steal_ticks;
	uint32_t cpu;

	if (sscanf(line, "cpu%" SCNu32 " %*u %*u %*u %" SCNu64 " %" SCNu64 " %*u %*u %" SCNu64,
		   &cpu, &idle_ticks, &iowait_ticks, &steal_ticks) != 4)
		return fail(-EBADMSG, "the times of a CPU in /proc/stat make no sense");
	if (cpu < cpu_count)
		times[cpu] = (struct cpu_times){
			.idle_ns = (idle_ticks + iowait_ticks) * clock_tick_ns,
			.stolen_ns = steal_ticks * clock_tick_ns,
		};
	return 0;
}

int cpu_times_read(const char *proc_root, struct cpu_times *times, uint32_t cpu_count)
{
	_cleanup_(free_pointer) char *line = NULL;
	_cleanup_(close_file) FILE *file = NULL;
	char path[PATH_MAX];
	size_t size = 0;

	snprintf(path, sizeof(path), "%s/stat", proc_root);
	file = fopen(path, "re");
	if (!file)
		return fail_errno(-errno, "cannot open %s", path);
	memset(times, 0, cpu_count * sizeof(*times));
	while (getline(&line, &size, file) > 0 && !strncmp(line, "cpu", 3)) {
		/* The first is the sum over all CPUs. */
		int err = line[3] == ' ' ? 0 : take_line(line, times, cpu_count);

		if (err)
			return err;
	}
	return 0;
}
