/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Shared by all targets. A target is a program whose call chains are known: each source declares
 * them in comments that integration/chains.py reads,
 *
 *	chain: START main > outer middle (leaf_one|leaf_two)
 *
 * root first, one regular expression per frame. A sampled stack may end at any frame after `>`.
 * START, THREAD and the like are the C library's part. A target prints "ready" when it is in the
 * state that the chains describe, and then runs until it is killed.
 */
#ifndef INTEGRATION_TARGETS_TARGET_H
#define INTEGRATION_TARGETS_TARGET_H

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

/* A separate frame under the name in the source: neither inlined nor cloned. */
#ifdef __clang__
#define FRAME __attribute__((noinline))
#else
#define FRAME __attribute__((noipa))
#endif

/* Used after a call, so that it does not become a jump. */
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

/* Makes the function save all callee-saved registers. */
#ifdef FRAME_POINTER
#define USE_SAVED_REGISTERS() __asm__ volatile("" ::: "rbx", "r12", "r13", "r14", "r15", "memory")
#else
#define USE_SAVED_REGISTERS()                                                                      \
	__asm__ volatile("" ::: "rbx", "rbp", "r12", "r13", "r14", "r15", "memory")
#endif

/* Some work that no compiler removes. */
static inline __attribute__((always_inline)) unsigned long work(unsigned long rounds)
{
	for (unsigned long i = 0; i < rounds; i++)
		__asm__ volatile("" : "+r"(i)::"memory");
	return rounds;
}

static inline __attribute__((always_inline)) void target_ready(void)
{
	static const char text[] = "ready\n";

	/* The target never outlives the test. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (write(1, text, sizeof(text) - 1) < 0)
		exit(1);
}

#endif
