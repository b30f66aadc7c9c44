/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Works for which the kernel sends events to an agent. Does WORK as often as possible for SECONDS and prints its speed.
 * name: a thread names itself; mprotect, mmap: code is made and mapped; thread, fork, spawn: one is started and waited for.
 *
 * WORK and a plain system call alternate in turns of some milliseconds. The speed is the number of WORKs per system call, the
 * median of all turns, since the speed of a virtual machine changes by a tenth from one second to the next.
 *
 * usage: works WORK SECONDS
 */
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { PAGE_BYTES = 4096, ROUND = 8, TURNS_MAX = 4096 };

#define TURN_SECONDS 0.005

static void *memory;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void fail_if(int failed, const char *what)
{
	if (!failed)
		return;
	perror(what);
	exit(1);
}

static void name_thread(unsigned long number)
{
	fail_if(prctl(PR_SET_NAME, number % 2 ? "one" : "other"), "prctl");
}

static void make_code(unsigned long number)
{
	(void)number;
	fail_if(mprotect(memory, PAGE_BYTES, PROT_READ | PROT_WRITE), "mprotect");
	fail_if(mprotect(memory, PAGE_BYTES, PROT_READ | PROT_EXEC), "mprotect");
}

static void map_code(unsigned long number)
{
	void *code =
		mmap(NULL, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)number;
	fail_if(code == MAP_FAILED || munmap(code, PAGE_BYTES), "mmap");
}

static void *do_nothing(void *argument)
{
	return argument;
}

static void start_thread(unsigned long number)
{
	pthread_t thread;

	(void)number;
	fail_if(pthread_create(&thread, NULL, do_nothing, NULL) || pthread_join(thread, NULL),
		"thread");
}

static void fork_once(unsigned long number)
{
	pid_t pid = fork();

	(void)number;
	if (!pid)
		_exit(0);
	fail_if(pid < 0 || waitpid(pid, NULL, 0) != pid, "fork");
}

static void spawn_once(unsigned long number)
{
	char *const arguments[] = { "/bin/true", NULL };
	pid_t pid;

	(void)number;
	fail_if(posix_spawn(&pid, arguments[0], NULL, NULL, arguments, environ) ||
			waitpid(pid, NULL, 0) != pid,
		"spawn");
}

static void ask_parent(unsigned long number)
{
	(void)number;
	syscall(SYS_getppid);
}

static const struct {
	const char *name;
	void (*work)(unsigned long number);
} works[] = {
	{ "name", name_thread },    { "mprotect", make_code }, { "mmap", map_code },
	{ "thread", start_thread }, { "fork", fork_once },     { "spawn", spawn_once },
};

/* Measures how often @work can be done in a second. */
static double speed_of(void (*work)(unsigned long number))
{
	double begin = now(), end;
	unsigned long number = 0;

	do {
		for (int i = 0; i < ROUND; i++)
			work(number++);
		end = now();
	} while (end < begin + TURN_SECONDS);
	return (double)number / (end - begin);
}

static int ascending(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return left < right ? -1 : left > right;
}

static double median_speed(void (*work)(unsigned long number), double seconds)
{
	static double speeds[TURNS_MAX];
	double end = now() + seconds;
	size_t count = 0;

	while (count < TURNS_MAX && (!count || now() < end)) {
		double base = speed_of(ask_parent);

		speeds[count++] = speed_of(work) / base;
	}
	qsort(speeds, count, sizeof(speeds[0]), ascending);
	return speeds[count / 2];
}

int main(int count, char **arguments)
{
	for (size_t i = 0; count == 3 && i < sizeof(works) / sizeof(works[0]); i++) {
		if (strcmp(works[i].name, arguments[1]) != 0)
			continue;
		memory = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		fail_if(memory == MAP_FAILED, "mmap");
		printf("%.9f\n", median_speed(works[i].work, atof(arguments[2])));
		return 0;
	}
	return 2;
}
