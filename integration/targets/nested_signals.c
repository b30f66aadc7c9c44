/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A signal in the handler of another one, the first on an alternate stack; and a longjmp out of a
 * handler, which leaves that stack without a return.
 *
 * chain: START main > interrupted leaf
 * chain: START main handle? ANY{0,2}
 * chain: START main handle? ANY{0,2} RESTORE > first_handler ANY{0,2}
 * chain: START main interrupted ANY{0,2} RESTORE > first_handler ANY{0,3}
 * chain: START main interrupted ANY{0,2} RESTORE (first|second)_handler ANY{0,3} RESTORE > first_handler ANY{0,3}
 * chain: START main handle? ANY{0,2} RESTORE > second_handler handler_leaf
 * chain: START main interrupted ANY{0,2} RESTORE > second_handler handler_leaf
 * chain: START main RESTORE first_handler ANY{0,3} RESTORE > second_handler handler_leaf
 * chain: START main interrupted ANY{0,2} RESTORE first_handler ANY{0,3} RESTORE > second_handler handler_leaf
 *
 * A signal that waits comes in siglongjmp(), where the mask is set back, and so on while handlers take
 * longer than the timer:
 *
 * chain: START main interrupted ANY{0,2} RESTORE (first|second)_handler ANY{0,3} RESTORE (first|second)_handler ANY{0,3} RESTORE > (first|second)_handler ANY{0,3}
 * chain: START main interrupted ANY{0,2} RESTORE (first|second)_handler ANY{0,3} RESTORE (first|second)_handler ANY{0,3} RESTORE (first|second)_handler ANY{0,3} RESTORE > (first|second)_handler ANY{0,3}
 */
#include <setjmp.h>
#include <sys/time.h>

#include "target.h"

enum { STACK_BYTES = 64 * 1024 };

static sigjmp_buf escape;

FRAME unsigned long handler_leaf(unsigned long n)
{
	return n + work(100);
}

FRAME void second_handler(int number)
{
	for (unsigned long i = 0; i < 2000; i++)
		handler_leaf(number);
}

FRAME void first_handler(int number)
{
	for (unsigned long i = 0; i < 2000; i++)
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

static void handle(int signal, void (*handler)(int), int flags, int timer, int every_us)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART | flags };
	struct itimerval every = { { 0, every_us }, { 0, every_us } };

	if (sigaction(signal, &action, NULL) || setitimer(timer, &every, NULL))
		abort();
}

int main(void)
{
	stack_t stack = { .ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES };

	if (sigaltstack(&stack, NULL))
		abort();
	target_ready();
	if (!sigsetjmp(escape, 1)) {
		handle(SIGALRM, first_handler, SA_ONSTACK, ITIMER_REAL, 3000);
		handle(SIGPROF, second_handler, 0, ITIMER_PROF, 2000);
	}
	interrupted();
}
