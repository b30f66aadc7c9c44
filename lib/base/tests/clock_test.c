/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <time.h>

static void monotonic_time_does_not_go_back(void **state)
{
	uint64_t before = clock_monotonic_ns();

	(void)state;
	assert_true(before > 0);
	assert_true(clock_monotonic_ns() >= before);
}

static void realtime_is_the_system_s(void **state)
{
	uint64_t seconds = clock_realtime_ns() / NS_PER_SECOND;
	uint64_t now = (uint64_t)time(NULL);

	(void)state;
	assert_in_range(seconds, now - 2, now + 2);
}

static void the_offset_leads_from_one_clock_to_the_other(void **state)
{
	uint64_t before_ns = clock_realtime_ns();
	uint64_t now_ns = clock_monotonic_ns() + (uint64_t)clock_realtime_offset_ns();

	(void)state;
	assert_in_range(now_ns, before_ns - NS_PER_MS, clock_realtime_ns() + NS_PER_MS);
}

static void cpu_time_stands_while_the_thread_sleeps(void **state)
{
	const struct timespec pause = { .tv_nsec = 100 * NS_PER_MS };
	uint64_t before = clock_thread_cpu_ns(), slept;

	(void)state;
	nanosleep(&pause, NULL);
	slept = clock_thread_cpu_ns();
	assert_in_range(slept - before, 1, 50 * NS_PER_MS);
	while (clock_thread_cpu_ns() == slept)
		;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(monotonic_time_does_not_go_back),
		cmocka_unit_test(realtime_is_the_system_s),
		cmocka_unit_test(the_offset_leads_from_one_clock_to_the_other),
		cmocka_unit_test(cpu_time_stands_while_the_thread_sleeps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
