/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/missed_ticks.h"
#include "lib/base/clock.h"
#include "lib/host/tests/proc_fixture.h"

enum { RATE = 100 };

static struct missed_ticks split(uint64_t ticks, uint64_t runs, uint64_t idle_runs,
				 uint64_t idle_seconds, uint64_t stolen_seconds)
{
	const struct cpu_ticks cpu = { .ticks = ticks, .runs = runs, .idle_runs = idle_runs };
	const struct cpu_times times = { idle_seconds * NS_PER_SECOND,
					 stolen_seconds * NS_PER_SECOND };
	struct missed_ticks missed = { 0 };

	missed_ticks_add(&missed, &cpu, &times, RATE);
	return missed;
}

static void assert_split(struct missed_ticks missed, uint64_t idle, uint64_t stolen,
			 uint64_t skipped)
{
	assert_int_equal(missed.idle, idle);
	assert_int_equal(missed.stolen, stolen);
	assert_int_equal(missed.skipped, skipped);
}

static void a_tick_that_an_idle_cpu_kept_back_is_not_skipped(void **state)
{
	(void)state;
	/* Ten seconds, two of them busy; no idle tick ever came. */
	assert_split(split(1000, 200, 0, 8, 0), 800, 0, 0);
	/* The same, and the kernel skipped 50 busy ones. */
	assert_split(split(1000, 150, 0, 8, 0), 800, 0, 50);
}

static void a_tick_missing_on_a_cpu_whose_idle_ticks_came_was_skipped(void **state)
{
	(void)state;
	assert_split(split(1000, 900, 800, 8, 0), 0, 0, 100);
	assert_split(split(1000, 1000, 800, 8, 0), 0, 0, 0);
}

static void counts_that_do_not_fit_never_make_more_than_is_missing(void **state)
{
	(void)state;
	assert_split(split(1000, 990, 0, 10, 0), 10, 0, 0);
	assert_split(split(1000, 1002, 0, 10, 0), 0, 0, 0);
	assert_split(split(1000, 990, 995, 3, 0), 0, 0, 10);
}

static void a_tick_that_went_while_the_hypervisor_had_the_cpu_is_not_skipped(void **state)
{
	(void)state;
	/* Most of the ticks of stolen time come late, and none is missing for them. */
	assert_split(split(1000, 900, 0, 0, 4), 0, 100, 0);
	assert_split(split(1000, 900, 0, 0, 0), 0, 0, 100);
	/* Idle first; what neither can explain was skipped. */
	assert_split(split(1000, 300, 0, 5, 1), 500, 100, 100);
}

static uint64_t at_least(uint64_t ticks, uint64_t runs, uint64_t idle_runs, uint64_t idle_seconds,
			 uint64_t stolen_seconds)
{
	const struct cpu_ticks cpu = { .ticks = ticks, .runs = runs, .idle_runs = idle_runs };
	const struct cpu_times times = { idle_seconds * NS_PER_SECOND,
					 stolen_seconds * NS_PER_SECOND };

	return missed_ticks_skipped_at_least(&cpu, &times, RATE);
}

static void while_sampling_goes_on_only_ticks_that_nothing_else_explains_are_skipped(void **state)
{
	/* 20 ms and one tick each, for idle and stolen time. */
	const uint64_t margin = 2 * (20 / (1000 / RATE) + 1);

	(void)state;
	assert_int_equal(at_least(1000, 1000, 800, 8, 0), 0);
	assert_int_equal(at_least(1000, 1000 - margin, 800, 8, 0), 0);
	assert_int_equal(at_least(1000, 900, 800, 8, 0), 100 - margin);
	assert_int_equal(at_least(1000, 150, 0, 8, 0), 50 - margin);
	assert_int_equal(at_least(1000, 200, 0, 5, 3), 0);
	assert_int_equal(at_least(1000, 1002, 0, 8, 0), 0);
	/* The count so far is never greater than the final one, which the same counts give. */
	for (uint64_t runs = 0; runs <= 1000; runs += 50)
		for (uint64_t idle = 0; idle <= runs; idle += 50)
			assert_true(at_least(1000, runs, idle, 4, 1) <=
				    split(1000, runs, idle, 4, 1).skipped);
}

