/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children that share the memory: by clone() on a stack of their own, and by posix_spawn(), which
 * does the same before its exec.
 *
 * forks: yes
 * chain: CLONE > child child_busy leaf
 * chain: CLONE child LIBCALL
 * chain: CLONE ((?!child|\[error)[^;?]+){0,6}
 * chain: START main > (clone_once|spawn_once) ((?!child|\[error)[^;?]+){0,8}
 */
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>

#include "target.h"

enum { STACK_BYTES = 64 * 1024 };

static unsigned char child_stack[STACK_BYTES] __attribute__((aligned(4096)));
extern char **environ;

FRAME unsigned long leaf(unsigned long n)
{
	return n + work(100);
}

FRAME unsigned long child_busy(unsigned long n)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < 1000000; i++)
		sum += leaf(n);
	return sum;
}

FRAME static int child(void *unused)
{
	volatile unsigned long sink = child_busy(unused != NULL);

	(void)sink;
	_exit(0);
}

FRAME void clone_once(void)
{
	pid_t pid = clone(child, child_stack + STACK_BYTES, CLONE_VM | SIGCHLD, NULL);

	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		abort();
}

FRAME void spawn_once(void)
{
	char *arguments[] = { "true", NULL };
	pid_t pid;

	if (posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environ) ||
	    waitpid(pid, NULL, 0) != pid)
		abort();
}

int main(void)
{
	target_ready();
	for (;;) {
		clone_once();
		spawn_once();
	}
}
