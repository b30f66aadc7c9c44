/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coroutines by makecontext and swapcontext, each on its own stack: one on the heap below the main
 * stack, one in .bss. Their stacks end in the C library's start of a context.
 *
 * chain: START main > resume SWITCH
 * chain: CONTEXT_START > coroutine (leaf_plain|leaf_saved|yield) SWITCH
 */
#include <ucontext.h>

#include "target.h"

enum { STACK_BYTES = 256 * 1024, COROUTINES = 2 };

static unsigned char low_stack[STACK_BYTES] __attribute__((aligned(4096)));
static ucontext_t main_context, contexts[COROUTINES];
static int running;

FRAME unsigned long leaf_plain(unsigned long n)
{
	return n + work(200);
}

FRAME unsigned long leaf_saved(unsigned long n)
{
	work(200);
	USE_SAVED_REGISTERS();
	return n;
}

FRAME void yield(void)
{
	if (swapcontext(&contexts[running], &main_context))
		abort();
	NO_TAIL_CALL();
}

FRAME void coroutine(void)
{
	volatile unsigned long sink = 0;

	for (;;) {
		sink += leaf_plain(sink);
		sink += leaf_saved(sink);
		yield();
	}
}

FRAME void resume(int number)
{
	running = number;
	if (swapcontext(&main_context, &contexts[number]))
		abort();
	NO_TAIL_CALL();
}

static void make(int number, void *stack)
{
	if (getcontext(&contexts[number]))
		abort();
	contexts[number].uc_stack.ss_sp = stack;
	contexts[number].uc_stack.ss_size = STACK_BYTES;
	makecontext(&contexts[number], coroutine, 0);
}

int main(void)
{
	make(0, malloc(STACK_BYTES));
	make(1, low_stack);
	target_ready();
	for (;;) {
		resume(0);
		resume(1);
	}
}
