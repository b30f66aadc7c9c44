// SPDX-License-Identifier: Apache-2.0
#include "reporter/cost_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/base/text.h"
#include "reporter/report.h"
#include "reporter/tests/cost_fixture.h"

static void add(struct cost_table *table, uint32_t pid, const char *comm, uint64_t ms)
{
	const struct cost_row row = cost_fixture_row(pid, comm, ms);

	assert_int_equal(cost_table_add(table, 0, &row, false), 0);
}

static void fill(struct cost_table *table, uint32_t sources)
{
	struct cost_row idle = { .run_time_ns = 500 * NS_PER_MS };

	cost_table_init(table, sources);
	add(table, 12, "a \"name\"", 100);
	add(table, 34, "busy", 400);
	assert_int_equal(cost_table_add(table, 0, &idle, true), 0);
	assert_int_equal(cost_table_add_time(table, 0, 1000 * NS_PER_MS), 0);
}

static char *as_text(const struct cost_table *table, uint32_t columns)
{
	struct text_builder text = { 0 };

	assert_int_equal(cost_report_append(table, columns, false, &text), 0);
	return text.text;
}

static void processes_are_in_the_order_of_their_run_times(void **state)
{
	struct cost_table table;
	char *text;

	(void)state;
	fill(&table, COST_PAGE_READS | COST_PAGE_WRITES);
	text = as_text(&table, REPORT_COLUMNS);
	assert_string_equal(
		text,
		"\n share     CPU time     runs softirqs    reads   writes   process, its whole time\n"
		"  40.0%     0.400 s        2       11       30        4   busy (34)\n"
		"  10.0%     0.100 s        2       11       30        4   a \"name\" (12)\n"
		"  50.0%     0.500 s        0        0        0        0   idle\n");
	free(text);
	cost_table_deinit(&table);
}

static void what_the_machine_does_not_count_is_absent(void **state)
{
	struct cost_table table;
	char *text;

	(void)state;
	fill(&table, 0);
	text = as_text(&table, REPORT_COLUMNS);
	assert_null(strstr(text, "reads"));
	assert_null(strstr(text, "writes"));
	assert_null(strstr(text, "cycles"));
	assert_non_null(strstr(text, "softirqs   process"));
	free(text);
	cost_table_deinit(&table);
}

static void no_line_is_wider_than_asked_for_and_names_have_room(void **state)
{
	struct cost_table table;

	(void)state;
	fill(&table, UINT32_MAX);
	add(&table, 99, "fifteen-letters", 1000000);
	for (uint32_t columns = REPORT_COLUMNS_MIN; columns < 140; columns += 7) {
		char *text = as_text(&table, columns);

		assert_non_null(strstr(text, "fifteen-letters (99)\n"));
		for (char *line = text, *line_end; (line_end = strchr(line, '\n'));
		     line = line_end + 1) {
			*line_end = '\0';
			assert_true(text_columns(line) <= columns);
		}
		free(text);
	}
	cost_table_deinit(&table);
}

static void what_is_not_shown_is_in_one_line(void **state)
{
	struct cost_table table;
	struct cost_row other = cost_fixture_row(500, "else", 1);
	char *text;

	(void)state;
	fill(&table, 0);
	for (uint32_t pid = 100; pid < 120; pid++)
		add(&table, pid, "many", 10);
	other.cgroup_id = 77;
	assert_int_equal(cost_table_add(&table, 0, &other, false), 0);
	cost_table_cgroup(&table, 1)->path = strdup("/system.slice");
	table.dropped.run_time_ns = 1000 * NS_PER_MS;
	table.dropped_count = 1000;
	text = as_text(&table, REPORT_COLUMNS);
	/* 12 of 10 ms, one of 1 ms, and those that were dropped. */
	assert_non_null(strstr(text, " 112.1%     1.121 s "));
	assert_non_null(strstr(text, "   1013 more processes\n"));
	assert_non_null(strstr(text, "   /system.slice\n"));
	assert_non_null(strstr(text, "   cgroup with id 77\n"));
	free(text);
	cost_table_deinit(&table);
}

/* Joules that the process 34 used, and idle ones. */
static void add_energy(struct cost_table *table)
{
	const struct cost_key key = { .start_time_ns = 34 * NS_PER_MS, .id = 34, .pid = 34 };
	const double joules[ENERGY_KIND_COUNT] = {
		[ENERGY_PACKAGE] = 12.5, [ENERGY_CORE] = 10, [ENERGY_DRAM] = 0.25
	};
	const double idle[ENERGY_KIND_COUNT] = { [ENERGY_PACKAGE] = 7, [ENERGY_DRAM] = 1 };
	const struct energy_zone zone = {
		.name = "package-0", .kind = ENERGY_PACKAGE, .joules = 19.5, .gap_count = 2
	};

	cost_table_add_energy(table, &key, 1, joules);
	cost_table_add_idle_energy(table, idle);
	assert_int_equal(energy_zone_vector_push(&table->zones, zone), 0);
}

