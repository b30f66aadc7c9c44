/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short-lived programs: starts true and ls by turns, RATE times a second for SECONDS, each when the one
 * before has ended. Prints how many there were.
 *
 * usage: execs RATE SECONDS
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void sleep_until(double when)
{
	double left = when - now();
	struct timespec pause = { .tv_sec = (time_t)left };

	pause.tv_nsec = (long)((left - (double)pause.tv_sec) * 1e9);
	if (left > 0)
		nanosleep(&pause, NULL);
}

int main(int count, char **arguments)
{
	char *const programs[2][3] = { { "/bin/true", NULL }, { "/bin/ls", "/usr/bin", NULL } };
	posix_spawn_file_actions_t actions;
	double rate, start, end;
	unsigned long number = 0;
	pid_t pid;

	if (count != 3)
		return 2;
	rate = atof(arguments[1]);
	start = now();
	end = start + atof(arguments[2]);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	for (; now() < end; number++) {
		char *const *program = programs[number % 2];

		sleep_until(start + (double)number / rate);
		if (posix_spawn(&pid, program[0], &actions, NULL, program, environ))
			return 1;
		waitpid(pid, NULL, 0);
	}
	printf("%lu\n", number);
	return 0;
}
