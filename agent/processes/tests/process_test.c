/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/processes/process.h"
#include "agent/processes/tests/mapping_news.h"
#include "ebpf/abi/frame.h"

#define ID(n) ((uint64_t)(n) << EXECUTABLE_SLOT_BITS)

static struct process_identity identity_of(uint64_t start_ns, uint64_t exec_id)
{
	return (struct process_identity){ .start_time_ns = start_ns, .exec_id = exec_id };
}

static struct process *add(struct process_table *table, uint32_t pid, uint64_t start_ns,
			   uint64_t exec_id, uint64_t now_ns)
{
	struct process_identity identity = identity_of(start_ns, exec_id);

	return process_table_add(table, pid, &identity, now_ns);
}

static struct mapping_table *one_row(uint64_t start, uint64_t end, uint64_t id)
{
	const struct mapping_row row = { .start = start, .end = end, .executable_id = id };

	return mapping_table_create(&row, 1);
}

static void sync_rows(struct process_table *table, struct process *process, uint64_t read_ns,
		      uint64_t done_ns, struct mapping_table *rows, bool lost_rows)
{
	process_table_begin_sync(table, process, read_ns);
	if (rows)
		process_table_prepare_rows(table, process, rows);
	process_table_finish_sync(table, process, PROCESS_SYNCED, lost_rows, done_ns);
}

/* Makes a table with process 7, which has file 1 mapped since the sync from 1000 to 1001. */
static struct process *init_with_row(struct process_table *table)
{
	struct process *process;

	process_table_init(table);
	process = add(table, 7, 100, 1, 1000);
	sync_rows(table, process, 1000, 1001, one_row(0x1000, 0x2000, ID(1)), false);
	return process;
}

/* Removes the only process and the table. */
static void deinit_with(struct process_table *table, struct process *process)
{
	process_table_remove(table, process);
	process_table_deinit(table);
}

static void a_new_identity_in_a_pid_is_another_process(void **state)
{
	struct process_identity first_identity = identity_of(100, 1),
				second_identity = identity_of(100, 2);
	struct process_table table;
	struct process_view view;
	struct process *first, *second;

	(void)state;
	process_table_init(&table);
	first = add(&table, 7, 100, 1, 1000);
	assert_ptr_equal(add(&table, 7, 100, 1, 1001), first);
	second = add(&table, 7, 100, 2, 2000);
	assert_ptr_not_equal(first, second);
	assert_int_equal(first->ended_ns, 2000);
	assert_ptr_equal(process_table_current(&table, 7), second);
	assert_ptr_equal(process_table_find(&table, 7, &first_identity), first);

	assert_true(process_table_view(&table, 7, &first_identity, 1500, &view));
	assert_ptr_equal(view.process, first);
	process_view_release(&table, &view);
	assert_true(process_table_view(&table, 7, &second_identity, 1500, &view));
	assert_ptr_equal(view.process, second);
	process_view_release(&table, &view);

	process_table_remove(&table, first);
	assert_null(process_table_find(&table, 7, &first_identity));
	process_table_remove(&table, second);
	assert_null(process_table_current(&table, 7));
	process_table_deinit(&table);
}

static void an_older_identity_than_the_present_one_is_refused(void **state)
{
	struct process_table table;
	struct process *process;

	(void)state;
	process_table_init(&table);
	process = add(&table, 7, 200, 5, 1000);
	assert_null(add(&table, 7, 100, 9, 1001));
	assert_null(add(&table, 7, 200, 4, 1001));
	deinit_with(&table, process);
}

static void a_view_outlives_the_removal_of_its_process(void **state)
{
	struct process_identity identity = identity_of(100, 1);
	struct process_table table;
	struct process_view view;
	struct process *process;

	(void)state;
	process_table_init(&table);
	process = add(&table, 7, 100, 1, 1000);
	process_table_set_info(
		&table, process,
		process_info_create(&(struct process_info){ .executable_path = "/bin/sh" }));
	sync_rows(&table, process, 1000, 1001, one_row(0x1000, 0x2000, ID(1)), false);
	assert_true(process_table_view(&table, 7, &identity, 1500, &view));
	process_table_remove(&table, process);
	assert_string_equal(view.info->executable_path, "/bin/sh");
	assert_int_equal(view.rows->count, 1);
	process_view_release(&table, &view);
	process_table_deinit(&table);
}

