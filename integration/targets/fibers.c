/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fibers that assembly without unwind tables makes and switches to, as in many libraries. A fiber begins with a jump to its
 * function, whose return address is code that ends the program. No call is in front of it.
 *
 * chain: START main > resume SWITCH_FIBERS
 * chain: ANY fiber (leaf_plain|leaf_saved|yield) SWITCH_FIBERS
 * chain: ANY fiber
 */
#include "target.h"

enum { STACK_BYTES = 64 * 1024, FIBERS = 2 };

void *make_fiber(void *stack_end, void (*function)(void));
void switch_fibers(void **from, void *to);

__asm__(".text\n"
	".p2align 4\n"
	".globl make_fiber\n"
	".type make_fiber, @function\n"
	"make_fiber:\n"
	"	lea -64(%rdi), %rax\n"
	"	mov %rsi, 32(%rax)\n"
	"	lea 1f(%rip), %r9\n"
	"	mov %r9, 48(%rax)\n"
	"	lea 2f(%rip), %r10\n"
	"	mov %r10, 40(%rax)\n"
	"	ret\n"
	"1:	push %rbp\n"
	"	jmp *%rbx\n"
	"2:	mov $3, %edi\n"
	"	call _exit@PLT\n"
	"	ud2\n"
	".size make_fiber, . - make_fiber\n"
	".p2align 4\n"
	".globl switch_fibers\n"
	".type switch_fibers, @function\n"
	"switch_fibers:\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	".size switch_fibers, . - switch_fibers\n");

static void *main_fiber, *fibers[FIBERS];
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
	switch_fibers(&fibers[running], main_fiber);
	NO_TAIL_CALL();
}

FRAME void fiber(void)
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
	switch_fibers(&main_fiber, fibers[number]);
	NO_TAIL_CALL();
}

int main(void)
{
	for (int i = 0; i < FIBERS; i++)
		fibers[i] = make_fiber((char *)aligned_alloc(64, STACK_BYTES) + STACK_BYTES, fiber);
	target_ready();
	for (;;)
		for (int i = 0; i < FIBERS; i++)
			resume(i);
}
