/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A busy signal handler, on top of a function that is interrupted at any instruction. ALTERNATE
 * puts the handler on its own stack: 1 below the interrupted one, 2 above it (the interrupted thread
 * runs in .bss, its alternate stack is near the shared libraries).
 *
 * chain: BEGIN > interrupted (leaf_plain|leaf_saved)
 * chain: BEGIN RESTORE > handler handler_leaf
 * chain: BEGIN interrupted RESTORE > handler handler_leaf
 * chain: BEGIN interrupted (leaf_plain|leaf_saved) RESTORE > handler handler_leaf
 * chain: START main > JOIN
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "target.h"

#ifndef ALTERNATE
#define ALTERNATE 0
#endif

enum { STACK_BYTES = 256 * 1024 };

static unsigned char low_stack[STACK_BYTES] __attribute__((aligned(4096)));

FRAME unsigned long handler_leaf(unsigned long n)
{
	return n + work(100);
}

FRAME void handler(int number)
{
	for (unsigned long i = 0; i < 5000; i++)
		handler_leaf(number);
}

FRAME unsigned long leaf_plain(unsigned long n)
{
	return n + work(5);
}

FRAME unsigned long leaf_saved(unsigned long n)
{
	work(5);
	USE_SAVED_REGISTERS();
	return n;
}

FRAME unsigned long interrupted(unsigned long n)
{
	unsigned long sum = leaf_plain(n);

	return sum + leaf_saved(n);
}

static void use_alternate_stack(void *bottom)
{
	stack_t stack = { .ss_sp = bottom, .ss_size = STACK_BYTES };

	if (sigaltstack(&stack, NULL))
		abort();
}

/* @how: SIG_BLOCK or SIG_UNBLOCK, in the calling thread. */
static void set_alarm_mask(int how)
{
	sigset_t alarm_only;

	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	if (pthread_sigmask(how, &alarm_only, NULL))
		abort();
}

static void start_timer(void)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART | SA_ONSTACK };
	struct itimerval every = { .it_interval = { .tv_usec = 2000 },
				   .it_value = { .tv_usec = 2000 } };

	if (sigaction(SIGALRM, &action, NULL) || setitimer(ITIMER_REAL, &every, NULL))
		abort();
}

FRAME static void *begin(void *unused)
{
	volatile unsigned long sink = 0;

	if (ALTERNATE == 1)
		use_alternate_stack(low_stack);
	if (ALTERNATE == 2)
		use_alternate_stack(mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	set_alarm_mask(SIG_UNBLOCK);
	start_timer();
	target_ready();
	for (;;)
		sink += interrupted(sink);
	return unused;
}

int main(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (ALTERNATE != 2) {
		begin(NULL);
		return 1;
	}
	/* Blocked before there is a timer: otherwise the first thread would be in the handler. */
	set_alarm_mask(SIG_BLOCK);
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, low_stack, sizeof(low_stack));
	if (pthread_create(&thread, &attributes, begin, NULL))
		abort();
	pthread_join(thread, NULL);
	return 1;
}
