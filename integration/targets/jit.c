/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code in anonymous memory that keeps frame pointers, as JIT compilers make it: jit_outer calls
 * jit_inner, which calls leaf(). The caller of the leaf is known; the callers above it are guessed, until the agent has
 * a copy of the code, which it makes of anonymous memory only. At the first and last instructions of a function its own frame
 * does not exist yet, or no longer.
 * With MODULE the memory is a private mapping of an ELF file without segments, as those that wasmtime compiles ahead of time.
 *
 * chain: START main(|_\[\?\]) ANON_OR_GUESS ANON > leaf
 * chain: START main(|_\[\?\]) ANON
 * chain: START main
 */
#include <elf.h>
#include <string.h>
#include <sys/mman.h>

#include "target.h"

FRAME unsigned long leaf(unsigned long n)
{
	return n + work(50);
}

/* push %rbp; mov %rsp,%rbp; sub $32,%rsp; movabs $CALLEE,%rax; call *%rax; leave; ret */
static unsigned char *put_function(unsigned char *start, const void *callee)
{
	static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20,
					      0x48, 0xb8, 0,	0,    0,    0,	  0,	0,
					      0,    0,	  0xff, 0xd0, 0xc9, 0xc3 };

	memcpy(start, code, sizeof(code));
	memcpy(start + 10, &callee, sizeof(callee));
	return start + 64;
}

#ifdef MODULE
static unsigned char *map_code(void)
{
	const Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_REL,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(header),
	};
	char path[] = "/tmp/allframes-module-XXXXXX";
	int fd = mkstemp(path);

	if (fd < 0 || unlink(path) || write(fd, &header, sizeof(header)) != sizeof(header) ||
	    ftruncate(fd, 2 * 4096))
		abort();
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE, fd, 4096);
}
#else
static unsigned char *map_code(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
}
#endif

int main(void)
{
	volatile unsigned long sink = 0;
	unsigned char *inner, *outer;

	inner = map_code();
	if (inner == MAP_FAILED)
		abort();
	outer = put_function(inner, (const void *)leaf);
	put_function(outer, inner);
	target_ready();
	for (;;)
		sink += ((unsigned long (*)(unsigned long))outer)(sink);
}
