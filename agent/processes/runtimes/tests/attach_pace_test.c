/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "agent/processes/runtimes/attach_pace.h"
#include "lib/base/clock.h"

static void pauses_become_longer_up_to_a_minute(void **state)
{
	(void)state;
	assert_int_equal(attach_pace_pause_ns(0), 5 * NS_PER_MS);
	for (uint32_t i = 1; i < 100; i++)
		assert_true(attach_pace_pause_ns(i) >= attach_pace_pause_ns(i - 1));
	assert_int_equal(attach_pace_pause_ns(UINT32_MAX), 60 * NS_PER_SECOND);
}

static void a_process_whose_mappings_always_change_is_tried_ever_more_rarely(void **state)
{
	(void)state;
	assert_int_equal(attach_pace_least_ns(0), 50 * NS_PER_MS);
	assert_int_equal(attach_pace_least_ns(16), 100 * NS_PER_MS);
	assert_int_equal(attach_pace_least_ns(UINT32_MAX), 3200 * NS_PER_MS);
}

static void growth_is_looked_for_ever_more_rarely(void **state)
{
	(void)state;
	for (uint32_t i = 1; i < ATTACH_GROWTH_MAX; i++)
		assert_true(attach_pace_growth_ns(i) > attach_pace_growth_ns(i - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pauses_become_longer_up_to_a_minute),
		cmocka_unit_test(a_process_whose_mappings_always_change_is_tried_ever_more_rarely),
		cmocka_unit_test(growth_is_looked_for_ever_more_rarely),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
