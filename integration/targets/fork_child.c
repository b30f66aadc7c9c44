/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children that continue in the parent's program, without exec, one after the other. When an exiting
 * child has released its memory, its stack can no longer be unwound.
 *
 * forks: yes
 * chain: START main > spawn child_busy leaf
 * chain: START main spawn ANY{0,6}
 * chain: (entry_SYSCALL.*_\[k\]) ANY* do_exit_\[k\] ANY*
 */
#include <sys/wait.h>

#include "target.h"

FRAME unsigned long leaf(unsigned long n)
{
	return n + work(100);
}

FRAME unsigned long child_busy(unsigned long n)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < 10000000; i++)
		sum += leaf(n);
	return sum;
}

FRAME void spawn(void)
{
	volatile unsigned long sink;
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sink = child_busy(1);
		(void)sink;
		_exit(0);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child)
		abort();
}

int main(void)
{
	target_ready();
	for (;;)
		spawn();
}
