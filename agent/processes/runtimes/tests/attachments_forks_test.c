/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/runtimes/tests/attachments_fixture.h"

static void a_fork_is_attached_to_as_its_parent_is(void **state)
{
	struct fixture *fixture = *state;
	struct published_runtime list[RUNTIMES_MAX];
	struct process *parent = add_attached(fixture, 7, 1000);
	struct process *child = language_fixture_add(&fixture->base, 8);
	struct process_view view;

	fake_proc_write_memory(&fixture->base.proc, 8, 'E');
	map(fixture, child, fixture->base.runtime, 0x10000);
	attachments_inherit(&fixture->attachments, child, parent);
	attachments_update(&fixture->attachments, child, 2000);
	assert_int_equal(fixture->request_count, 0);
	assert_int_equal(fake_language.attach_count, 1);
	assert_int_equal(attachments_list(child, list), 1);
	assert_int_equal(*(const uint64_t *)list[0].data, 7);
	/* It outlives the parent, and reads its own memory. */
	drop(fixture, parent);
	assert_int_equal(fake_language.detach_count, 0);
	process_table_view(&fixture->base.table, 8, &child->identity, 4000, &view);
	assert_int_equal(name_one(view.runtimes->runtimes[0], 0x50), 0);
	assert_int_equal(fake_language.byte, 'E');
	process_view_release(&fixture->base.table, &view);
	drop(fixture, child);
	assert_int_equal(fake_language.detach_count, 1);
}

/* Process @pid has exited: its memory reads as an empty file. */
static void lose_memory(struct fixture *fixture, uint32_t pid)
{
	fake_proc_write_memory(&fixture->base.proc, pid, 0);
}

static int symbolize_in(struct process *process)
{
	fake_language.byte = 0;
	return name_one(process->runtimes->runtimes[0], 0x50);
}

static void a_fork_that_is_gone_is_named_by_those_it_came_from(void **state)
{
	struct fixture *fixture = *state;
	struct process *line[5] = { add_attached(fixture, 7, 1000) };

	fake_proc_write_memory(&fixture->base.proc, 7, 'i');
	for (uint32_t i = 1; i < 5; i++) {
		line[i] = language_fixture_add(&fixture->base, 7 + i);
		fake_proc_write_memory(&fixture->base.proc, 7 + i, (char)('0' + i));
		map(fixture, line[i], fixture->base.runtime, 0x10000);
		attachments_inherit(&fixture->attachments, line[i], line[i - 1]);
	}
	assert_int_equal(symbolize_in(line[4]), 0);
	assert_int_equal(fake_language.byte, '4');
	assert_int_equal(fake_language.object, 0);
	lose_memory(fixture, 11);
	assert_int_equal(symbolize_in(line[4]), 0);
	/* It was asked for in this process before. */
	assert_int_equal(fake_language.object, 0x51);
	assert_int_equal(fake_language.byte, '3');
	/* Not more than the parent and the first one are kept open. */
	lose_memory(fixture, 10);
	drop(fixture, line[0]);
	assert_int_equal(symbolize_in(line[4]), 0);
	assert_int_equal(fake_language.byte, 'i');
	lose_memory(fixture, 7);
	assert_int_equal(symbolize_in(line[4]), -ESRCH);
	for (uint32_t i = 1; i < 5; i++)
		drop(fixture, line[i]);
}

static void many_objects_keep_their_slots(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add_attached(fixture, 7, 1000);
	uint32_t kept = 0;

	fake_proc_write_memory(&fixture->base.proc, 7, 'i');
	for (uint32_t round = 0; round < 2; round++) {
		for (uint64_t i = 0; i < RUNTIME_OBJECTS_MAX / 4; i++) {
			assert_int_equal(
				name_one(process->runtimes->runtimes[0], 0x1000 + 0xb0 * i), 0);
			kept += round && fake_language.object == 0x1001 + 0xb0 * i;
		}
	}
	/* The slot depends on the address; if each address had only one slot, a tenth would be lost. */
	assert_int_equal(kept, RUNTIME_OBJECTS_MAX / 4);
	drop(fixture, process);
}

static void a_fork_that_is_gone_before_it_is_looked_at_is_named_by_its_parent(void **state)
{
	struct fixture *fixture = *state;
	struct published_runtime list[RUNTIMES_MAX];
	struct process *parent = add_attached(fixture, 7, 1000);
	struct process *child = language_fixture_add(&fixture->base, 8);
	struct process_view view;

	attachments_lend(&fixture->attachments, child, parent);
	process_table_view(&fixture->base.table, 8, &child->identity, 4000, &view);
	assert_non_null(view.runtimes);
	assert_int_equal(name_one(view.runtimes->runtimes[0], 0x50), 0);
	assert_int_equal(fake_language.byte, 'e');
	process_view_release(&fixture->base.table, &view);
	assert_int_equal(attachments_list(child, list), 0);
	drop(fixture, parent);
	assert_int_equal(fake_language.detach_count, 0);
	drop(fixture, child);
	assert_int_equal(fake_language.detach_count, 1);
}

static void a_fork_with_the_file_elsewhere_is_attached_to_anew(void **state)
{
	struct fixture *fixture = *state;
	struct process *parent = add_attached(fixture, 7, 1000);
	struct process *child = language_fixture_add(&fixture->base, 8);

	map(fixture, child, fixture->base.runtime, 0x90000);
	attachments_inherit(&fixture->attachments, child, parent);
	assert_null(child->runtimes);
	attachments_update(&fixture->attachments, child, 2000);
	assert_int_equal(fixture->request_count, 1);
	assert_int_equal(answer(fixture, 2000), 0);
	assert_int_equal(fake_language.bias, 0x90000);
	drop(fixture, parent);
	drop(fixture, child);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_fork_is_attached_to_as_its_parent_is),
		TEST(a_fork_that_is_gone_is_named_by_those_it_came_from),
		TEST(many_objects_keep_their_slots),
		TEST(a_fork_that_is_gone_before_it_is_looked_at_is_named_by_its_parent),
		TEST(a_fork_with_the_file_elsewhere_is_attached_to_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
