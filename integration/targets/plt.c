/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls through a procedure linkage table that is never bound: the slot always leads to the stub's
 * second half, which pushes the relocation's number and jumps to PLT0. There the dynamic linker's
 * resolver is replaced by one that jumps directly to the function, so that most samples are in the
 * stub and after its pushes.
 *
 * chain: START main > outer (@plt|resolver|plt_callee)
 */
#include <dlfcn.h>
#include <link.h>

#include "target.h"

unsigned long plt_callee(unsigned long n);
void resolver(void);

void *callee_address;

/* Entered by PLT0 with two words above the return address. */
__asm__(".text\n"
	".globl resolver\n"
	".type resolver, @function\n"
	"resolver:\n"
	"	.cfi_startproc\n"
	"	.cfi_def_cfa_offset 24\n"
	"	movl $4, %eax\n"
	"1:	decl %eax\n"
	"	jnz 1b\n"
	"	addq $16, %rsp\n"
	"	.cfi_def_cfa_offset 8\n"
	"	movq callee_address@GOTPCREL(%rip), %rax\n"
	"	jmp *(%rax)\n"
	"	.cfi_endproc\n"
	".size resolver, . - resolver\n");

FRAME unsigned long outer(unsigned long n)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < 16; i++)
		sum += plt_callee(n);
	return sum;
}

static void replace_resolver(void)
{
	for (ElfW(Dyn) *entry = _DYNAMIC; entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_PLTGOT)
			((void **)entry->d_un.d_ptr)[2] = (void *)resolver;
}

int main(void)
{
	volatile unsigned long sink = 0;

	callee_address = dlsym(RTLD_DEFAULT, "plt_callee");
	target_ready();
	if (!callee_address)
		abort();
	replace_resolver();
	for (;;)
		sink += outer(sink);
}
