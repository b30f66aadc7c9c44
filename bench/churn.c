// SPDX-License-Identifier: Apache-2.0
/*
 * `churn exec N`: starts /bin/true N times a second; `churn map N FILE`: maps and unmaps a file as
 * executable N times a second.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAPPED_BYTES = 4096 };

static void run_program(void)
{
	pid_t child = vfork();

	if (child == 0) {
		execl("/bin/true", "true", NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child)
		abort();
}

static void map_file(int file)
{
	void *memory = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);

	if (memory == MAP_FAILED || munmap(memory, MAPPED_BYTES))
		abort();
}

int main(int argc, char **argv)
{
	unsigned long rate = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	int file = argc > 3 ? open(argv[3], O_RDONLY) : -1;
	struct timespec next;

	if (!rate || (!strcmp(argv[1], "map") && file < 0))
		return 2;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	printf("ready\n");
	fflush(stdout);
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (;;) {
		next.tv_nsec += 1000000000 / (long)rate;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		if (!strcmp(argv[1], "exec"))
			run_program();
		else
			map_file(file);
	}
}
