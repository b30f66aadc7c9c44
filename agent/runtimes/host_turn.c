/* SPDX-License-Identifier: Apache-2.0 */
/* Uses futexes and not semaphores: the C library aborts a process if a semaphore's memory is malformed. */
#include "agent/runtimes/host_turn.h"

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"

_Static_assert(sizeof(struct host_turn) == 64, "a cache line");

static void wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Waits until *@word differs from @value, a wake-up comes, or the time is over. */
static void wait_while(uint32_t *word, uint32_t value, const struct timespec *max)
{
	syscall(SYS_futex, word, FUTEX_WAIT, value, max, NULL, 0);
}

void host_turn_ask(struct host_turn *turn, uint32_t number)
{
	__atomic_store_n(&turn->asked, number, __ATOMIC_RELEASE);
	wake(&turn->asked);
}

bool host_turn_wait(struct host_turn *turn, uint32_t number, uint64_t max_ns)
{
	uint64_t end_ns = clock_monotonic_ns() + max_ns, now_ns = end_ns - max_ns;
	uint32_t answered;

	while ((answered = __atomic_load_n(&turn->answered, __ATOMIC_ACQUIRE)) != number) {
		struct timespec left = clock_timespec(end_ns - now_ns);

		wait_while(&turn->answered, answered, &left);
		now_ns = clock_monotonic_ns();
		if (now_ns >= end_ns)
			return __atomic_load_n(&turn->answered, __ATOMIC_ACQUIRE) == number;
	}
	return true;
}

/* Answering and giving up both change `answered`, so exactly one of them comes first. */
static bool settle(struct host_turn *turn, uint32_t number, uint32_t answered)
{
	uint32_t last = number - 1;

	return __atomic_compare_exchange_n(&turn->answered, &last, answered, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

bool host_turn_leave(struct host_turn *turn, uint32_t number)
{
	return settle(turn, number, number + 1);
}

uint32_t host_turn_take(struct host_turn *turn)
{
	uint32_t last = __atomic_load_n(&turn->answered, __ATOMIC_RELAXED), asked;

	while ((asked = __atomic_load_n(&turn->asked, __ATOMIC_ACQUIRE)) == last)
		wait_while(&turn->asked, last, NULL);
	return asked;
}

bool host_turn_answer(struct host_turn *turn, uint32_t number)
{
	if (!settle(turn, number, number))
		return false;
	wake(&turn->answered);
	return true;
}
