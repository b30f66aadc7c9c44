// SPDX-License-Identifier: Apache-2.0
#include "reporter/cost_table.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "reporter/tests/cost_fixture.h"

static struct process_costs *find(struct cost_table *table, uint32_t pid)
{
	for (size_t i = 0; i < table->processes.count; i++)
		if (table->processes.items[i].key.pid == pid)
			return &table->processes.items[i];
	return NULL;
}

static void rows_of_a_process_are_added_up(void **state)
{
	struct cost_row row = cost_fixture_row(7, "old", 10);
	struct cost_table table;
	struct process_costs *process;

	(void)state;
	cost_table_init(&table, 0);
	assert_int_equal(cost_table_add(&table, 0, &row, false), 0);
	strcpy(row.comm, "new");
	assert_int_equal(cost_table_add(&table, 1, &row, false), 0);
	row.flags = COST_ENDED;
	strcpy(row.comm, "last");
	assert_int_equal(cost_table_add(&table, 1, &row, false), 0);
	/* A row of another CPU that was written before. */
	row.flags = 0;
	strcpy(row.comm, "old");
	assert_int_equal(cost_table_add(&table, 0, &row, false), 0);
	assert_int_equal(table.processes.count, 1);
	process = find(&table, 7);
	assert_string_equal(process->comm, "last");
	assert_true(process->has_ended);
	assert_int_equal(process->sum.run_time_ns, 40 * NS_PER_MS);
	assert_int_equal(process->sum.run_count, 8);
	assert_int_equal(process->sum.page_reads, 120);
	assert_int_equal(process->sum.page_writes, 16);
	assert_int_equal(process->sum.softirqs[1], 20);
	assert_int_equal(costs_sum_softirqs(&process->sum), 44);
	assert_int_equal(table.cpus.items[0].busy_ns, 20 * NS_PER_MS);
	assert_int_equal(table.cpus.items[1].busy_ns, 20 * NS_PER_MS);
	cost_table_deinit(&table);
}

static void a_pid_that_is_used_again_is_another_process(void **state)
{
	struct cost_row row = cost_fixture_row(7, "one", 10);
	struct cost_table table;

	(void)state;
	cost_table_init(&table, 0);
	assert_int_equal(cost_table_add(&table, 0, &row, false), 0);
	row.key.start_time_ns++;
	assert_int_equal(cost_table_add(&table, 0, &row, false), 0);
	assert_int_equal(table.processes.count, 2);
	assert_int_equal(table.processes.items[0].sum.run_time_ns, 10 * NS_PER_MS);
	assert_int_equal(table.cgroups.count, 1);
	assert_int_equal(cost_table_cgroup(&table, 1)->sum.run_time_ns, 20 * NS_PER_MS);
	assert_null(cost_table_cgroup(&table, 2));
	cost_table_deinit(&table);
}

static void idle_and_unfitted_rows_are_no_processes(void **state)
{
	struct cost_row row = cost_fixture_row(0, "", 3);
	struct cost_table table;

	(void)state;
	cost_table_init(&table, 0);
	row.key = (struct cost_key){ 0 };
	assert_int_equal(cost_table_add(&table, 2, &row, true), 0);
	assert_int_equal(cost_table_add(&table, 2, &row, false), 0);
	assert_int_equal(cost_table_add_time(&table, 2, 6 * NS_PER_MS), 0);
	assert_int_equal(table.processes.count, 0);
	assert_int_equal(table.cgroups.count, 0);
	assert_int_equal(table.idle.run_time_ns, 3 * NS_PER_MS);
	assert_int_equal(table.unfitted.run_time_ns, 3 * NS_PER_MS);
	assert_int_equal(table.host.run_time_ns, 6 * NS_PER_MS);
	assert_int_equal(table.cpus.count, 3);
	assert_int_equal(table.cpus.items[2].wall_ns,
			 table.cpus.items[2].idle_ns + table.cpus.items[2].busy_ns);
	assert_int_equal(table.cpus.items[0].wall_ns, 0);
	cost_table_deinit(&table);
}