static void ticks_that_were_counted_as_skipped_stay_that(void **state)
{
	struct missed_ticks missed = { .idle = 5, .stolen = 3, .skipped = 10 };

	(void)state;
	missed_ticks_keep_skipped(&missed, 9);
	assert_split(missed, 5, 3, 10);
	missed_ticks_keep_skipped(&missed, 13);
	assert_split(missed, 2, 3, 13);
	missed_ticks_keep_skipped(&missed, 17);
	assert_split(missed, 0, 1, 17);
	missed_ticks_keep_skipped(&missed, 100);
	assert_split(missed, 0, 0, 18);
}

static void assert_times(const struct cpu_times *times, uint64_t idle, uint64_t stolen)
{
	uint64_t clock_tick_ns = NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK);

	assert_int_equal(times->idle_ns, idle * clock_tick_ns);
	assert_int_equal(times->stolen_ns, stolen * clock_tick_ns);
}

static void the_clock_counts_time_between_start_and_stop_only(void **state)
{
	char folder[] = "/tmp/missed_ticks_test_XXXXXX";
	struct cpu_times totals[3];
	struct tick_clock clock;

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(tick_clock_init(&clock, folder, 3), 0);
	write_fake_file(folder, "stat", "cpu0 0 0 0 100 0 0 0 10\ncpu1 0 0 0 100 0 0 0 10\n");
	assert_int_equal(tick_clock_start(&clock), 0);
	/* CPU 1 goes, CPU 2 comes. */
	write_fake_file(folder, "stat", "cpu0 0 0 0 200 0 0 0 20\ncpu2 0 0 0 700 0 0 0 70\n");
	assert_int_equal(tick_clock_stop(&clock), 0);
	write_fake_file(folder, "stat", "cpu0 0 0 0 500 0 0 0 50\ncpu2 0 0 0 800 0 0 0 80\n");
	assert_int_equal(tick_clock_start(&clock), 0);
	write_fake_file(folder, "stat", "cpu0 0 0 0 550 0 0 0 52\ncpu2 0 0 0 810 0 0 0 80\n");
	assert_int_equal(tick_clock_read(&clock, totals), 0);
	assert_times(&totals[0], 150, 12);
	assert_times(&totals[1], 0, 0);
	assert_times(&totals[2], 10, 0);
	write_fake_file(folder, "stat", "cpu0 0 0 0 600 0 0 0 60\ncpu2 0 0 0 900 0 0 0 90\n");
	assert_int_equal(tick_clock_stop(&clock), 0);
	/* A second stop adds nothing. */
	write_fake_file(folder, "stat", "cpu0 0 0 0 900 0 0 0 90\ncpu2 0 0 0 950 0 0 0 95\n");
	assert_int_equal(tick_clock_stop(&clock), 0);
	assert_times(&clock.total[0], 200, 20);
	assert_times(&clock.total[1], 0, 0);
	assert_times(&clock.total[2], 100, 10);
	tick_clock_deinit(&clock);
	remove_folder(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tick_that_an_idle_cpu_kept_back_is_not_skipped),
		cmocka_unit_test(a_tick_missing_on_a_cpu_whose_idle_ticks_came_was_skipped),
		cmocka_unit_test(a_tick_that_went_while_the_hypervisor_had_the_cpu_is_not_skipped),
		cmocka_unit_test(counts_that_do_not_fit_never_make_more_than_is_missing),
		cmocka_unit_test(
			while_sampling_goes_on_only_ticks_that_nothing_else_explains_are_skipped),
		cmocka_unit_test(ticks_that_were_counted_as_skipped_stay_that),
		cmocka_unit_test(the_clock_counts_time_between_start_and_stop_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
