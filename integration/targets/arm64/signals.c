/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signal handlers, on the stack that was interrupted and on one of their own. They return through
 * trampolines as the kernel's vDSO has one, with its unwind information, and without any.
 *
 * chain: START main > spin leaf
 * chain: START main > ready? __libc_write
 * chain: START main (spin|ready)? (leaf|__libc_write)? \w*trampoline > handler leaf
 * chain: START main ANY{0,2} \w*trampoline handler? leaf? \w*trampoline > handler leaf
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "ready.h"

#define NOINLINE __attribute__((noinline, noclone))

static volatile unsigned total;

static NOINLINE unsigned leaf(unsigned value)
{
	for (int i = 0; i < 2000; i++)
		value = value * 1103515245 + 12345;
	return value;
}

static NOINLINE void handler(int number)
{
	for (int i = 0; i < 1000; i++)
		total += leaf(number + i);
}

static NOINLINE unsigned spin(unsigned value)
{
	for (int i = 0; i < 1000; i++)
		value += leaf(value);
	return value;
}

/* From arch/arm64/kernel/vdso/sigreturn.S; the address before the code belongs to it as well. */
__asm__(".text\n"
	".balign 4\n"
	".cfi_startproc\n"
	".cfi_signal_frame\n"
	".cfi_def_cfa x29, 0\n"
	".cfi_offset x29, 0\n"
	".cfi_offset x30, 8\n"
	"nop\n"
	".globl trampoline\n"
	".type trampoline, %function\n"
	"trampoline: mov x8, #139\n"
	"svc #0\n"
	".size trampoline, . - trampoline\n"
	".cfi_endproc\n"
	"nop\n"
	".globl bare_trampoline\n"
	".type bare_trampoline, %function\n"
	"bare_trampoline: mov x8, #139\n"
	"svc #0\n"
	".size bare_trampoline, . - bare_trampoline\n");

void trampoline(void);
void bare_trampoline(void);

/* The C library has no way to choose the trampoline. */
static void handle(int number, unsigned long flags, void (*restorer)(void))
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		unsigned long mask;
	} action = { handler, flags | 0x04000000, restorer, 0 };

	syscall(SYS_rt_sigaction, number, &action, NULL, sizeof(action.mask));
}

int main(int argc, char **argv)
{
	stack_t stack = { .ss_sp = malloc(1 << 17), .ss_size = 1 << 17 };
	struct itimerval interval = { .it_interval.tv_usec = 10000, .it_value.tv_usec = 10000 };

	sigaltstack(&stack, NULL);
	handle(SIGALRM, SA_ONSTACK | SA_RESTART, trampoline);
	handle(SIGVTALRM, SA_RESTART, bare_trampoline);
	setitimer(ITIMER_REAL, &interval, NULL);
	setitimer(ITIMER_VIRTUAL, &interval, NULL);
	ready(argv[1]);
	for (;;)
		total += spin(argc);
}
