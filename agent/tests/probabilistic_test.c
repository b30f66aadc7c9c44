// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/probabilistic.h"
#include "lib/base/clock.h"

static uint32_t count_on(uint32_t threshold, uint64_t seed, uint32_t interval_count)
{
	struct probabilistic probabilistic;
	uint64_t now_ns = 12345;
	uint32_t on_count = 0;

	probabilistic_init(&probabilistic, threshold, NS_PER_SECOND, &seed);
	for (uint32_t i = 0; i < interval_count; i++, now_ns += NS_PER_SECOND) {
		probabilistic_tick(&probabilistic, now_ns);
		on_count += probabilistic.is_on;
	}
	return on_count;
}

static void share_of_intervals_equals_the_threshold(void **state)
{
	enum { INTERVALS = 10000 };

	(void)state;
	for (uint32_t threshold = 1; threshold <= 100; threshold += 9) {
		double share = threshold / 100.0;
		double sigma = sqrt(INTERVALS * share * (1 - share));
		double difference =
			count_on(threshold, 7 + threshold, INTERVALS) - INTERVALS * share;

		assert_true(fabs(difference) <= 4 * sigma);
	}
}

static void threshold_100_is_always_on(void **state)
{
	(void)state;
	assert_int_equal(count_on(100, 1, 1000), 1000);
}

static void the_same_seed_gives_the_same_draws(void **state)
{
	const uint64_t seed = 42;
	struct probabilistic a, b;

	(void)state;
	probabilistic_init(&a, 50, NS_PER_SECOND, &seed);
	probabilistic_init(&b, 50, NS_PER_SECOND, &seed);
	for (uint64_t now_ns = 1; now_ns < 200 * NS_PER_SECOND; now_ns += NS_PER_SECOND) {
		assert_int_equal(probabilistic_tick(&a, now_ns), probabilistic_tick(&b, now_ns));
		assert_int_equal(a.is_on, b.is_on);
	}
}

static void only_the_end_of_an_interval_draws(void **state)
{
	const uint64_t seed = 3;
	struct probabilistic probabilistic;
	uint64_t random_state;

	(void)state;
	probabilistic_init(&probabilistic, 50, 10, &seed);
	assert_true(probabilistic_tick(&probabilistic, 100));
	random_state = probabilistic.random_state;
	assert_false(probabilistic_tick(&probabilistic, 109));
	assert_true(probabilistic.random_state == random_state);
	probabilistic_tick(&probabilistic, 110);
	assert_true(probabilistic.random_state != random_state);
}

static void a_pause_draws_once_and_keeps_the_phase(void **state)
{
	const uint64_t seed = 3;
	struct probabilistic probabilistic;

	(void)state;
	probabilistic_init(&probabilistic, 50, 10, &seed);
	probabilistic_tick(&probabilistic, 100);
	probabilistic_tick(&probabilistic, 157);
	assert_int_equal(probabilistic.next_draw_ns, 160);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(share_of_intervals_equals_the_threshold),
		cmocka_unit_test(threshold_100_is_always_on),
		cmocka_unit_test(the_same_seed_gives_the_same_draws),
		cmocka_unit_test(only_the_end_of_an_interval_draws),
		cmocka_unit_test(a_pause_draws_once_and_keeps_the_phase),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
