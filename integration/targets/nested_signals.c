/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A signal in the handler of another one, the first on an alternate stack; and a longjmp out of a
 * handler, which leaves that stack without a return.
 *
 * chain: START main > interrupted leaf
 * chain: START main set? ANY{0,2}
 * chain: START main (interrupted|set)? ANY{0,2} RESTORE > first_handler ANY{0,3}
 * chain: START main (interrupted|set)? ANY{0,2} RESTORE > second_handler handler_leaf
 * chain: START main (interrupted|set)? ANY{0,2} RESTORE second_handler set ANY{0,2}
 * chain: START main (interrupted|set)? ANY{0,2} RESTORE first_handler ANY{0,3} RESTORE > second_handler handler_leaf
 * chain: START main (interrupted|set)? ANY{0,2} RESTORE first_handler ANY{0,3} RESTORE second_handler set ANY{0,2}
 * chain: START main (interrupted|set)? ANY{0,2} RESTORE second_handler ANY{0,3} RESTORE > first_handler ANY{0,3}
 *
 * A timer is set for one signal, and again when that has been handled: else signals whose handlers take
 * longer would pile up without end.
 */
#include <setjmp.h>
#include <sys/time.h>

#include "target.h"

enum {
	STACK_BYTES = 64 * 1024,
	FIRST_AFTER_US = 12000,
	SECOND_AFTER_US = 2000,
	HANDLER_CALLS = 50000,
};

static sigjmp_buf escape;

FRAME void set(int timer, int after_us)
{
	struct itimerval once = { .it_value.tv_usec = after_us };

	if (setitimer(timer, &once, NULL))
		abort();
}

FRAME unsigned long handler_leaf(unsigned long n)
{
	return n + work(100);
}

FRAME void second_handler(int number)
{
	for (unsigned long i = 0; i < HANDLER_CALLS; i++)
		handler_leaf(number);
	set(ITIMER_PROF, SECOND_AFTER_US);
}

FRAME void first_handler(int number)
{
	for (unsigned long i = 0; i < HANDLER_CALLS; i++)
		handler_leaf(number);
	siglongjmp(escape, 1);
}

FRAME unsigned long leaf(unsigned long n)
{
	return n + work(50);
}

FRAME void interrupted(void)
{
	for (volatile unsigned long n = 0;; n++)
		leaf(n);
}

static void handle(int signal, void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART | flags };

	if (sigaction(signal, &action, NULL))
		abort();
}

int main(void)
{
	stack_t stack = { .ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES };

	if (sigaltstack(&stack, NULL))
		abort();
	handle(SIGALRM, first_handler, SA_ONSTACK);
	handle(SIGPROF, second_handler, 0);
	target_ready();
	sigsetjmp(escape, 1);
	set(ITIMER_REAL, FIRST_AFTER_US);
	set(ITIMER_PROF, SECOND_AFTER_US);
	interrupted();
}
