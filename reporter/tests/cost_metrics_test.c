/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/cost_metrics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reporter/tests/cost_fixture.h"

#define CONTAINER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

enum { NOW_NS = 1700000000 };

struct fixture {
	struct cost_table costs;
	struct cost_metrics metrics;
	struct metric_table table;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	cost_table_init(&f->costs, COST_PAGE_READS | COST_FIRST_ENERGY << ENERGY_PACKAGE |
					   COST_FIRST_ENERGY << ENERGY_DRAM);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	metric_table_deinit(&f->table);
	cost_metrics_deinit(&f->metrics);
	cost_table_deinit(&f->costs);
	free(f);
	return 0;
}

static void add_row(struct fixture *f, const struct cost_row *row, bool is_idle)
{
	assert_int_equal(cost_table_add(&f->costs, 0, row, is_idle), 0);
	cost_metrics_add(&f->metrics, row, is_idle);
}

static void run(struct fixture *f, uint32_t pid, const char *comm, uint64_t ms)
{
	const struct cost_row row = cost_fixture_row(pid, comm, ms);

	add_row(f, &row, false);
}

static void choose(struct fixture *f)
{
	assert_int_equal(cost_metrics_choose(&f->metrics, &f->costs, NOW_NS), 0);
}

static void put(struct fixture *f)
{
	metric_table_deinit(&f->table);
	cost_metrics_put(&f->metrics, f->costs.sources, &f->table);
	assert_false(f->table.failed);
}

static const struct metric_family *family_of(const struct fixture *f, const char *name)
{
	for (size_t i = 0; i < f->table.families.count; i++)
		if (!strcmp(f->table.families.items[i].name, name))
			return &f->table.families.items[i];
	return NULL;
}

static const char *label_of(const struct metric_row *row, const char *key)
{
	for (uint32_t i = 0; i < row->label_count; i++)
		if (!strcmp(row->labels[i].key, key))
			return row->labels[i].value;
	return "";
}

/* The row of the family in which @key is @value, and of energy the zone @zone. */
static const struct metric_row *row_of(const struct fixture *f, const char *name, const char *key,
				       const char *value, const char *zone)
{
	const struct metric_family *family = family_of(f, name);

	assert_non_null(family);
	for (size_t i = 0; i < family->row_count; i++) {
		const struct metric_row *row = &f->table.rows.items[family->first_row + i];

		if (!strcmp(label_of(row, key), value) && !strcmp(label_of(row, "zone"), zone))
			return row;
	}
	fail_msg("%s has no row with %s=%s", name, key, value);
	return NULL;
}

static void processes_and_cgroups_have_rows_with_labels(void **state)
{
	struct fixture *f = *state;
	const struct cost_row idle = { .run_time_ns = 700 * NS_PER_MS };
	const struct metric_row *row;

	run(f, 12, "worker", 100);
	cost_table_cgroup(&f->costs, 1)->path = strdup("/docker/" CONTAINER);
	choose(f);
	choose(f);
	run(f, 12, "worker", 250);
	run(f, 13, "other one", 50);
	add_row(f, &idle, true);
	put(f);
	row = row_of(f, "allframes.process.cpu.time", "pid", "12", "");
	assert_string_equal(label_of(row, "comm"), "worker");
	assert_string_equal(label_of(row, "cgroup"), "/docker/" CONTAINER);
	assert_string_equal(label_of(row, "container"), CONTAINER);
	assert_true(row->is_fraction && row->fraction == 0.25);
	assert_int_equal(row->start_ns, NOW_NS);
	/* Both of the first processes, before they were shown, and one that is not shown. */
	row = row_of(f, "allframes.process.cpu.time", "pid", "other", "");
	assert_true(row->fraction == 0.15);
	assert_int_equal(row->start_ns, 0);
	assert_true(row_of(f, "allframes.process.cpu.time", "pid", "idle", "")->fraction == 0.7);
	assert_int_equal(row_of(f, "allframes.process.page_cache.reads", "pid", "12", "")->number,
			 30);
	assert_int_equal(row_of(f, "allframes.process.softirqs", "pid", "12", "")->number, 11);
	row = row_of(f, "allframes.cgroup.cpu.time", "cgroup", "/docker/" CONTAINER, "");
	assert_true(row->fraction == 0.3);
	assert_string_equal(label_of(row, "pid"), "");
	assert_string_equal(family_of(f, "allframes.process.cpu.time")->unit, "s");
	/* Costs that this machine does not count are absent. */
	assert_null(family_of(f, "allframes.process.page_cache.writes"));
	assert_null(family_of(f, "allframes.process.cycles"));
	f->costs.sources = 0;
	put(f);
	assert_null(family_of(f, "allframes.process.energy"));
}

