/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/metrics_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/model/trace.h"

static struct text_builder text;

static const char *write_text(bool is_open)
{
	struct metrics_snapshot metrics = { 0 };
	struct sample_totals samples = { .samples = 90, .complete = 80, .guesses = 7 };
	const struct process_usage usage = { .cpu_seconds = 1.5, .open_fds = 12 };
	const struct metrics_text_input input = {
		.metrics = &metrics,
		.samples = &samples,
		.usage = &usage,
		.start_ns = 1700000000000000000,
		.version = "v1.2",
	};

	samples.errors[UNWIND_NO_INFO] = 3;
	metrics.values[COUNTER_IDLE] = 1000;
	metrics.values[COUNTER_ERRORS + UNWIND_NO_INFO] = 5;
	metrics.values[METRIC_OLDEST_SAMPLE_AGE] = 1250;
	metrics.values[METRIC_TRACES_CONVERTED] = UINT64_MAX;
	text_builder_clear(&text);
	metrics_text_append(&text, &input, is_open);
	return text_builder_text(&text);
}

static void assert_has(const char *all, const char *lines)
{
	if (!strstr(all, lines))
		fail_msg("there is no '%s' in\n%s", lines, all);
}

static void each_metric_has_its_kind_unit_and_meaning(void **state)
{
	const char *all = write_text(false);

	(void)state;
	assert_has(all, "# TYPE allframes_build_info gauge\n"
			"allframes_build_info{version=\"v1.2\"} 1\n");
	assert_has(all, "# TYPE allframes_ticks_total counter\n"
			"allframes_ticks_total{class=\"busy\"} 90\n"
			"allframes_ticks_total{class=\"idle\"} 1000\n");
	assert_has(all, "allframes_stacks_total{quality=\"complete\"} 80\n"
			"allframes_stacks_total{quality=\"guess\"} 7\n"
			"allframes_stacks_total{quality=\"error\"} 3\n");
	assert_has(all, "allframes_unwind_errors_total{error=\"no_info\"} 5\n");
	assert_has(all, "# HELP allframes_traces_converted_total Raw traces converted\n"
			"# TYPE allframes_traces_converted_total counter\n"
			"allframes_traces_converted_total 18446744073709551615\n");
	/* Milliseconds are seconds here. */
	assert_has(all, "# TYPE allframes_oldest_sample_age_seconds gauge\n"
			"allframes_oldest_sample_age_seconds 1.25\n");
	assert_has(all, "process_cpu_seconds_total 1.5\n");
	assert_has(all, "process_start_time_seconds 1700000000\n");
	assert_null(strstr(all, "# EOF"));
}

static void open_metrics_name_families_without_their_ending(void **state)
{
	const char *all = write_text(true);

	(void)state;
	assert_has(all, "# TYPE allframes_traces_converted counter\n"
			"allframes_traces_converted_total 18446744073709551615\n");
	assert_string_equal(all + strlen(all) - 6, "# EOF\n");
	assert_true(metrics_text_is_open("application/openmetrics-text;version=1.0.0,text/plain"));
	assert_false(metrics_text_is_open("text/plain"));
	assert_false(metrics_text_is_open(NULL));
}

static void no_family_is_written_twice(void **state)
{
	char *all = strdup(write_text(false)), *names[512], *saved = NULL;
	size_t count = 0;

	(void)state;
	for (char *line = strtok_r(all, "\n", &saved); line; line = strtok_r(NULL, "\n", &saved)) {
		if (strncmp(line, "# TYPE ", 7))
			continue;
		names[count] = line + 7;
		for (size_t i = 0; i < count; i++)
			assert_string_not_equal(names[i], names[count]);
		assert_in_range(++count, 1, 511);
	}
	assert_true(count > METRIC_COUNT - UNWIND_ERROR_COUNT);
	free(all);
}

static void the_usage_is_that_of_this_process(void **state)
{
	struct process_usage usage;

	(void)state;
	process_usage_read(&usage);
	assert_true(usage.resident_bytes > 100000 && usage.resident_bytes <= usage.virtual_bytes);
	assert_in_range(usage.open_fds, 1, 1000);
	assert_true(usage.max_fds >= usage.open_fds);
}

static int tear_down(void **state)
{
	(void)state;
	text_builder_deinit(&text);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_metric_has_its_kind_unit_and_meaning),
		cmocka_unit_test(open_metrics_name_families_without_their_ending),
		cmocka_unit_test(no_family_is_written_twice),
		cmocka_unit_test(the_usage_is_that_of_this_process),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}
