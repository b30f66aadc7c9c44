/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of perf's records of mappings for a command, without an agent. Runs COMMAND for SECONDS, by turns with and without an event
 * that wants the records, as the agent's side-band does, on each CPU. Nobody reads the records. The CPU times of two runs that
 * follow each other are compared, since the speed of a virtual machine changes from one second to the next.
 *
 * Prints the medians of the CPU time without records and of the differences, in microseconds, and the number of pairs.
 *
 * usage: side_band SECONDS COMMAND...
 */
#include <linux/perf_event.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { CPUS_MAX = 1024, PAIRS_MAX = 10000, PAGE_BYTES = 4096, RING_BYTES = 128 * 1024 };

struct ring {
	int fd;
	void *memory;
};

static struct ring rings[CPUS_MAX];

static void fail_if(int failed, const char *what)
{
	if (!failed)
		return;
	perror(what);
	exit(1);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Both turns have events, so that opening and mapping them makes no difference. */
static long open_rings(bool has_mappings)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);
	struct perf_event_attr attributes = {
		.size = sizeof(attributes),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.mmap = has_mappings,
		.mmap2 = has_mappings,
		.ksymbol = 1,
		.watermark = 1,
		.wakeup_watermark = RING_BYTES / 4,
	};

	for (long i = 0; i < count && i < CPUS_MAX; i++) {
		rings[i].fd = (int)syscall(SYS_perf_event_open, &attributes, -1, (int)i, -1,
					   PERF_FLAG_FD_CLOEXEC);
		fail_if(rings[i].fd < 0, "perf_event_open");
		rings[i].memory = mmap(NULL, PAGE_BYTES + RING_BYTES, PROT_READ | PROT_WRITE,
				       MAP_SHARED, rings[i].fd, 0);
		fail_if(rings[i].memory == MAP_FAILED, "mmap");
	}
	return count;
}

static void close_rings(long count)
{
	for (long i = 0; i < count && i < CPUS_MAX; i++) {
		munmap(rings[i].memory, PAGE_BYTES + RING_BYTES);
		close(rings[i].fd);
	}
}

static double microseconds(struct timeval time)
{
	return (double)time.tv_sec * 1e6 + (double)time.tv_usec;
}

/* The CPU time of a run of @command and of all that it starts, in microseconds. */
static double run(char *const *command, bool has_mappings)
{
	long count = open_rings(has_mappings);
	struct rusage used;
	int status;
	pid_t pid;

	fail_if(posix_spawnp(&pid, command[0], NULL, NULL, command, environ), "spawn");
	fail_if(wait4(pid, &status, 0, &used) != pid || status, "command");
	close_rings(count);
	return microseconds(used.ru_utime) + microseconds(used.ru_stime);
}

static int ascending(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return left < right ? -1 : left > right;
}

int main(int count, char **arguments)
{
	static double base[PAIRS_MAX], differences[PAIRS_MAX];
	size_t pairs = 0;
	double end;

	if (count < 3)
		return 2;
	for (end = now() + atof(arguments[1]); pairs < PAIRS_MAX && now() < end; pairs++) {
		double times[2];

		for (int i = 0; i < 2; i++) {
			bool has_mappings = i ^ (pairs & 1);

			times[has_mappings] = run(arguments + 2, has_mappings);
		}
		base[pairs] = times[0];
		differences[pairs] = times[1] - times[0];
	}
	fail_if(!pairs, "no time for a pair");
	qsort(base, pairs, sizeof(base[0]), ascending);
	qsort(differences, pairs, sizeof(differences[0]), ascending);
	printf("%.1f %.1f %zu\n", base[pairs / 2], differences[pairs / 2], pairs);
	return 0;
}
