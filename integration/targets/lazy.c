/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls through a procedure linkage table that the dynamic linker binds at each call, because the
 * program undoes the binding. In _dl_runtime_resolve the CFA is in rbx, which the functions that it
 * calls have saved.
 *
 * chain: START main > outer (@plt|plt_callee)
 * chain: START main outer LOADER{1,8}
 */
#include <link.h>
#include <string.h>

#include "target.h"

unsigned long plt_callee(unsigned long n);

/* The slot of the program's own table, and what it holds before it is bound. */
static void **slot;
static void *unbound;

FRAME unsigned long outer(unsigned long n)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < 16; i++) {
		*(void *volatile *)slot = unbound;
		sum += plt_callee(n);
	}
	return sum;
}

static void find_slot(void)
{
	const ElfW(Rela) *relocations = NULL;
	const ElfW(Sym) *symbols = NULL;
	const char *names = NULL;
	size_t bytes = 0;

	for (ElfW(Dyn) *entry = _DYNAMIC; entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_JMPREL)
			relocations = (const void *)entry->d_un.d_ptr;
		if (entry->d_tag == DT_PLTRELSZ)
			bytes = entry->d_un.d_val;
		if (entry->d_tag == DT_SYMTAB)
			symbols = (const void *)entry->d_un.d_ptr;
		if (entry->d_tag == DT_STRTAB)
			names = (const char *)entry->d_un.d_ptr;
	}
	for (size_t i = 0; i < bytes / sizeof(relocations[0]); i++) {
		const char *name = names + symbols[ELF64_R_SYM(relocations[i].r_info)].st_name;

		if (!strcmp(name, "plt_callee"))
			slot = (void **)relocations[i].r_offset;
	}
}

int main(void)
{
	volatile unsigned long sink = 0;

	find_slot();
	if (!slot)
		abort();
	unbound = *slot;
	target_ready();
	for (;;)
		sink += outer(sink);
}
