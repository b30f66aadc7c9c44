// SPDX-License-Identifier: Apache-2.0
/*
 * A program of known costs, for accounting_test.py: `cost_target WHAT COUNT`. It prints a line for each process that it has
 * waited for: pid, run time in microseconds as the kernel has it, and 1 if that includes the time of children.
 *
 *	spin MS		computes for so long
 *	sleep COUNT	computes for 3 ms and sleeps for 1 ms, so often
 *	migrate COUNT	computes for 3 ms on one CPU after the other
 *	threads COUNT	so many threads compute for 200 ms
 *	fork COUNT	children of 5 ms, which fork a child of 5 ms
 *	spawn COUNT	runs /bin/true
 *	true COUNT	children that end at once
 *	realtime COUNT	as sleep, with real-time priority
 *	send COUNT	datagrams over the loopback device
 *	write PAGES, read PAGES		in the file that is the third argument
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * Slices are so long because the kernel counts the time that it takes to switch for the task that comes, and the agent for the one that
 * goes. That is some 5 to 10 us.
 */
enum { PAGE = 4096, BLOCK_PAGES = 32, SLICE_US = 3000 };

extern char **environ;

/* Computes for @us of CPU time. */
static void compute(uint64_t us)
{
	struct timespec now;
	uint64_t end = 0;

	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		if (!end)
			end = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000 + us;
	} while ((uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000 < end);
}

static void *compute_thread(void *argument)
{
	compute(200000);
	return argument;
}

static void wait_for(pid_t pid, int has_children)
{
	struct rusage usage;

	if (wait4(pid, NULL, 0, &usage) != pid)
		exit(1);
	printf("%d %lld %d\n", (int)pid,
	       (long long)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
		       usage.ru_utime.tv_usec + usage.ru_stime.tv_usec,
	       has_children);
}

static void run_threads(int count)
{
	pthread_t threads[64];

	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, compute_thread, NULL))
			exit(1);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void run_forks(int count)
{
	for (int i = 0; i < count; i++) {
		pid_t child = fork();

		if (!child) {
			pid_t grandchild = fork();

			compute(5000);
			if (grandchild)
				wait_for(grandchild, 0);
			_exit(0);
		}
		wait_for(child, 1);
	}
}

static void run_children(int count, int is_spawn)
{
	char *arguments[] = { "true", NULL };

	for (int i = 0; i < count; i++) {
		pid_t pid;

		if (!is_spawn) {
			pid = fork();
			if (!pid)
				_exit(0);
		} else if (posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environ)) {
			exit(1);
		}
		wait_for(pid, 0);
	}
}

static void migrate(int count)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	for (int i = 0; i < count; i++) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(i % cpus, &set);
		sched_setaffinity(0, sizeof(set), &set);
		compute(SLICE_US);
	}
}

static void doze(int count)
{
	for (int i = 0; i < count; i++) {
		compute(SLICE_US);
		usleep(1000);
	}
}

static void send_datagrams(int count)
{
	int to = socket(AF_INET, SOCK_DGRAM, 0), from = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	char byte = 0;

	if (bind(to, (struct sockaddr *)&address, length) ||
	    getsockname(to, (struct sockaddr *)&address, &length))
		exit(1);
	for (int i = 0; i < count; i++) {
		sendto(from, &byte, 1, 0, (struct sockaddr *)&address, length);
		recv(to, &byte, 1, 0);
	}
}

static void use_file(const char *path, int pages, int is_write)
{
	static char block[BLOCK_PAGES * PAGE];
	int fd = open(path, is_write ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY, 0600);

	if (fd < 0)
		exit(1);
	for (int i = 0; i < pages; i += BLOCK_PAGES)
		if ((is_write ? write(fd, block, sizeof(block)) : read(fd, block, sizeof(block))) !=
		    sizeof(block))
			exit(1);
	close(fd);
}

int main(int argc, char **argv)
{
	const struct sched_param priority = { .sched_priority = 1 };
	const char *what = argv[1];
	int count = argc > 2 ? atoi(argv[2]) : 0;

	/* A fork must not have lines of its parent to write. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(what, "spin"))
		compute((uint64_t)count * 1000);
	else if (!strcmp(what, "sleep"))
		doze(count);
	else if (!strcmp(what, "migrate"))
		migrate(count);
	else if (!strcmp(what, "threads"))
		run_threads(count);
	else if (!strcmp(what, "fork"))
		run_forks(count);
	else if (!strcmp(what, "spawn") || !strcmp(what, "true"))
		run_children(count, !strcmp(what, "spawn"));
	else if (!strcmp(what, "realtime") && !sched_setscheduler(0, SCHED_FIFO, &priority))
		doze(count);
	else if (!strcmp(what, "send"))
		send_datagrams(count);
	else if (argc > 3 && (!strcmp(what, "write") || !strcmp(what, "read")))
		use_file(argv[3], count, !strcmp(what, "write"));
	else
		return 2;
	return 0;
}
