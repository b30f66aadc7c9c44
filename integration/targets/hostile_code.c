/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does to its own code in anonymous memory what a profiler would rather not see. The argument says what:
 *
 *	rewrite	other code all the time, of another size
 *	unmap	the code is each time in a mapping of its own, which is unmapped after a moment
 *	fault	behind the code, in its mapping, are pages that nobody fills, so that a read of them never ends (userfaultfd(2))
 *	fork	children with the parent's code, which they change
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "target.h"

enum {
	CODE_BYTES = 1 << 18,
	CALLS = 200,
	FRAME_MIN_BYTES = 8,
	FRAME_SIZES = 64,
	FRAME_MAX_BYTES = FRAME_MIN_BYTES + 16 * (FRAME_SIZES - 1),
};

static void *inside_decoy;

FRAME void leaf(void)
{
	work(1000);
}

FRAME void note_caller(void)
{
	inside_decoy = __builtin_return_address(0);
}

FRAME void decoy(void)
{
	note_caller();
	NO_TAIL_CALL();
}

static unsigned char *map_code(void)
{
	void *memory = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		abort();
	return memory;
}

/* sub $BYTES,%rsp; call *%rdi; add $BYTES,%rsp; ret, behind @turn nops; and much other code behind it. */
static void write_code(unsigned char *code, unsigned int turn)
{
	unsigned int frame_bytes = FRAME_MIN_BYTES + 16 * (turn % FRAME_SIZES);

	memset(code, 0x90, turn % 512);
	code += turn % 512;
	memcpy(code, (unsigned char[]){ 0x48, 0x81, 0xec }, 3);
	memcpy(code + 3, &frame_bytes, 4);
	memcpy(code + 7, (unsigned char[]){ 0xff, 0xd7, 0x48, 0x81, 0xc4 }, 5);
	memcpy(code + 12, &frame_bytes, 4);
	code[16] = 0xc3;
}

/* The frames are filled with return addresses, so that rows of other code lead to a stack that looks right, with decoy() in it. */
FRAME void run(unsigned char *code)
{
	void *volatile *sp;

	__asm__ volatile("mov %%rsp,%0" : "=r"(sp));
	for (int i = 0; i < CALLS; i++) {
		for (int word = 1; word <= FRAME_MAX_BYTES / 8 + 8; word++)
			sp[-word] = inside_decoy;
		((void (*)(void (*)(void)))code)(leaf);
	}
}

static void rewrite_for_ever(void)
{
	unsigned char *code = map_code();

	for (unsigned int turn = 0;; turn++) {
		for (unsigned int i = 1024; i < CODE_BYTES; i++)
			code[i] = (unsigned char)(i * 167 + turn);
		write_code(code, turn);
		run(code);
	}
}

static void unmap_for_ever(void)
{
	for (unsigned int turn = 0;; turn++) {
		unsigned char *code = map_code();

		write_code(code, turn);
		run(code);
		munmap(code, CODE_BYTES);
	}
}

static void fault_for_ever(void)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = { .api = UFFD_API };
	unsigned char *code = map_code();
	struct uffdio_register range = {
		.range = { (unsigned long)code, CODE_BYTES },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	madvise(code, CODE_BYTES, MADV_NOHUGEPAGE);
	write_code(code, 0);
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range)) {
		/* Without the right to do that there is nothing to see. */
		puts("no userfaultfd");
		fflush(stdout);
		exit(0);
	}
	target_ready();
	for (;;)
		run(code);
}

static void fork_for_ever(void)
{
	unsigned char *code = map_code();

	for (unsigned int turn = 0;; turn++) {
		pid_t child;

		write_code(code, turn);
		run(code);
		child = fork();
		if (child < 0)
			abort();
		if (!child) {
			for (unsigned int i = 0; i < 20; i++) {
				write_code(code, turn + i);
				run(code);
			}
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "rewrite";

	decoy();
	if (strcmp(kind, "fault") != 0)
		target_ready();
	if (!strcmp(kind, "rewrite"))
		rewrite_for_ever();
	if (!strcmp(kind, "unmap"))
		unmap_for_ever();
	if (!strcmp(kind, "fault"))
		fault_for_ever();
	fork_for_ever();
}
