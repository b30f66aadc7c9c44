// SPDX-License-Identifier: Apache-2.0
/* Makes new stacks for ever: calls 24 functions deep on one of 8^24 paths, is busy there for a moment, and repeats. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>

enum { DEPTH = 24, ROUNDS = 100000 };

static uint64_t state = 1;

/* splitmix64 */
static uint64_t next_random(void)
{
	uint64_t z = (state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static unsigned long path(unsigned long depth);

#define STEP(number)                                                                               \
	__attribute__((noipa)) static unsigned long step_##number(unsigned long depth)             \
	{                                                                                          \
		return path(depth) + number;                                                       \
	}

STEP(0)
STEP(1)
STEP(2)
STEP(3)
STEP(4)
STEP(5)
STEP(6)
STEP(7)

__attribute__((noipa)) static unsigned long path(unsigned long depth)
{
	static unsigned long (*const steps[])(unsigned long) = { step_0, step_1, step_2, step_3,
								 step_4, step_5, step_6, step_7 };

	if (depth == DEPTH) {
		for (unsigned long i = 0; i < ROUNDS; i++)
			__asm__ volatile("" : "+r"(depth));
		return depth;
	}
	return steps[next_random() % 8](depth + 1) + 1;
}

int main(void)
{
	volatile unsigned long sink = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	printf("ready\n");
	fflush(stdout);
	for (;;)
		sink += path(0);
}
