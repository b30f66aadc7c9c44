/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/summary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static void assert_line(const struct run_summary *summary, const char *expected)
{
	struct text_builder text = { 0 };

	run_summary_append(summary, &text);
	assert_string_equal(text_builder_text(&text), expected);
	text_builder_deinit(&text);
}

static void the_line_tells_what_was_sampled_and_how_well(void **state)
{
	struct run_summary summary = {
		.samples = {
			.samples = 2000,
			.complete = 1980,
			.known_user = 1600,
			.known_user_complete = 1592,
			.guesses = 2,
			.before_known = 50,
		},
		.idle = 7900,
		.unselected = 90,
		.lost_ring_full = 1,
		.lost_skipped = 7,
		.lost_dropped = 2,
	};

	(void)state;
	summary.samples.errors[UNWIND_NO_INFO] = 15;
	summary.samples.errors[UNWIND_TRUNCATED] = 3;
	assert_line(
		&summary,
		"2000 busy samples, idle 79.0%, lost 10 (0.10%: ring full 1, skipped "
		"by the kernel 7, dropped 2), not selected 90, ticks in all 10000, complete 99.00% (user "
		"stacks of known processes 99.50%), guesses 0.10%, errors 0.90% (no "
		"unwind information 15, truncated 3), from before the process was "
		"known 2.50%");
}

static void a_run_without_samples_divides_by_nothing(void **state)
{
	struct run_summary summary = { 0 };

	(void)state;
	assert_line(
		&summary,
		"0 busy samples, idle 0.0%, lost 0 (0.00%: ring full 0, skipped by "
		"the kernel 0, dropped 0), not selected 0, ticks in all 0, complete 0.00% (user "
		"stacks of known processes 0.00%), guesses 0.00%, errors 0.00%, from "
		"before the process was known 0.00%");
}

static void the_numbers_come_from_the_totals_and_the_metrics(void **state)
{
	struct metrics_snapshot metrics = { 0 };
	struct sample_totals totals = { .samples = 10 };
	struct run_summary summary;

	(void)state;
	metrics.values[COUNTER_IDLE] = 1;
	metrics.values[COUNTER_UNSELECTED] = 2;
	metrics.values[COUNTER_LOST_RING_FULL] = 4;
	metrics.values[METRIC_SAMPLES_SKIPPED] = 8;
	metrics.values[METRIC_TICKS_STOLEN] = 64;
	metrics.values[METRIC_SAMPLES_DROPPED] = 16;
	metrics.values[METRIC_SAMPLES_MALFORMED] = 32;
	metrics.values[METRIC_SAMPLES_UNSENT] = 128;
	metrics.values[METRIC_SAMPLES_UNREAD] = 256;
	metrics.values[METRIC_SAMPLES_UNSTORED] = 3;
	run_summary_collect(&summary, &totals, &metrics);
	assert_int_equal(summary.samples.samples, 10);
	assert_int_equal(summary.idle, 1);
	assert_int_equal(summary.unselected, 2);
	assert_int_equal(summary.stolen, 64);
	assert_int_equal(summary.lost_ring_full, 4);
	assert_int_equal(summary.lost_skipped, 8);
	assert_int_equal(summary.lost_dropped, 16 + 32 + 128 + 256);
	assert_int_equal(summary.unstored, 3);
	assert_int_equal(run_summary_ticks(&summary),
			 10 + 1 + 2 + 4 + 8 + 64 + 16 + 32 + 128 + 256);
}

static void samples_that_no_store_had_room_for_are_busy_samples_and_not_lost(void **state)
{
	struct run_summary summary = {
		.samples.samples = 500,
		.idle = 490,
		.lost_dropped = 10,
		.unstored = 100,
	};
	struct text_builder text = { 0 };

	(void)state;
	run_summary_append(&summary, &text);
	assert_non_null(
		strstr(text_builder_text(&text), "500 busy samples, idle 49.0%, lost 10 (1.00%: "));
	assert_non_null(strstr(text_builder_text(&text), "ticks in all 1000, "));
	assert_non_null(strstr(text_builder_text(&text), ", in no file for want of memory 100"));
	text_builder_deinit(&text);
}

static void ticks_that_a_hypervisor_took_are_told_where_there_are_any(void **state)
{
	struct run_summary summary = { .samples.samples = 500, .idle = 400, .stolen = 100 };
	struct text_builder text = { 0 };

	(void)state;
	run_summary_append(&summary, &text);
	assert_non_null(strstr(text_builder_text(&text), "500 busy samples, idle 40.0%, lost 0 "));
	assert_non_null(
		strstr(text_builder_text(&text),
		       "not selected 0, taken by the hypervisor 100, ticks in all 1000, complete"));
	text_builder_deinit(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_line_tells_what_was_sampled_and_how_well),
		cmocka_unit_test(a_run_without_samples_divides_by_nothing),
		cmocka_unit_test(the_numbers_come_from_the_totals_and_the_metrics),
		cmocka_unit_test(samples_that_no_store_had_room_for_are_busy_samples_and_not_lost),
		cmocka_unit_test(ticks_that_a_hypervisor_took_are_told_where_there_are_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