static void energy_has_a_column_and_where_it_comes_from(void **state)
{
	struct cost_table table;
	char *text;

	(void)state;
	fill(&table, COST_FIRST_ENERGY << ENERGY_PACKAGE | COST_FIRST_ENERGY << ENERGY_CORE |
			     COST_FIRST_ENERGY << ENERGY_DRAM);
	add_energy(&table);
	text = as_text(&table, REPORT_COLUMNS);
	/* Cores are a part of the package. */
	assert_non_null(
		strstr(text, "  40.0%     0.400 s     12.8        2       11   busy (34)\n"));
	assert_non_null(strstr(text, "  50.0%     0.500 s      8.0        0        0   idle\n"));
	assert_non_null(strstr(text,
			       "\n energy, package 19.5 J, core 10.0 J, dram 1.2 J; measured by "
			       "the CPUs, shared out by run time\n"));
	free(text);
	table.sources = COST_FIRST_ENERGY << ENERGY_HOST | COST_FIRST_COUNTER << COST_CYCLES;
	text = as_text(&table, REPORT_COLUMNS);
	assert_non_null(strstr(text, "; estimated (-energy-file), shared out by cycles\n"));
	free(text);
	table.sources = 0;
	text = as_text(&table, REPORT_COLUMNS);
	assert_null(strstr(text, "joules"));
	assert_null(strstr(text, "energy"));
	free(text);
	cost_table_deinit(&table);
}

static char *as_json(const struct cost_table *table)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_int_equal(cost_report_write_json(out, table), 0);
	fclose(out);
	return text;
}

static void json_has_energy_by_kind_and_zone(void **state)
{
	struct cost_table table;
	char *text;

	(void)state;
	fill(&table, COST_FIRST_ENERGY << ENERGY_PACKAGE | COST_FIRST_ENERGY << ENERGY_DRAM);
	text = as_json(&table);
	assert_non_null(strstr(text, "\"joules\":{\"package\":0.000000000,\"dram\":0.000000000}"));
	free(text);
	add_energy(&table);
	text = as_json(&table);
	assert_non_null(strstr(text, "\"joules\":{\"package\":12.500000000,\"dram\":0.250000000}"));
	assert_non_null(strstr(text,
			       ",\n\"energy\":{\"source\":\"rapl\",\"shared_by\":\"run_time\","
			       "\"zones\":[{\"name\":\"package-0\",\"kind\":\"package\","
			       "\"joules\":19.500000000,\"gaps\":2}]}}"));
	free(text);
	table.sources = 0;
	text = as_json(&table);
	assert_null(strstr(text, "joules"));
	assert_null(strstr(text, "energy"));
	free(text);
	cost_table_deinit(&table);
}

static void json_has_all_and_the_names_of_kepler(void **state)
{
	const char *const parts[] = {
		"{\"cpus\":[{\"cpu\":0,\"wall_ns\":1000000000,\"idle_ns\":500000000,\"busy_ns\":500000000}],",
		"{\"pid\":34,\"start_time_ns\":34000000,\"cgroup_id\":1,\"comm\":\"busy\",\"is_kernel_thread\":false,"
		"\"has_ended\":false,\"process_run_time\":400000000,\"runs\":2,\"vec_nr\":{\"HI\":0,\"TIMER\":5,",
		"\"RCU\":6},\"page_cache_hit\":34,\"page_cache_reads\":30,\"page_cache_writes\":4}",
		"\"comm\":\"a \\\"name\\\"\"",
		"\"cgroups\":[\n{\"cgroup_id\":1,\"process_run_time\":500000000,",
		"\n\"dropped_processes\":0,\n\"dropped\":{\"process_run_time\":0,",
	};
	struct cost_table table;
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	(void)state;
	fill(&table, COST_PAGE_READS | COST_PAGE_WRITES);
	assert_int_equal(cost_report_write_json(out, &table), 0);
	fclose(out);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!strstr(text, parts[i]))
			fail_msg("no %s in:\n%s", parts[i], text);
	assert_null(strstr(text, "cpu_cycles"));
	free(text);
	cost_table_deinit(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_are_in_the_order_of_their_run_times),
		cmocka_unit_test(what_the_machine_does_not_count_is_absent),
		cmocka_unit_test(no_line_is_wider_than_asked_for_and_names_have_room),
		cmocka_unit_test(what_is_not_shown_is_in_one_line),
		cmocka_unit_test(energy_has_a_column_and_where_it_comes_from),
		cmocka_unit_test(json_has_energy_by_kind_and_zone),
		cmocka_unit_test(json_has_all_and_the_names_of_kepler),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
