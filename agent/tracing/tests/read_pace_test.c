/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tracing/read_pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/base/clock.h"

static void samples_may_wait_while_all_functions_are_named(void **state)
{
	struct read_pace pace = { 0 };

	(void)state;
	for (uint64_t i = 1; i < 100; i++)
		assert_int_equal(read_pace_interval(&pace, 0, i * 1000, i * NS_PER_SECOND),
				 READ_INTERVAL_MS);
}

static void one_function_in_many_samples_is_no_reason_to_hurry(void **state)
{
	struct read_pace pace = { 0 };

	(void)state;
	for (uint64_t i = 1; i < 100; i++)
		assert_int_equal(read_pace_interval(&pace, i, i * 1000, i * NS_PER_SECOND),
				 READ_INTERVAL_MS);
}

static void functions_that_are_gone_make_it_hurry_for_a_while(void **state)
{
	struct read_pace pace = { 0 };
	uint64_t now_ns = 1000 * NS_PER_SECOND;

	(void)state;
	assert_int_equal(read_pace_interval(&pace, 0, 1000, now_ns), READ_INTERVAL_MS);
	now_ns += 100 * NS_PER_MS;
	assert_int_equal(read_pace_interval(&pace, 30, 1100, now_ns), READ_HURRY_INTERVAL_MS);
	/* Earlier counts do not count any more, though fewer are missed now. */
	for (int i = 0; i < 99; i++) {
		now_ns += 100 * NS_PER_MS;
		assert_int_equal(read_pace_interval(&pace, 30, 2000, now_ns),
				 READ_HURRY_INTERVAL_MS);
	}
	now_ns += 100 * NS_PER_MS;
	assert_int_equal(read_pace_interval(&pace, 30, 2000, now_ns), READ_INTERVAL_MS);
}

static void a_few_samples_between_two_reads_are_no_measure(void **state)
{
	struct read_pace pace = { 0 };
	uint64_t now_ns = 1000 * NS_PER_SECOND;

	(void)state;
	read_pace_interval(&pace, 0, 1000, now_ns);
	/* Too early: the next look is at all that came until then. */
	assert_int_equal(read_pace_interval(&pace, 1, 1001, now_ns + NS_PER_MS), READ_INTERVAL_MS);
	assert_int_equal(read_pace_interval(&pace, 1, 1100, now_ns + 100 * NS_PER_MS),
			 READ_INTERVAL_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_may_wait_while_all_functions_are_named),
		cmocka_unit_test(one_function_in_many_samples_is_no_reason_to_hurry),
		cmocka_unit_test(functions_that_are_gone_make_it_hurry_for_a_while),
		cmocka_unit_test(a_few_samples_between_two_reads_are_no_measure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
