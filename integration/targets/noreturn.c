/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call that does not return is the last instruction of its function, so the return address on
 * the stack is the start of the next function.
 *
 * chain: START main > outer last_call forever leaf
 */
#include <stdbool.h>

#include "target.h"

static bool told;

/* Called from the end of last_call, it must find that its return address is decoy's. */
void forever(void) __attribute__((noreturn));
void last_call(void);
void decoy(void);

FRAME unsigned long leaf(void)
{
	return work(100);
}

__asm__(".text\n"
	".globl last_call\n"
	".type last_call, @function\n"
	"last_call:\n"
	"	.cfi_startproc\n"
	"	subq $24, %rsp\n"
	"	.cfi_adjust_cfa_offset 24\n"
	"	call forever\n"
	"	.cfi_endproc\n"
	".size last_call, . - last_call\n"
	".globl decoy\n"
	".type decoy, @function\n"
	"decoy:\n"
	"	.cfi_startproc\n"
	"	pushq %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	popq %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size decoy, . - decoy\n");

FRAME void forever(void)
{
	if (__builtin_return_address(0) != (void *)decoy)
		abort();
	if (!told)
		target_ready();
	told = true;
	for (;;)
		leaf();
}

FRAME void outer(void)
{
	last_call();
	NO_TAIL_CALL();
}

int main(void)
{
	outer();
	decoy();
	return 1;
}
