/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/model/metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <string.h>

static void every_metric_has_a_name_of_its_own_a_unit_and_a_meaning(void **state)
{
	(void)state;
	for (int metric = 0; metric < METRIC_COUNT; metric++) {
		const struct metric_description *description = metric_describe(metric);

		assert_non_null(description);
		assert_true(strlen(description->name) > 0);
		assert_true(strlen(description->name) < 47);
		assert_true(strlen(description->unit) > 0);
		assert_true(strlen(description->meaning) > 0);
		for (const char *at = description->name; *at; at++)
			assert_true(*at == '_' || islower(*at) || isdigit(*at));
		for (int other = 0; other < metric; other++)
			assert_string_not_equal(description->name, metric_describe(other)->name);
	}
}

static void names_tell_the_two_sides_apart(void **state)
{
	(void)state;
	assert_string_equal(metric_describe(metric_of_counter(COUNTER_IDLE))->name, "bpf_idle");
	assert_string_equal(
		metric_describe(metric_of_counter(COUNTER_ERRORS + UNWIND_NO_INFO))->name,
		"bpf_error_no_info");
	assert_string_equal(metric_describe(METRIC_TRACE_CACHE_HITS)->name, "trace_cache_hits");
	assert_int_equal(METRIC_SAMPLES_SKIPPED, COUNTER_COUNT);
}

static void counts_add_up_and_are_seen_in_a_snapshot(void **state)
{
	struct metrics_snapshot snapshot;

	(void)state;
	metrics_reset();
	metrics_add(METRIC_TRACES_CONVERTED, 2);
	metrics_add(METRIC_TRACES_CONVERTED, 3);
	metrics_set(metric_of_counter(COUNTER_RUNS), 99);
	assert_int_equal(metrics_read(METRIC_TRACES_CONVERTED), 5);
	metrics_take_snapshot(&snapshot);
	assert_int_equal(snapshot.values[METRIC_TRACES_CONVERTED], 5);
	assert_int_equal(snapshot.values[COUNTER_RUNS], 99);
	metrics_reset();
	assert_int_equal(metrics_read(METRIC_TRACES_CONVERTED), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_metric_has_a_name_of_its_own_a_unit_and_a_meaning),
		cmocka_unit_test(names_tell_the_two_sides_apart),
		cmocka_unit_test(counts_add_up_and_are_seen_in_a_snapshot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