static bool is_stale_at(struct process_table *table, uint64_t time_ns, uint64_t id)
{
	struct process_identity identity = identity_of(100, 1);
	struct process_view view;
	bool is_stale;

	assert_true(process_table_view(table, 7, &identity, time_ns, &view));
	is_stale = process_view_is_stale(&view, id);
	process_view_release(table, &view);
	return is_stale;
}

static void what_is_mapped_over_is_stale_until_the_next_table(void **state)
{
	struct process_table table;
	struct process *process;

	(void)state;
	process = init_with_row(&table);
	assert_int_equal(note_mapping(&table, 7, 0x1800, 0x1000, 2000), MAPPING_REPLACED);
	assert_int_equal(note_mapping(&table, 7, 0x8000, 0x1000, 2000), MAPPING_ADDED);
	assert_int_equal(note_mapping(&table, 8, 0x1800, 0x1000, 2000), MAPPING_KNOWN);
	assert_false(is_stale_at(&table, 1999, ID(1)));
	assert_true(is_stale_at(&table, 2000, ID(1)));
	assert_false(is_stale_at(&table, 2000, ID(2)));
	sync_rows(&table, process, 2100, 2200, one_row(0x1000, 0x2000, ID(2)), true);
	assert_true(is_stale_at(&table, 2200, ID(1)));
	assert_false(is_stale_at(&table, 2201, ID(1)));
	assert_false(is_stale_at(&table, 2150, ID(2)));
	deinit_with(&table, process);
}

static void what_is_mapped_elsewhere_makes_nothing_stale(void **state)
{
	struct process_table table;
	struct process *process;

	(void)state;
	process = init_with_row(&table);
	note_mapping(&table, 7, 0x2000, 0x1000, 2000);
	note_mapping(&table, 7, 0, 0x1000, 2000);
	assert_false(is_stale_at(&table, 2000, ID(1)));
	deinit_with(&table, process);
}

static void a_mapping_during_a_sync_makes_the_new_rows_stale(void **state)
{
	struct process_table table;
	struct process *process;

	(void)state;
	process_table_init(&table);
	process = add(&table, 7, 100, 1, 1000);
	process_table_begin_sync(&table, process, 1000);
	/* Between the reading of the maps and the rows being made known. */
	note_mapping(&table, 7, 0x1000, 0x1000, 1005);
	process_table_prepare_rows(&table, process, one_row(0x1000, 0x2000, ID(1)));
	process_table_finish_sync(&table, process, PROCESS_SYNCED, false, 1010);
	assert_true(is_stale_at(&table, 1020, ID(1)));
	sync_rows(&table, process, 1030, 1040, NULL, false);
	assert_true(is_stale_at(&table, 1040, ID(1)));
	assert_false(is_stale_at(&table, 1041, ID(1)));
	deinit_with(&table, process);
}

/* The loader maps a library while the maps are read, which have it already. */
static void a_mapping_that_was_read_is_not_mapped_over(void **state)
{
	const struct mapping_row row = { .start = 0x2000, .end = 0x3000, .executable_id = ID(1) };
	const struct mapped_file file = { .inode = 5, .device_major = 8, .origin = 0x1000 };
	const struct side_band_event mapping = {
		.type = SIDE_BAND_MAPPING,
		.time_ns = 1005,
		.pid = 7,
		.device_major = 8,
		.start = 0x2000,
		.length = 0x1000,
		.offset = 0x1000,
		.inode = 5,
		.path = "",
	};
	struct side_band_event others[] = { mapping, mapping, mapping, mapping };
	struct process_table table;
	struct process *process;

	(void)state;
	others[0].inode = 6;
	others[1].device_minor = 1;
	others[2].offset = 0x2000;
	/* The maps had been read by then. */
	others[3].time_ns = 1008;
	for (int when = 0; when < 2; when++)
		for (int i = -1; i < 4; i++) {
			const struct side_band_event *event = i < 0 ? &mapping : &others[i];

			process_table_init(&table);
			process = add(&table, 7, 100, 1, 1000);
			process_table_begin_sync(&table, process, 1000);
			if (!when)
				process_table_note_mapping(&table, event);
			process_table_prepare_rows(&table, process,
						   mapping_table_create_read(&row, &file, 1, 1008));
			process_table_finish_sync(&table, process, PROCESS_SYNCED, false, 1010);
			if (when)
				assert_int_equal(process_table_note_mapping(&table, event),
						 i < 0 ? MAPPING_ADDED : MAPPING_REPLACED);
			assert_int_equal(is_stale_at(&table, 1020, ID(1)), i >= 0);
			deinit_with(&table, process);
		}
}