static void a_full_table_drops_ended_processes_and_keeps_their_costs(void **state)
{
	struct cost_table table;
	uint64_t sum_ns = 0;

	(void)state;
	cost_table_init(&table, 0);
	table.max_processes = 8;
	for (uint32_t pid = 1; pid <= 1000; pid++) {
		struct cost_row row = cost_fixture_row(pid, "short", pid);

		/* Two of them live on. */
		row.flags = pid == 2 || pid == 5 ? 0 : COST_ENDED;
		assert_int_equal(cost_table_add(&table, 0, &row, false), 0);
		assert_true(table.processes.count <= 8);
		/* It is found where it is now. */
		assert_int_equal(cost_table_add(&table, 0, &row, false), 0);
		assert_int_equal(find(&table, pid)->sum.run_time_ns, 2 * pid * NS_PER_MS);
	}
	assert_non_null(find(&table, 2));
	assert_non_null(find(&table, 5));
	assert_int_equal(table.processes.count + table.dropped_count, 1000);
	for (size_t i = 0; i < table.processes.count; i++)
		sum_ns += table.processes.items[i].sum.run_time_ns;
	assert_int_equal(sum_ns + table.dropped.run_time_ns, 1000ULL * 1001 * NS_PER_MS);
	assert_int_equal(table.dropped.run_time_ns + sum_ns, table.host.run_time_ns);
	cost_table_deinit(&table);
}

static void counts_are_scaled_to_the_whole_run_time(void **state)
{
	const struct costs_sum sum = {
		.run_time_ns = 4000,
		.counters = { { 100, 4000 }, { 100, 1000 }, { 0, 0 }, { 100, 4100 } },
	};

	(void)state;
	assert_int_equal(costs_sum_counter(&sum, 0), 100);
	assert_int_equal(costs_sum_counter(&sum, 1), 400);
	assert_int_equal(costs_sum_counter(&sum, 2), 0);
	assert_int_equal(costs_sum_counter(&sum, 3), 100);
}

static void the_average_frequency_goes_by_the_reference_cycles_of_the_machine(void **state)
{
	struct cost_row slow = cost_fixture_row(1, "slow", 1000);
	struct cost_row fast = cost_fixture_row(2, "fast", 1000);
	struct cost_facts facts;
	struct cost_table table;

	(void)state;
	cost_table_init(&table, COST_FIRST_COUNTER << COST_CYCLES |
					COST_FIRST_COUNTER << COST_REFERENCE_CYCLES);
	/* A reference of 2 GHz; one ran at 1 GHz, the other at 3 GHz. */
	slow.counters[COST_CYCLES] = (struct cost_counter){ 1000000000, NS_PER_SECOND };
	slow.counters[COST_REFERENCE_CYCLES] = (struct cost_counter){ 2000000000, NS_PER_SECOND };
	fast.counters[COST_CYCLES] = (struct cost_counter){ 3000000000, NS_PER_SECOND };
	fast.counters[COST_REFERENCE_CYCLES] = (struct cost_counter){ 2000000000, NS_PER_SECOND };
	assert_int_equal(cost_table_add(&table, 0, &slow, false), 0);
	assert_int_equal(cost_table_add(&table, 0, &fast, false), 0);
	facts = cost_table_facts(&table);
	assert_int_equal(facts.reference_hz, 2000000000);
	assert_int_equal(costs_sum_frequency(&find(&table, 1)->sum, &facts), 1000000000);
	assert_int_equal(costs_sum_frequency(&find(&table, 2)->sum, &facts), 3000000000);
	table.sources = COST_FIRST_COUNTER << COST_CYCLES;
	facts = cost_table_facts(&table);
	assert_int_equal(costs_sum_frequency(&find(&table, 2)->sum, &facts), 0);
	cost_table_deinit(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_a_process_are_added_up),
		cmocka_unit_test(a_pid_that_is_used_again_is_another_process),
		cmocka_unit_test(idle_and_unfitted_rows_are_no_processes),
		cmocka_unit_test(a_full_table_drops_ended_processes_and_keeps_their_costs),
		cmocka_unit_test(counts_are_scaled_to_the_whole_run_time),
		cmocka_unit_test(the_average_frequency_goes_by_the_reference_cycles_of_the_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