static void energy_has_a_row_for_each_zone(void **state)
{
	struct fixture *f = *state;
	const struct cost_row row = cost_fixture_row(12, "worker", 100);
	const double joules[ENERGY_KIND_COUNT] = { [ENERGY_PACKAGE] = 5, [ENERGY_DRAM] = 0.5 };
	const struct cost_key unfitted = { 0 };

	run(f, 12, "worker", 100);
	choose(f);
	choose(f);
	cost_metrics_add_energy(&f->metrics, &row.key, 1, joules);
	cost_metrics_add_energy(&f->metrics, &unfitted, 0, joules);
	cost_metrics_add_idle_energy(&f->metrics, joules);
	cost_metrics_add_idle_energy(&f->metrics, joules);
	put(f);
	assert_string_equal(family_of(f, "allframes.process.energy")->unit, "J");
	assert_true(row_of(f, "allframes.process.energy", "pid", "12", "package")->fraction == 5);
	assert_true(row_of(f, "allframes.process.energy", "pid", "12", "dram")->fraction == 0.5);
	assert_true(row_of(f, "allframes.process.energy", "pid", "other", "package")->fraction ==
		    5);
	assert_true(row_of(f, "allframes.process.energy", "pid", "idle", "package")->fraction ==
		    10);
	assert_true(row_of(f, "allframes.cgroup.energy", "cgroup", "1", "dram")->fraction == 0.5);
}

static void a_name_that_changes_is_another_series(void **state)
{
	struct fixture *f = *state;

	run(f, 12, "sh", 100);
	choose(f);
	choose(f);
	run(f, 12, "worker", 100);
	choose(f);
	run(f, 12, "worker", 30);
	put(f);
	assert_true(row_of(f, "allframes.process.cpu.time", "comm", "worker", "")->fraction ==
		    0.03);
	assert_int_equal(f->metrics.processes.shown.count, 1);
}

static double sum_of(const struct fixture *f, const char *name)
{
	const struct metric_family *family = family_of(f, name);
	double sum = 0;

	for (size_t i = 0; i < family->row_count; i++)
		sum += f->table.rows.items[family->first_row + i].fraction;
	return sum;
}

/* 20,000 processes of a few ms, among others that stay. */
static void short_lived_processes_make_no_series(void **state)
{
	struct fixture *f = *state;
	double sum_before = 0, other_before = 0;
	size_t capacity = 0;

	for (uint32_t round = 0; round < 20; round++) {
		double sum, other;

		for (uint32_t i = 0; i < 1000; i++) {
			struct cost_row row = cost_fixture_row(1000 + round * 1000 + i, "short", 9);

			row.flags = COST_ENDED;
			add_row(f, &row, false);
		}
		for (uint32_t pid = 1; pid <= 5; pid++)
			run(f, pid, "stays", 100);
		choose(f);
		put(f);
		sum = sum_of(f, "allframes.process.cpu.time");
		other = row_of(f, "allframes.process.cpu.time", "pid", "other", "")->fraction;
		assert_true(sum > sum_before && other > other_before);
		sum_before = sum;
		other_before = other;
		assert_int_equal(f->metrics.processes.shown.count, round ? 5 : 0);
		/* Memory does not grow with the processes that come. */
		if (round == 1)
			capacity = f->metrics.processes.series.capacity;
	}
	assert_int_equal(f->metrics.processes.series.capacity, capacity);
	assert_int_equal(f->metrics.processes.series.count, 5);
	assert_true(fabs(sum_before - 20 * (9 + 0.5)) < 1e-6);
}

#define METRICS_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		METRICS_TEST(processes_and_cgroups_have_rows_with_labels),
		METRICS_TEST(energy_has_a_row_for_each_zone),
		METRICS_TEST(a_name_that_changes_is_another_series),
		METRICS_TEST(short_lived_processes_make_no_series),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
