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
		"2000 samples (21 % busy), 10 lost (0.10 %: ring full 1, skipped by the kernel 7, "
		"dropped 2), 90 not selected, 99.00 % of the stacks complete (user stacks of known "
		"processes 99.50 %), guesses 0.10 %, errors 0.90 % (no unwind information 15, truncated "
		"3), from before the process was known 2.50 %");
}

static void zeros_are_left_out(void **state)
{
	struct run_summary summary = { 0 };

	(void)state;
	assert_line(&summary, "no samples (0 % busy), none lost");
	summary.samples.samples = summary.samples.complete = 1;
	assert_line(&summary, "1 sample (100 % busy), none lost, all stacks complete");
	summary.samples.samples = summary.samples.complete = 142;
	summary.idle = 87;
	assert_line(&summary, "142 samples (62 % busy), none lost, all stacks complete");
	summary.lost_dropped = 1;
	assert_line(&summary,
		    "142 samples (62 % busy), 1 lost (0.43 %: dropped 1), all stacks complete");
}

static void almost_all_stacks_are_not_all(void **state)
{
	struct run_summary summary = { .samples = { .samples = 100000, .complete = 99999 } };

	(void)state;
	assert_line(&summary,
		    "100000 samples (100 % busy), none lost, 99.99 % of the stacks complete");
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
		strstr(text_builder_text(&text), "500 samples (51 % busy), 10 lost (1.00 %: "));
	assert_non_null(strstr(text_builder_text(&text), ", in no file for want of memory 100"));
	text_builder_deinit(&text);
}

static void ticks_that_a_hypervisor_took_are_told_where_there_are_any(void **state)
{
	struct run_summary summary = { .samples.samples = 500, .idle = 400, .stolen = 100 };
	struct text_builder text = { 0 };

	(void)state;
	run_summary_append(&summary, &text);
	assert_non_null(
		strstr(text_builder_text(&text),
		       "500 samples (50 % busy), none lost, 100 taken by the hypervisor, 0"));
	text_builder_deinit(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_line_tells_what_was_sampled_and_how_well),
		cmocka_unit_test(zeros_are_left_out),
		cmocka_unit_test(almost_all_stacks_are_not_all),
		cmocka_unit_test(the_numbers_come_from_the_totals_and_the_metrics),
		cmocka_unit_test(samples_that_no_store_had_room_for_are_busy_samples_and_not_lost),
		cmocka_unit_test(ticks_that_a_hypervisor_took_are_told_where_there_are_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
