/* SPDX-License-Identifier: Apache-2.0 */
/* The lines "cpuN user nice system idle iowait ..." at the top of /proc/stat, and none below. */
#include "agent/host/cpu_idle_times.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/error.h"

/* Sets the idle time of the CPU that @line is about, unless that is beyond @cpu_count. */
static int take_line(const char *line, uint64_t *idle_ns, uint32_t cpu_count)
{
	uint64_t clock_tick_ns = NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t idle_ticks, iowait_ticks;
	uint32_t cpu;

	if (sscanf(line, "cpu%" SCNu32 " %*u %*u %*u %" SCNu64 " %" SCNu64, &cpu, &idle_ticks,
		   &iowait_ticks) != 3)
		return fail(-EBADMSG, "the times of a CPU in /proc/stat make no sense");
	if (cpu < cpu_count)
		idle_ns[cpu] = (idle_ticks + iowait_ticks) * clock_tick_ns;
	return 0;
}

int cpu_idle_times(const char *proc_root, uint64_t *idle_ns, uint32_t cpu_count)
{
	_cleanup_(free_pointer) char *line = NULL;
	_cleanup_(close_file) FILE *file = NULL;
	char path[PATH_MAX];
	size_t size = 0;

	snprintf(path, sizeof(path), "%s/stat", proc_root);
	file = fopen(path, "re");
	if (!file)
		return fail_errno(-errno, "cannot open %s", path);
	memset(idle_ns, 0, cpu_count * sizeof(*idle_ns));
	while (getline(&line, &size, file) > 0 && !strncmp(line, "cpu", 3)) {
		/* The first is the sum over all CPUs. */
		int err = line[3] == ' ' ? 0 : take_line(line, idle_ns, cpu_count);

		if (err)
			return err;
	}
	return 0;
}
