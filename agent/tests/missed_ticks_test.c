/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/base/clock.h"
#include "agent/host/tests/proc_fixture.h"
#include "agent/missed_ticks.h"

enum { RATE = 100 };

static struct missed_ticks split(uint64_t ticks, uint64_t runs, uint64_t idle_runs,
				 uint64_t idle_seconds)
{
	const struct cpu_ticks cpu = { .ticks = ticks, .runs = runs, .idle_runs = idle_runs };
	struct missed_ticks missed = { 0 };

	missed_ticks_add(&missed, &cpu, idle_seconds * NS_PER_SECOND, RATE);
	return missed;
}

static void assert_split(struct missed_ticks missed, uint64_t idle, uint64_t skipped)
{
	assert_int_equal(missed.idle, idle);
	assert_int_equal(missed.skipped, skipped);
}

static void a_tick_that_an_idle_cpu_kept_back_is_not_skipped(void **state)
{
	(void)state;
	/* Ten seconds, two of them busy; no idle tick ever came. */
	assert_split(split(1000, 200, 0, 8), 800, 0);
	/* The same, and the kernel skipped 50 busy ones. */
	assert_split(split(1000, 150, 0, 8), 800, 50);
}

static void a_tick_missing_on_a_cpu_whose_idle_ticks_came_was_skipped(void **state)
{
	(void)state;
	assert_split(split(1000, 900, 800, 8), 0, 100);
	assert_split(split(1000, 1000, 800, 8), 0, 0);
}

static void counts_that_do_not_fit_never_make_more_than_is_missing(void **state)
{
	(void)state;
	assert_split(split(1000, 990, 0, 10), 10, 0);
	assert_split(split(1000, 1002, 0, 10), 0, 0);
	assert_split(split(1000, 990, 995, 3), 0, 10);
}

static void the_clock_counts_idle_time_between_start_and_stop_only(void **state)
{
	char folder[] = "/tmp/missed_ticks_test_XXXXXX";
	struct idle_clock clock;

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(idle_clock_init(&clock, folder, 3), 0);
	write_fake_file(folder, "stat", "cpu0 0 0 0 100 0\ncpu1 0 0 0 100 0\n");
	assert_int_equal(idle_clock_start(&clock), 0);
	/* CPU 1 goes, CPU 2 comes. */
	write_fake_file(folder, "stat", "cpu0 0 0 0 200 0\ncpu2 0 0 0 700 0\n");
	assert_int_equal(idle_clock_stop(&clock), 0);
	write_fake_file(folder, "stat", "cpu0 0 0 0 500 0\ncpu2 0 0 0 800 0\n");
	assert_int_equal(idle_clock_start(&clock), 0);
	write_fake_file(folder, "stat", "cpu0 0 0 0 600 0\ncpu2 0 0 0 900 0\n");
	assert_int_equal(idle_clock_stop(&clock), 0);
	/* A second stop adds nothing. */
	write_fake_file(folder, "stat", "cpu0 0 0 0 900 0\ncpu2 0 0 0 950 0\n");
	assert_int_equal(idle_clock_stop(&clock), 0);
	assert_int_equal(clock.idle_ns[0], 200 * (NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK)));
	assert_int_equal(clock.idle_ns[1], 0);
	assert_int_equal(clock.idle_ns[2], 100 * (NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK)));
	idle_clock_deinit(&clock);
	remove_folder(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tick_that_an_idle_cpu_kept_back_is_not_skipped),
		cmocka_unit_test(a_tick_missing_on_a_cpu_whose_idle_ticks_came_was_skipped),
		cmocka_unit_test(counts_that_do_not_fit_never_make_more_than_is_missing),
		cmocka_unit_test(the_clock_counts_idle_time_between_start_and_stop_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