/* A library that is loaded and unloaded by turns with another one, while the maps are read. */
static void what_is_mapped_over_twice_stays_stale_until_it_is_read_again(void **state)
{
	struct process_table table;
	struct process *process;

	(void)state;
	process = init_with_row(&table);
	note_mapping(&table, 7, 0x1000, 0x1000, 2000);
	process_table_begin_sync(&table, process, 2100);
	/* The first file is back when the maps are read, so that no row has changed, and goes again. */
	note_mapping(&table, 7, 0x1000, 0x1000, 2110);
	note_mapping(&table, 7, 0x1000, 0x1000, 2120);
	process_table_finish_sync(&table, process, PROCESS_SYNCED, false, 2130);
	assert_true(is_stale_at(&table, 2130, ID(1)));
	assert_true(is_stale_at(&table, 2140, ID(1)));
	sync_rows(&table, process, 2200, 2210, one_row(0x1000, 0x2000, ID(2)), true);
	assert_true(is_stale_at(&table, 2210, ID(1)));
	assert_false(is_stale_at(&table, 2211, ID(1)));
	deinit_with(&table, process);
}

static void news_of_a_mapping_that_was_read_already_needs_no_sync(void **state)
{
	struct process_table table;
	struct process *process;

	(void)state;
	process_table_init(&table);
	process = add(&table, 7, 100, 1, 1000);
	sync_rows(&table, process, 1000, 1010, one_row(0x1000, 0x2000, ID(1)), false);
	assert_int_equal(note_mapping(&table, 7, 0x1000, 0x1000, 990), MAPPING_KNOWN);
	assert_false(is_stale_at(&table, 1020, ID(1)));
	/* Another file was replaced: its frames are stale, those of the new file are not. */
	sync_rows(&table, process, 2000, 2010, one_row(0x1000, 0x2000, ID(2)), true);
	assert_int_equal(note_mapping(&table, 7, 0x1000, 0x1000, 1990), MAPPING_REPLACED);
	assert_true(is_stale_at(&table, 1995, ID(1)));
	assert_true(is_stale_at(&table, 2009, ID(1)));
	assert_false(is_stale_at(&table, 2011, ID(1)));
	assert_false(is_stale_at(&table, 1995, ID(2)));
	deinit_with(&table, process);
}

static void too_many_stale_executables_make_everything_stale(void **state)
{
	struct mapping_row rows[PROCESS_MAX_STALE + 1];
	struct process_table table;
	struct process *process;

	(void)state;
	process_table_init(&table);
	process = add(&table, 7, 100, 1, 1000);
	for (uint32_t i = 0; i < PROCESS_MAX_STALE + 1; i++)
		rows[i] = (struct mapping_row){ .start = i * 0x1000,
						.end = (i + 1) * 0x1000,
						.executable_id = ID(i + 1) };
	sync_rows(&table, process, 1000, 1001, mapping_table_create(rows, PROCESS_MAX_STALE + 1),
		  false);
	note_mapping(&table, 7, 0, 0x1000 * (PROCESS_MAX_STALE + 1), 2000);
	assert_true(is_stale_at(&table, 2000, ID(999)));
	assert_false(is_stale_at(&table, 1999, ID(999)));
	sync_rows(&table, process, 2100, 2200, NULL, false);
	assert_false(is_stale_at(&table, 2201, ID(1)));
	/* Each may have been mapped over again since the reading. */
	note_mapping(&table, 7, 0, 0x1000, 3000);
	process_table_begin_sync(&table, process, 3100);
	note_mapping(&table, 7, 0, 0x1000 * (PROCESS_MAX_STALE + 1), 3110);
	process_table_finish_sync(&table, process, PROCESS_SYNCED, false, 3120);
	assert_true(is_stale_at(&table, 3105, ID(1)));
	assert_true(is_stale_at(&table, 3130, ID(PROCESS_MAX_STALE + 1)));
	sync_rows(&table, process, 3200, 3210, NULL, false);
	assert_false(is_stale_at(&table, 3211, ID(1)));
	deinit_with(&table, process);
}

