/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/cpu_share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/base/clock.h"

#define BURST_NS (60 * NS_PER_SECOND)
enum { DIVISOR = 4 };

static void what_is_saved_up_can_be_spent_at_once(void **state)
{
	struct cpu_share share;

	(void)state;
	cpu_share_init(&share, BURST_NS, DIVISOR, NS_PER_SECOND);
	assert_int_equal(cpu_share_rest_ns(&share, NS_PER_SECOND), 0);
	cpu_share_spend(&share, BURST_NS - 1);
	assert_int_equal(cpu_share_rest_ns(&share, NS_PER_SECOND), 0);
}

static void after_that_work_waits_for_its_part_of_the_time(void **state)
{
	struct cpu_share share;
	uint64_t rest_ns;

	(void)state;
	cpu_share_init(&share, BURST_NS, DIVISOR, 0);
	cpu_share_spend(&share, BURST_NS + 10 * NS_PER_SECOND);
	rest_ns = cpu_share_rest_ns(&share, 0);
	assert_in_range(rest_ns, 40 * NS_PER_SECOND, 41 * NS_PER_SECOND);
	/* Half of the time has passed. */
	assert_in_range(cpu_share_rest_ns(&share, 20 * NS_PER_SECOND), 20 * NS_PER_SECOND,
			21 * NS_PER_SECOND);
	assert_int_equal(cpu_share_rest_ns(&share, rest_ns), 0);
}

static void no_more_is_saved_than_that(void **state)
{
	struct cpu_share share;

	(void)state;
	cpu_share_init(&share, BURST_NS, DIVISOR, 0);
	assert_int_equal(cpu_share_rest_ns(&share, 86400 * NS_PER_SECOND), 0);
	cpu_share_spend(&share, BURST_NS);
	assert_true(cpu_share_rest_ns(&share, 86400 * NS_PER_SECOND) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_saved_up_can_be_spent_at_once),
		cmocka_unit_test(after_that_work_waits_for_its_part_of_the_time),
		cmocka_unit_test(no_more_is_saved_than_that),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
