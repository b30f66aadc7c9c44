/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Works that the kernel tells an agent of: does WORK as often as it can for SECONDS and prints how often that was in
 * a second. name: a thread names itself; mprotect, mmap: code is made and mapped; thread, fork, spawn: one is
 * started and waited for.
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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { PAGE_BYTES = 4096, ROUND = 16 };

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

static const struct {
	const char *name;
	void (*work)(unsigned long number);
} works[] = {
	{ "name", name_thread },    { "mprotect", make_code }, { "mmap", map_code },
	{ "thread", start_thread }, { "fork", fork_once },     { "spawn", spawn_once },
};

int main(int count, char **arguments)
{
	unsigned long number = 0;
	double begin, end;

	for (size_t i = 0; count == 3 && i < sizeof(works) / sizeof(works[0]); i++) {
		if (strcmp(works[i].name, arguments[1]) != 0)
			continue;
		memory = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		fail_if(memory == MAP_FAILED, "mmap");
		begin = now();
		end = begin + atof(arguments[2]);
		do
			for (int j = 0; j < ROUND; j++)
				works[i].work(number++);
		while (now() < end);
		printf("%.0f\n", (double)number / (now() - begin));
		return 0;
	}
	return 2;
}