static void samples_from_before_a_loss_see_the_rows_that_last(void **state)
{
	const struct mapping_row first[] = {
		{ .start = 0x1000, .end = 0x3000, .executable_id = ID(1) },
		{ .start = 0x4000, .end = 0x5000, .executable_id = ID(2) },
		{ .start = 0x6000, .end = 0x7000, .executable_id = ID(3) },
		{ .start = 0x8000, .end = 0x9000, .executable_id = ID(4) },
	};
	const struct mapping_row second[] = {
		{ .start = 0x2000, .end = 0x4000, .executable_id = ID(1) },
		{ .start = 0x4000, .end = 0x5000, .executable_id = ID(2), .bias = 0x1000 },
		{ .start = 0x6000, .end = 0x7000, .executable_id = ID(5) },
		{ .start = 0x8000, .end = 0x9000, .executable_id = ID(4) },
	};
	struct process_identity identity = identity_of(100, 1);
	struct process_table table;
	struct process_view view;
	struct process *process;

	(void)state;
	process_table_init(&table);
	process = add(&table, 7, 100, 1, 1000);
	sync_rows(&table, process, 1000, 1001, mapping_table_create(first, 4), false);
	sync_rows(&table, process, 2000, 2001, mapping_table_create(second, 4), true);
	process_table_view(&table, 7, &identity, 1500, &view);
	assert_true(view.has_lost_rows);
	assert_int_equal(view.rows->count, 2);
	assert_int_equal(view.rows->rows[0].start, 0x2000);
	assert_int_equal(view.rows->rows[0].end, 0x3000);
	assert_int_equal(view.rows->rows[1].executable_id, ID(4));
	process_view_release(&table, &view);
	process_table_view(&table, 7, &identity, 2001, &view);
	assert_false(view.has_lost_rows);
	assert_int_equal(view.rows->count, 4);
	process_view_release(&table, &view);
	/* Rows that were lost and are back have not lasted. */
	sync_rows(&table, process, 3000, 3001, mapping_table_create(first, 4), true);
	process_table_view(&table, 7, &identity, 1500, &view);
	assert_int_equal(view.rows->count, 2);
	process_view_release(&table, &view);
	/* Samples are handled within seconds. */
	sync_rows(&table, process, 20 * NS_PER_SECOND, 20 * NS_PER_SECOND,
		  mapping_table_create(first + 1, 3), true);
	process_table_view(&table, 7, &identity, 19 * NS_PER_SECOND, &view);
	assert_int_equal(view.rows->count, 3);
	process_view_release(&table, &view);
	deinit_with(&table, process);
}

static void the_generation_changes_only_when_rows_are_lost(void **state)
{
	struct process_table table;
	struct process *process;
	uint64_t generation;

	(void)state;
	process_table_init(&table);
	process = add(&table, 7, 100, 1, 1000);
	generation = process->generation;
	sync_rows(&table, process, 1000, 1001, one_row(0x1000, 0x2000, ID(1)), false);
	assert_int_equal(process->generation, generation);
	sync_rows(&table, process, 2000, 2001, one_row(0x1000, 0x2000, ID(2)), true);
	assert_true(process->generation > generation);
	deinit_with(&table, process);
}

static struct process *add_fork(struct process_table *table, uint32_t pid, uint64_t start_ns,
				uint64_t exec_id, uint32_t parent_pid)
{
	struct process *child = add(table, pid, start_ns, exec_id, start_ns + 1000);

	child->parent_pid = parent_pid;
	child->is_fork = true;
	return child;
}

static void a_fork_without_exec_has_its_parent_as_model(void **state)
{
	struct process_table table;
	struct process *parent, *child;

	(void)state;
	process_table_init(&table);
	parent = add(&table, 7, 100, 3, 1000);
	sync_rows(&table, parent, 1000, 1001, one_row(0x1000, 0x2000, ID(1)), false);
	child = add_fork(&table, 8, 4999, 3, 7);
	assert_ptr_equal(process_table_fork_parent(&table, child), parent);
	process_table_remove(&table, child);
	process_table_remove(&table, parent);
	process_table_deinit(&table);
}

static void a_child_that_may_run_something_else_has_no_model(void **state)
{
	struct process_table table;
	struct process *parent, *execed, *orphan, *late;

	(void)state;
	process_table_init(&table);
	parent = add(&table, 7, 100, 3, 1000);
	sync_rows(&table, parent, 1000, 1001, one_row(0x1000, 0x2000, ID(1)), false);

	execed = add_fork(&table, 8, 5000, 4, 7);
	assert_null(process_table_fork_parent(&table, execed));
	/* Its parent may be another one by now. */
	orphan = add(&table, 9, 5000, 3, 6000);
	orphan->parent_pid = 7;
	assert_null(process_table_fork_parent(&table, orphan));
	/* The parent's maps changed after the fork. */
	sync_rows(&table, parent, 7000, 7001, one_row(0x1000, 0x2000, ID(2)), true);
	late = add_fork(&table, 11, 6500, 3, 7);
	assert_null(process_table_fork_parent(&table, late));

	process_table_remove(&table, execed);
	process_table_remove(&table, orphan);
	process_table_remove(&table, late);
	process_table_remove(&table, parent);
	process_table_deinit(&table);
}

