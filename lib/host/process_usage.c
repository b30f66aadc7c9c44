/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/host/process_usage.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/cleanup.h"

#define US_PER_SECOND 1e6

static uint64_t count_fds(void)
{
	DIR *folder = opendir("/proc/self/fd");
	uint64_t count = 0;

	while (folder && readdir(folder))
		count++;
	if (folder)
		closedir(folder);
	/* ".", ".." and the folder's own. */
	return count > 3 ? count - 3 : 0;
}

static void read_memory(struct process_usage *usage)
{
	_cleanup_(close_file) FILE *file = fopen("/proc/self/statm", "re");
	unsigned long long virtual_pages, resident_pages;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (!file || fscanf(file, "%llu %llu", &virtual_pages, &resident_pages) != 2)
		return;
	usage->virtual_bytes = virtual_pages * page;
	usage->resident_bytes = resident_pages * page;
}

void process_usage_read(struct process_usage *usage)
{
	struct rlimit limit = { 0 };
	struct rusage used;

	*usage = (struct process_usage){ .open_fds = count_fds() };
	read_memory(usage);
	if (!getrusage(RUSAGE_SELF, &used))
		usage->cpu_seconds =
			(double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
			(double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / US_PER_SECOND;
	if (!getrlimit(RLIMIT_NOFILE, &limit))
		usage->max_fds = limit.rlim_cur;
}
