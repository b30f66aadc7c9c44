// SPDX-License-Identifier: Apache-2.0
/*
 * Two processes on one CPU that send each other a byte: a switch of tasks for each. `switches SECONDS` prints the number of switches
 * and the time that they took in ns.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static double now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Sends back what comes. */
static void answer(int from, int to)
{
	char byte;

	while (read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1)
		;
	exit(0);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1, begin, end;
	int there[2], back[2];
	long switches = 0;
	char byte = 0;

	if (pipe(there) || pipe(back))
		return 1;
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		answer(there[0], back[1]);
	}
	begin = end = now_seconds();
	while (end < begin + seconds) {
		for (int i = 0; i < 100; i++)
			if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
				return 1;
		switches += 200;
		end = now_seconds();
	}
	printf("%ld %.0f\n", switches, (end - begin) * 1e9);
	return 0;
}
