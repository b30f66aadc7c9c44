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

static struct text_builder text;

/* A table with each kind of family, and with a label that somebody else chose. */
static const char *write_text(bool is_open)
{
	struct metric_family families[] = {
		{ .name = "allframes.oldest_sample_age",
		  .unit = "s",
		  .meaning = "age of \"it\" \\ all",
		  .kind = FAMILY_GAUGE,
		  .row_count = 1 },
		{ .name = "allframes.traces_converted",
		  .unit = "{trace}",
		  .meaning = "raw traces converted",
		  .first_row = 1,
		  .row_count = 1 },
		{ .name = "process.cpu.time",
		  .prometheus_name = "process_cpu_seconds",
		  .unit = "s",
		  .meaning = "CPU time",
		  .first_row = 2,
		  .row_count = 1 },
		{ .name = "allframes.map_memory",
		  .unit = "By",
		  .meaning = "memory",
		  .kind = FAMILY_UP_DOWN_COUNTER,
		  .first_row = 3,
		  .row_count = 2 },
	};
	struct metric_row rows[] = {
		{ .is_fraction = true, .fraction = 1.25 },
		{ .number = UINT64_MAX },
		{ .is_fraction = true, .fraction = 0.5 },
		{ .labels = { { "pid", "7" }, { "comm", "a\"b\\c\nd\xff" } },
		  .label_count = 2,
		  .number = 12 },
		{ .labels = { { "comm", "other" } }, .label_count = 1 },
	};
	const struct metric_table table = {
		.families = { families, sizeof(families) / sizeof(families[0]) },
		.rows = { rows, sizeof(rows) / sizeof(rows[0]) },
	};

	text_builder_clear(&text);
	metrics_text_append(&text, &table, is_open);
	assert_false(text.failed);
	return text_builder_text(&text);
}

static void the_text_is_that_of_prometheus(void **state)
{
	(void)state;
	assert_string_equal(write_text(false),
			    "# HELP allframes_oldest_sample_age_seconds Age of \"it\" \\\\ all\n"
			    "# TYPE allframes_oldest_sample_age_seconds gauge\n"
			    "allframes_oldest_sample_age_seconds 1.25\n"
			    "# HELP allframes_traces_converted_total Raw traces converted\n"
			    "# TYPE allframes_traces_converted_total counter\n"
			    "allframes_traces_converted_total 18446744073709551615\n"
			    "# HELP process_cpu_seconds_total CPU time\n"
			    "# TYPE process_cpu_seconds_total counter\n"
			    "process_cpu_seconds_total 0.5\n"
			    "# HELP allframes_map_memory_bytes Memory\n"
			    "# TYPE allframes_map_memory_bytes gauge\n"
			    "allframes_map_memory_bytes{pid=\"7\",comm=\"a\\\"b\\\\c d?\"} 12\n"
			    "allframes_map_memory_bytes{comm=\"other\"} 0\n");
}

static void open_metrics_has_units_and_families_without_total(void **state)
{
	(void)state;
	assert_string_equal(
		write_text(true),
		"# HELP allframes_oldest_sample_age_seconds Age of \\\"it\\\" \\\\ all\n"
		"# TYPE allframes_oldest_sample_age_seconds gauge\n"
		"# UNIT allframes_oldest_sample_age_seconds seconds\n"
		"allframes_oldest_sample_age_seconds 1.25\n"
		"# HELP allframes_traces_converted Raw traces converted\n"
		"# TYPE allframes_traces_converted counter\n"
		"allframes_traces_converted_total 18446744073709551615\n"
		"# HELP process_cpu_seconds CPU time\n"
		"# TYPE process_cpu_seconds counter\n"
		"# UNIT process_cpu_seconds seconds\n"
		"process_cpu_seconds_total 0.5\n"
		"# HELP allframes_map_memory_bytes Memory\n"
		"# TYPE allframes_map_memory_bytes gauge\n"
		"# UNIT allframes_map_memory_bytes bytes\n"
		"allframes_map_memory_bytes{pid=\"7\",comm=\"a\\\"b\\\\c d?\"} 12\n"
		"allframes_map_memory_bytes{comm=\"other\"} 0\n"
		"# EOF\n");
}

static void the_format_is_what_the_client_prefers(void **state)
{
	static const struct {
		const char *accept;
		bool is_open;
	} cases[] = {
		{ NULL, false },
		{ "", false },
		{ "*/*", false },
		{ "text/plain", false },
		{ "application/openmetrics-text", true },
		{ "Application/OpenMetrics-Text; Version=1.0.0", true },
		/* Prometheus 2.42. */
		{ "application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
		  "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		  true },
		/* Prometheus 3. */
		{ "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
		  "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;"
		  "escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
		  true },
		/* Prometheus where the text format is preferred. */
		{ "text/plain;version=0.0.4;q=0.6,application/openmetrics-text;version=1.0.0;q=0.5",
		  false },
		{ "application/openmetrics-text;q=0,text/plain", false },
		{ "application/openmetrics-text;q=0", false },
		{ "application/openmetrics-text;version=0.0.1", false },
		{ "application/openmetrics-textual", false },
		/* The best of several ranges counts. */
		{ "application/openmetrics-text;q=0.9,text/plain;q=0.5,"
		  "application/openmetrics-text;version=1.0.0;q=0.1,text/plain;q=0.2",
		  true },
		{ ";;,,;q=;version=,application/openmetrics-text;q=,", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (metrics_text_is_open(cases[i].accept) != cases[i].is_open)
			fail_msg("wrong for '%s'", cases[i].accept);
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
		cmocka_unit_test(the_text_is_that_of_prometheus),
		cmocka_unit_test(open_metrics_has_units_and_families_without_total),
		cmocka_unit_test(the_format_is_what_the_client_prefers),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}
