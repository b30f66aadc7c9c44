/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/metric_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/model/trace.h"

static struct metric_table table;

static void fill(const struct metrics_snapshot *metrics, const struct sample_totals *samples)
{
	static const struct process_usage usage = { .cpu_seconds = 1.5, .resident_bytes = 4096 };
	const struct metric_table_input input = {
		.metrics = metrics,
		.samples = samples,
		.usage = &usage,
		.start_ns = 1700000000500000000,
		.version = "v1",
	};

	metric_table_deinit(&table);
	metric_table_fill(&table, &input);
	assert_false(table.failed);
}

static const struct metric_family *family_of(const char *name)
{
	for (size_t i = 0; i < table.families.count; i++)
		if (!strcmp(table.families.items[i].name, name) ||
		    (table.families.items[i].prometheus_name &&
		     !strcmp(table.families.items[i].prometheus_name, name)))
			return &table.families.items[i];
	fail_msg("there is no family %s", name);
	return NULL;
}

static uint64_t number_of(const char *name, const char *label)
{
	const struct metric_family *family = family_of(name);

	for (size_t i = 0; i < family->row_count; i++) {
		const struct metric_row *row = &table.rows.items[family->first_row + i];

		if (!label || !strcmp(row->labels[0].value, label))
			return row->number;
	}
	fail_msg("%s has no row %s", name, label);
	return 0;
}

static double fraction_of(const char *name)
{
	const struct metric_row *row = &table.rows.items[family_of(name)->first_row];

	assert_true(row->is_fraction);
	return row->fraction;
}

static void each_unit_is_known(void **state)
{
	(void)state;
	for (int metric = 0; metric < METRIC_COUNT; metric++)
		if (!metric_table_unit(metric_describe(metric)->unit))
			fail_msg("metric_table.c has no unit %s", metric_describe(metric)->unit);
	assert_null(metric_table_unit("parsecs"));
}

static void each_metric_is_there_once_with_its_kind(void **state)
{
	struct metrics_snapshot metrics = { 0 };
	struct sample_totals samples = { 0 };

	(void)state;
	metrics.values[METRIC_PROCESSES] = 12;
	metrics.values[METRIC_OLDEST_SAMPLE_AGE] = 1250;
	metrics.values[METRIC_TRACES_CONVERTED] = UINT64_MAX;
	fill(&metrics, &samples);
	for (int metric = 0; metric < METRIC_COUNT; metric++) {
		char name[METRIC_FAMILY_NAME_BYTES];
		const struct metric_family *family;

		if (metric >= COUNTER_ERRORS && metric < METRIC_FIRST_USER)
			continue;
		snprintf(name, sizeof(name), "allframes.%s", metric_describe(metric)->name);
		family = family_of(name);
		assert_int_equal(family->kind == FAMILY_COUNTER,
				 !metric_describe(metric)->is_state);
		assert_int_equal(family->row_count, 1);
	}
	for (size_t i = 0; i < table.families.count; i++)
		for (size_t j = 0; j < i && table.families.items[i].name[0]; j++)
			assert_string_not_equal(table.families.items[i].name,
						table.families.items[j].name);
	assert_int_equal(number_of("allframes.processes", NULL), 12);
	assert_int_equal(family_of("allframes.processes")->kind, FAMILY_UP_DOWN_COUNTER);
	assert_true(number_of("allframes.traces_converted", NULL) == UINT64_MAX);
	/* Times are in seconds; ages cannot be added up. */
	assert_true(fraction_of("allframes.oldest_sample_age") == 1.25);
	assert_int_equal(family_of("allframes.oldest_sample_age")->kind, FAMILY_GAUGE);
	assert_string_equal(family_of("allframes.oldest_sample_age")->unit, "s");
	assert_true(fraction_of("process.cpu.time") == 1.5);
	assert_int_equal(number_of("process.memory.usage", NULL), 4096);
	assert_true(fraction_of("process_start_time_seconds") == 1700000000.5);
}

static void each_tick_and_each_error_has_a_row(void **state)
{
	struct metrics_snapshot metrics = { 0 };
	struct sample_totals samples = { .samples = 90, .complete = 80, .guesses = 7 };
	const struct metric_family *ticks;
	uint64_t sum = 0;

	(void)state;
	samples.errors[UNWIND_NO_INFO] = 3;
	metrics.values[COUNTER_IDLE] = 1000;
	metrics.values[METRIC_IDLE_UNSEEN] = 10;
	metrics.values[COUNTER_UNSELECTED] = 5;
	metrics.values[METRIC_TICKS_STOLEN] = 4;
	metrics.values[COUNTER_LOST_RING_FULL] = 3;
	metrics.values[METRIC_SAMPLES_SKIPPED] = 2;
	metrics.values[METRIC_SAMPLES_DROPPED] = 1;
	metrics.values[COUNTER_ERRORS + UNWIND_NO_INFO] = 6;
	fill(&metrics, &samples);
	ticks = family_of("allframes.ticks");
	for (size_t i = 0; i < ticks->row_count; i++)
		sum += table.rows.items[ticks->first_row + i].number;
	assert_int_equal(sum, 90 + 1010 + 5 + 4 + 3 + 2 + 1);
	assert_int_equal(number_of("allframes.ticks", "idle"), 1010);
	assert_int_equal(number_of("allframes.ticks", "lost_dropped"), 1);
	assert_int_equal(number_of("allframes.stacks", "error"), 3);
	assert_int_equal(number_of("allframes.unwind_errors", "no_info"), 6);
	assert_int_equal(family_of("allframes.unwind_errors")->row_count, UNWIND_ERROR_COUNT - 1);
}

static int tear_down(void **state)
{
	(void)state;
	metric_table_deinit(&table);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_unit_is_known),
		cmocka_unit_test(each_metric_is_there_once_with_its_kind),
		cmocka_unit_test(each_tick_and_each_error_has_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}
