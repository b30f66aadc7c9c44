/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes two functions in turn to one address in anonymous memory, and calls the one that is there. They have no frame pointer,
 * and differ only in the size of their frames, at their first and last instructions: what they call is in a page of its own.
 * through_small() calls the one with the small frame, which calls leaf_small(); through_large() and
 * leaf_large() belong to the other one. The large frame is filled with return addresses into through_small(), so that
 * rows of the other function lead to a stack that looks right.
 *
 * The functions take turns at each call for a while, and stay for a while.
 */
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "target.h"

enum {
	SMALL_BYTES = 40,
	LARGE_BYTES = 40 + 64 * 8,
	/* Behind the first instruction, so that the call is two pages of 256 bytes away. */
	PADDING_BYTES = 700,
	WORK_ROUNDS = 3000,
	CALLS = 50,
};

static unsigned char *code;
static void *inside_small;

FRAME void leaf_small(void)
{
	work(WORK_ROUNDS);
}

FRAME void leaf_large(void)
{
	work(WORK_ROUNDS);
}

FRAME void note_caller(void)
{
	inside_small = __builtin_return_address(0);
}

FRAME void through_small(void)
{
	note_caller();
	((void (*)(void (*)(void)))code)(leaf_small);
	NO_TAIL_CALL();
}

FRAME void through_large(void)
{
	void *volatile *sp;

	/* Leaves such return addresses below the stack pointer, from the slot of the call's own one on. */
	__asm__ volatile("mov %%rsp,%0" : "=r"(sp));
	for (int i = 1; i <= LARGE_BYTES / 8 + 8; i++)
		sp[-i] = inside_small;
	((void (*)(void (*)(void)))code)(leaf_large);
	NO_TAIL_CALL();
}

/* sub $BYTES,%rsp; nop ...; call *%rdi; nop ...; add $BYTES,%rsp; ret */
FRAME void write_code(unsigned int frame_bytes)
{
	static const unsigned char begin[] = { 0x48, 0x81, 0xec }, call[] = { 0xff, 0xd7 },
				   end[] = { 0x48, 0x81, 0xc4 };
	unsigned char *at = code;

	at = mempcpy(at, begin, sizeof(begin));
	at = mempcpy(at, &frame_bytes, sizeof(frame_bytes));
	memset(at, 0x90, PADDING_BYTES);
	at = mempcpy(at + PADDING_BYTES, call, sizeof(call));
	memset(at, 0x90, PADDING_BYTES);
	at = mempcpy(at + PADDING_BYTES, end, sizeof(end));
	at = mempcpy(at, &frame_bytes, sizeof(frame_bytes));
	*at = 0xc3;
}

static unsigned long cpu_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void run_small(int count)
{
	write_code(SMALL_BYTES);
	for (int i = 0; i < count; i++)
		through_small();
}

static void run_large(int count)
{
	write_code(LARGE_BYTES);
	for (int i = 0; i < count; i++)
		through_large();
}

int main(void)
{
	code = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	if (code == MAP_FAILED)
		abort();
	/* The first instruction is the last one of its page. */
	code += 256 - 7;
	target_ready();
	for (;;) {
		unsigned long now_ms = cpu_ms();

		while (cpu_ms() < now_ms + 100)
			run_small(CALLS);
		while (cpu_ms() < now_ms + 200)
			run_large(CALLS);
		while (cpu_ms() < now_ms + 400)
			for (int i = 0; i < CALLS; i++) {
				run_small(1);
				run_large(1);
			}
	}
}
