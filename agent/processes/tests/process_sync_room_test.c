/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of process_sync.c when the kernel side has no room for another process. */
#include "agent/processes/tests/process_sync_fixture.h"

static void with_too_many_processes_the_least_needed_one_goes(void **state)
{
	struct fixture *fixture = *state;
	struct process *processes[3];

	fixture->writer.max_processes = 2;
	for (uint32_t i = 0; i < 3; i++) {
		processes[i] = add(fixture, 7 + i, 100, 1);
		make_process(fixture, 7 + i, "/bin/ls");
		sync_process(fixture, processes[i]);
		/* The first is sampled all the time. */
		processes[0]->last_sample_ns = clock_monotonic_ns();
	}
	assert_true(fake_published(&fixture->writer, 7, NULL));
	assert_false(fake_published(&fixture->writer, 8, NULL));
	assert_true(fake_published(&fixture->writer, 9, NULL));
	for (uint32_t i = 0; i < 3; i++)
		drop(fixture, processes[i]);
}

static void tables_of_processes_get_no_more_than_half_of_the_memory(void **state)
{
	struct fixture *fixture = *state;
	struct process *processes[3];

	/* Half of it is room for two tables of two rows. */
	fixture->writer.budget_bytes = 2 * 2 * 2 * sizeof(struct mapping_row);
	for (uint32_t i = 0; i < 3; i++) {
		processes[i] = add(fixture, 7 + i, 100, 1);
		fake_proc_write(&fixture->proc, 7 + i, "maps",
				"10000-20000 rwxp 00000000 00:00 0\n"
				"30000-40000 rwxp 00000000 00:00 0\n");
		sync_process(fixture, processes[i]);
		processes[0]->last_sample_ns = clock_monotonic_ns();
	}
	assert_true(fake_published(&fixture->writer, 7, NULL));
	assert_false(fake_published(&fixture->writer, 8, NULL));
	assert_true(fake_published(&fixture->writer, 9, NULL));
	assert_int_equal(fixture->writer.wait_count, 1);
	/* One row less is room for one row, not for two. */
	fake_proc_write(&fixture->proc, 7, "maps", "10000-20000 rwxp 00000000 00:00 0\n");
	sync_process(fixture, processes[0]);
	fake_proc_write(&fixture->proc, 8, "maps", "10000-20000 rwxp 00000000 00:00 0\n");
	sync_process(fixture, processes[1]);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(fake_published(&fixture->writer, 7 + i, NULL));
	for (uint32_t i = 0; i < 3; i++)
		drop(fixture, processes[i]);
	assert_int_equal(fixture->sync.published_bytes, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(with_too_many_processes_the_least_needed_one_goes),
		TEST(tables_of_processes_get_no_more_than_half_of_the_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
