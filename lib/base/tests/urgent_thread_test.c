/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "lib/base/urgent_thread.h"

#define SHARE_NS (URGENT_PERIOD_NS / 100 * URGENT_PERCENT)

static void beyond_its_share_it_waits_for_the_next_period(void **state)
{
	struct urgent_thread thread = { 0 };
	uint64_t now_ns = 12345, cpu_ns = 777;

	(void)state;
	assert_true(urgent_thread_decide(&thread, now_ns, cpu_ns));
	assert_true(urgent_thread_decide(&thread, now_ns + 1, cpu_ns + SHARE_NS - 1));
	assert_false(urgent_thread_decide(&thread, now_ns + 2, cpu_ns + SHARE_NS));
	assert_false(urgent_thread_decide(&thread, now_ns + URGENT_PERIOD_NS - 1,
					  cpu_ns + 2 * SHARE_NS));
	assert_true(urgent_thread_decide(&thread, now_ns + URGENT_PERIOD_NS + 1,
					 cpu_ns + 2 * SHARE_NS));
	assert_false(urgent_thread_decide(&thread, now_ns + URGENT_PERIOD_NS + 2,
					  cpu_ns + 3 * SHARE_NS));
}

static void whatever_it_does_it_is_real_time_for_its_share_at_most(void **state)
{
	struct urgent_thread thread = { 0 };
	const uint64_t step_ns = 100000;
	uint64_t cpu_ns = 0, realtime_ns = 0;

	(void)state;
	/* It never rests. */
	for (uint64_t now_ns = 0; now_ns < 100 * URGENT_PERIOD_NS; now_ns += step_ns) {
		if (urgent_thread_decide(&thread, now_ns, cpu_ns))
			realtime_ns += step_ns;
		cpu_ns += step_ns;
	}
	assert_true(realtime_ns <= 100 * (SHARE_NS + step_ns));
	assert_true(realtime_ns >= 100 * (SHARE_NS - step_ns));
}

static void a_long_turn_is_paid_back(void **state)
{
	struct urgent_thread thread = { 0 };
	uint64_t cpu_ns = 10 * SHARE_NS, now_ns = 7 * URGENT_PERIOD_NS;

	(void)state;
	assert_true(urgent_thread_decide(&thread, now_ns, 0));
	assert_false(urgent_thread_decide(&thread, now_ns + 1, cpu_ns));
	for (int i = 1; i < 10; i++)
		assert_false(urgent_thread_decide(&thread, now_ns + i * URGENT_PERIOD_NS, cpu_ns));
	assert_true(urgent_thread_decide(&thread, now_ns + 1 + 10 * URGENT_PERIOD_NS, cpu_ns));
	/* Nothing is saved up. */
	now_ns += 1000 * URGENT_PERIOD_NS;
	assert_true(urgent_thread_decide(&thread, now_ns, cpu_ns));
	assert_false(urgent_thread_decide(&thread, now_ns + 1, cpu_ns + SHARE_NS));
}

static int own_policy(void)
{
	return sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
}

static void *use_it_up(void *context)
{
	struct urgent_thread thread;
	uint64_t used_ns;

	(void)context;
	urgent_thread_init(&thread, 0);
	if (!thread.is_allowed) {
		assert_int_equal(own_policy(), SCHED_OTHER);
		urgent_thread_tick(&thread);
		assert_int_equal(own_policy(), SCHED_OTHER);
		return NULL;
	}
	assert_int_equal(own_policy(), SCHED_RR);
	thread.used_ns = 100 * SHARE_NS;
	urgent_thread_tick(&thread);
	assert_int_equal(own_policy(), SCHED_OTHER);
	thread.period_start_ns = 0;
	urgent_thread_tick(&thread);
	assert_int_equal(own_policy(), SCHED_RR);
	urgent_thread_rest(&thread);
	assert_int_equal(own_policy(), SCHED_OTHER);
	used_ns = thread.used_ns;
	thread.last_cpu_ns = 0;
	urgent_thread_tick(&thread);
	/* CPU time that it used while it rested does not count. */
	assert_true(thread.used_ns <= used_ns);
	assert_int_equal(own_policy(), SCHED_RR);
	return NULL;
}

static void the_kernel_is_asked_when_the_share_is_used_up_and_when_it_is_back(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, use_it_up, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(own_policy(), SCHED_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(beyond_its_share_it_waits_for_the_next_period),
		cmocka_unit_test(a_long_turn_is_paid_back),
		cmocka_unit_test(whatever_it_does_it_is_real_time_for_its_share_at_most),
		cmocka_unit_test(the_kernel_is_asked_when_the_share_is_used_up_and_when_it_is_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