static void rows_are_settled_unless_another_program_was_heard_of(void **state)
{
	struct process_identity identity = identity_of(100, 1), next = identity_of(100, 2);
	struct process_table table;
	struct process_view view;
	struct process *process;

	(void)state;
	process_table_init(&table);
	process = add(&table, 7, 100, 1, 1000);
	sync_rows(&table, process, 1000, 1010, one_row(0x1000, 0x2000, ID(1)), false);
	process_table_view(&table, 7, &identity, 1020, &view);
	assert_false(view.is_settled);
	process_table_settle(&table, &view);
	assert_true(process->is_settled);
	/* Once they are, what comes later does not change that. */
	process_table_note_program(&table, 7, &identity);
	assert_false(process->is_superseded);
	process_table_note_program(&table, 7, &next);
	assert_true(process->is_superseded && process->is_settled);
	/* But rows that were read again may be the other program's. */
	sync_rows(&table, process, 2000, 2010, one_row(0x1000, 0x2000, ID(2)), false);
	assert_false(process->is_settled);
	process_view_release(&table, &view);
	process_table_view(&table, 7, &identity, 1020, &view);
	process_table_settle(&table, &view);
	assert_false(process->is_settled);
	process_view_release(&table, &view);
	deinit_with(&table, process);
}

/* Sync comes to the news late: two programs of one pid, and the maps are the second's. */
static void what_is_added_after_its_successor_was_heard_of_is_superseded(void **state)
{
	struct process_identity next = identity_of(100, 2),
				other = identity_of(30ULL * 86400 * NS_PER_SECOND, 1);
	struct process_table table;
	struct process *process;

	(void)state;
	process_table_init(&table);
	process_table_note_program(&table, 7, &next);
	/* Older news change nothing. */
	process_table_note_program(&table, 7, &(struct process_identity){ 100, 1 });
	process = add(&table, 7, 100, 1, 1000);
	assert_true(process->is_superseded);
	process_table_remove(&table, process);
	process = add(&table, 7, 100, 2, 1000);
	assert_false(process->is_superseded);
	process_table_remove(&table, process);
	process = add(&table, 8, 100, 1, 1000);
	assert_false(process->is_superseded);
	process_table_remove(&table, process);
	/* The pid was used again. */
	process_table_note_program(&table, 7, &other);
	process = add(&table, 7, 100, 3, 1000);
	assert_true(process->is_superseded);
	process_table_remove(&table, process);
	process_table_note_program(&table, 7, &next);
	process = add(&table, 7, 30ULL * 86400 * NS_PER_SECOND, 1, 1000);
	assert_false(process->is_superseded);
	process_table_remove(&table, process);
	process_table_forget_news(&table);
	process_table_forget_news(&table);
	process = add(&table, 7, 100, 3, 1000);
	assert_false(process->is_superseded);
	deinit_with(&table, process);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_identity_in_a_pid_is_another_process),
		cmocka_unit_test(an_older_identity_than_the_present_one_is_refused),
		cmocka_unit_test(a_view_outlives_the_removal_of_its_process),
		cmocka_unit_test(what_is_mapped_over_is_stale_until_the_next_table),
		cmocka_unit_test(what_is_mapped_elsewhere_makes_nothing_stale),
		cmocka_unit_test(a_mapping_during_a_sync_makes_the_new_rows_stale),
		cmocka_unit_test(a_mapping_that_was_read_is_not_mapped_over),
		cmocka_unit_test(what_is_mapped_over_twice_stays_stale_until_it_is_read_again),
		cmocka_unit_test(news_of_a_mapping_that_was_read_already_needs_no_sync),
		cmocka_unit_test(too_many_stale_executables_make_everything_stale),
		cmocka_unit_test(samples_from_before_a_loss_see_the_rows_that_last),
		cmocka_unit_test(the_generation_changes_only_when_rows_are_lost),
		cmocka_unit_test(rows_are_settled_unless_another_program_was_heard_of),
		cmocka_unit_test(what_is_added_after_its_successor_was_heard_of_is_superseded),
		cmocka_unit_test(a_fork_without_exec_has_its_parent_as_model),
		cmocka_unit_test(a_child_that_may_run_something_else_has_no_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
