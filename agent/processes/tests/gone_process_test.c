/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that are gone, and forks, whose rows come from the side-band or a parent. */
#include "agent/processes/tests/process_sync_fixture.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "ebpf/abi/frame.h"
#include "lib/base/clock.h"

static void a_process_that_is_gone_keeps_what_it_had(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add(fixture, 7, 100, 1);
	struct process *unread = add(fixture, 8, 100, 1);
	bool has_changed;

	make_process(fixture, 7, "/bin/ls");
	sync_process(fixture, process);
	fake_proc_deinit(&fixture->proc);
	mkdir(fixture->proc.root, 0755);
	assert_int_equal(process_sync_run(&fixture->sync, process, &nothing_touched, &has_changed),
			 -ESRCH);
	assert_int_equal(process->state, PROCESS_SYNCED);
	assert_int_equal(process->table->count, 1);
	assert_int_equal(process_sync_run(&fixture->sync, unread, &nothing_touched, &has_changed),
			 -ESRCH);
	assert_int_equal(unread->state, PROCESS_UNREADABLE);
	drop(fixture, process);
	drop(fixture, unread);
}

static struct process *add_fork(struct fixture *fixture, uint32_t pid, uint64_t start_ns,
				uint32_t parent_pid)
{
	struct process *child = add(fixture, pid, start_ns, 1);

	child->parent_pid = parent_pid;
	child->is_fork = true;
	return child;
}

/* Logs that @pid has mapped the first page of the file @path, or anonymous memory. */
static void log_mapping(struct fixture *fixture, uint32_t pid, uint64_t time_ns, uint64_t start,
			const char *path)
{
	struct side_band_event event = {
		.type = SIDE_BAND_MAPPING,
		.time_ns = time_ns,
		.pid = pid,
		.start = start,
		.length = 0x1000,
		.path = path,
	};
	struct stat status;

	if (!stat(path, &status)) {
		event.inode = status.st_ino;
		event.device_major = major(status.st_dev);
		event.device_minor = minor(status.st_dev);
	}
	mapping_log_add(&fixture->log, &event);
}

/* Adds a new process that runs /bin/ls according to the side-band. */
static struct process *add_gone(struct fixture *fixture, uint64_t now_ns)
{
	struct process *process = add(fixture, 7, now_ns, 1);

	make_process(fixture, getpid(), "/bin/ls");
	fake_proc_link(&fixture->proc, getpid(), "root", "/");
	log_mapping(fixture, 7, now_ns + 1, 0x400000, "/bin/ls");
	process->exec_ns = now_ns + 3;
	process->code_address = 0x400123;
	return process;
}

static void what_is_gone_has_the_rows_that_the_side_band_told_of(void **state)
{
	struct fixture *fixture = *state;
	uint64_t now_ns = clock_monotonic_ns();
	struct process *process = add_gone(fixture, now_ns);
	bool has_changed;

	log_mapping(fixture, 7, now_ns + 2, 0x500000, "/bin/cat");
	assert_int_equal(process_sync_run(&fixture->sync, process, &nothing_touched, &has_changed),
			 -ESRCH);
	assert_int_equal(process->state, PROCESS_SYNCED);
	assert_int_equal(process->table->count, 2);
	assert_int_equal(process->table->rows[0].start, 0x400000);
	assert_true(process->table->rows[0].executable_id >= EXECUTABLE_ID_FIRST);
	assert_true(process->table->rows[1].executable_id >= EXECUTABLE_ID_FIRST);
	assert_string_equal(process->info->executable_path, "/bin/ls");
	drop(fixture, process);
}

static void what_happened_to_it_is_waited_for(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add_gone(fixture, clock_monotonic_ns());
	bool has_changed;

	mapping_log_note_heard(&fixture->log, 0);
	assert_int_equal(process_sync_run(&fixture->sync, process, &nothing_touched, &has_changed),
			 -EAGAIN);
	assert_int_equal(process->state, PROCESS_NEW);
	mapping_log_note_heard(&fixture->log, clock_monotonic_ns());
	assert_int_equal(process_sync_run(&fixture->sync, process, &nothing_touched, &has_changed),
			 -ESRCH);
	assert_int_equal(process->state, PROCESS_SYNCED);
	drop(fixture, process);
}

static void another_process_of_its_pid_is_not_taken_for_it(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add_gone(fixture, clock_monotonic_ns());
	bool has_changed;

	make_process(fixture, 7, "/bin/cat");
	process_table_end(&fixture->table, process, clock_monotonic_ns());
	assert_int_equal(process_sync_run(&fixture->sync, process, &nothing_touched, &has_changed),
			 -ESRCH);
	assert_int_equal(process->mapping_count, 1);
	assert_string_equal(process->info->executable_path, "/bin/ls");
	drop(fixture, process);
}

static void a_program_whose_maps_were_read_too_late_is_told_of_by_the_side_band(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add_gone(fixture, clock_monotonic_ns());
	bool has_changed;

	/* The next program in its pid. */
	make_process(fixture, 7, "/bin/cat");
	fake_proc_link(&fixture->proc, 7, "exe", "/bin/cat");
	process->is_sampled = true;
	sync_process(fixture, process);
	assert_string_equal(process->info->executable_path, "/bin/cat");
	process_sync_doubt(&fixture->sync, process);
	process_table_end(&fixture->table, process, clock_monotonic_ns());
	assert_int_equal(process_sync_run(&fixture->sync, process, &nothing_touched, &has_changed),
			 -ESRCH);
	assert_int_equal(process->state, PROCESS_SYNCED);
	assert_int_equal(process->table->count, 1);
	assert_int_equal(process->table->rows[0].start, 0x400000);
	assert_string_equal(process->info->executable_path, "/bin/ls");
	drop(fixture, process);
}

static void files_that_changed_since_are_not_taken(void **state)
{
	struct fixture *fixture = *state;
	const char *path = "/tmp/changed_since.bin";
	uint64_t now_ns = clock_monotonic_ns();
	struct process *process = add_gone(fixture, now_ns);
	bool has_changed;

	assert_int_equal(system("cp /bin/cat /tmp/changed_since.bin"), 0);
	log_mapping(fixture, 7, now_ns + 2, 0x500000, path);
	assert_int_equal(process_sync_run(&fixture->sync, process, &nothing_touched, &has_changed),
			 -ESRCH);
	assert_int_equal(process->table->count, 1);
	assert_int_equal(process->table->rows[0].start, 0x400000);
	unlink(path);
	drop(fixture, process);
}

/* Adds a process @pid that was made at @start_ns and ran the file at @path according to the side-band. */
static struct process *add_gone_program(struct fixture *fixture, uint32_t pid, uint64_t start_ns,
					const char *path)
{
	struct process *process = add(fixture, pid, start_ns, 1);

	log_mapping(fixture, pid, start_ns + 1, 0x400000, path);
	process->exec_ns = start_ns + 2;
	process->code_address = 0x400123;
	return process;
}

static void a_file_that_is_open_is_not_looked_for_again(void **state)
{
	struct fixture *fixture = *state;
	struct process *first, *second, *third;
	bool has_changed;
	uint64_t now_ns;
	char root[256];

	make_process(fixture, getpid(), "/bin/ls");
	fake_proc_link(&fixture->proc, getpid(), "root", "/");
	assert_int_equal(system("cp /bin/cat /tmp/open_still.bin"), 0);
	/* A file that was written just now is not found again by its times. */
	usleep(150000);
	now_ns = clock_monotonic_ns();
	first = add_gone_program(fixture, 7, now_ns, "/tmp/open_still.bin");
	second = add_gone_program(fixture, 8, now_ns, "/tmp/open_still.bin");
	third = add_gone_program(fixture, 9, now_ns, "/tmp/open_still.bin");
	process_sync_run(&fixture->sync, first, &nothing_touched, &has_changed);
	assert_int_equal(first->table->count, 1);
	/* The file cannot be found by its path any more. */
	snprintf(root, sizeof(root), "%s/%d/root", fixture->proc.root, getpid());
	assert_int_equal(unlink(root), 0);
	process_sync_run(&fixture->sync, second, &nothing_touched, &has_changed);
	assert_int_equal(second->table->count, 1);
	assert_int_equal(second->table->rows[0].executable_id, first->table->rows[0].executable_id);
	assert_int_equal(system("echo >> /tmp/open_still.bin"), 0);
	process_sync_run(&fixture->sync, third, &nothing_touched, &has_changed);
	assert_true(!third->table || !third->table->count);
	drop(fixture, first);
	drop(fixture, second);
	drop(fixture, third);
	unlink("/tmp/open_still.bin");
}

static void what_was_read_before_it_was_gone_is_completed(void **state)
{
	struct fixture *fixture = *state;
	uint64_t now_ns = clock_monotonic_ns();
	struct process *process = add_gone(fixture, now_ns);
	uint64_t anonymous_id = EXECUTABLE_ID_ANONYMOUS;
	bool has_changed;

	make_process(fixture, 7, "/bin/ls");
	sync_process(fixture, process);
	assert_int_equal(process->table->count, 1);
	log_mapping(fixture, 7, clock_monotonic_ns(), 0x500000, "/bin/cat");
	log_mapping(fixture, 7, clock_monotonic_ns(), 0x600000, "//anon");
	process_table_end(&fixture->table, process, clock_monotonic_ns());
	assert_int_equal(process_sync_run(&fixture->sync, process, &nothing_touched, &has_changed),
			 -ESRCH);
	assert_int_equal(process->table->count, 3);
	assert_int_equal(process->table->rows[2].executable_id, anonymous_id);
	drop(fixture, process);
}

static void a_fork_that_is_gone_has_the_rows_of_its_parent(void **state)
{
	struct fixture *fixture = *state;
	struct process *parent = add(fixture, 7, 100, 1);
	uint64_t fork_ns;
	struct process *child;
	bool has_changed;

	make_process(fixture, 7, "/bin/ls");
	sync_process(fixture, parent);
	process_table_set_info(&fixture->table, parent,
			       process_info_create(&(struct process_info){
				       .pid = 7,
				       .executable_path = "/bin/ls",
				       .container_id = "c0ffee",
				       .service_name = "shop",
			       }));
	fork_ns = clock_monotonic_ns();
	child = add_fork(fixture, 8, fork_ns, 7);
	assert_int_equal(process_sync_run(&fixture->sync, child, &nothing_touched, &has_changed),
			 -ESRCH);
	assert_int_equal(child->state, PROCESS_SYNCED);
	assert_ptr_equal(child->table, parent->table);
	assert_ptr_equal(child->parent_table, parent->table);
	assert_int_equal(child->info->pid, 8);
	assert_string_equal(child->info->executable_path, "/bin/ls");
	assert_string_equal(child->info->container_id, "c0ffee");
	assert_string_equal(child->info->service_name, "shop");
	drop(fixture, child);
	drop(fixture, parent);
}

static void a_fork_that_lives_is_told_of_as_its_parent_is(void **state)
{
	struct fixture *fixture = *state;
	struct process *parent = add(fixture, 7, 100, 1);
	struct process *child;
	uint64_t fork_ns;

	make_process(fixture, 7, "/bin/ls");
	fake_proc_link(&fixture->proc, 7, "exe", "/bin/ls");
	make_process(fixture, 8, "/bin/ls");
	sync_process(fixture, parent);
	fork_ns = clock_monotonic_ns();
	child = add_fork(fixture, 8, fork_ns, 7);
	sync_process(fixture, child);
	assert_non_null(child->info);
	assert_string_equal(child->info->executable_path, "/bin/ls");
	assert_ptr_equal(child->table, parent->table);
	assert_ptr_equal(child->parent_table, parent->table);
	drop(fixture, child);
	drop(fixture, parent);
}

static void a_fork_that_mapped_something_does_not_have_the_rows_of_its_parent(void **state)
{
	struct fixture *fixture = *state;
	struct process *parent = add(fixture, 7, 100, 1);
	struct process *child, *gone;
	uint64_t fork_ns;
	bool has_changed;

	make_process(fixture, 7, "/bin/ls");
	fake_proc_link(&fixture->proc, 7, "exe", "/bin/ls");
	make_process(fixture, 8, "/bin/cat");
	sync_process(fixture, parent);
	fork_ns = clock_monotonic_ns();
	log_mapping(fixture, 8, fork_ns + 1, 0x1000, "//anon");
	child = add_fork(fixture, 8, fork_ns, 7);
	sync_process(fixture, child);
	assert_int_equal(child->state, PROCESS_SYNCED);
	assert_null(child->parent_table);
	/* It is a fork all the same. */
	assert_string_equal(child->info->executable_path, "/bin/ls");

	log_mapping(fixture, 9, fork_ns + 1, 0x1000, "//anon");
	gone = add_fork(fixture, 9, fork_ns, 7);
	gone->first_sample_ns = fork_ns + 2;
	assert_int_equal(process_sync_run(&fixture->sync, gone, &nothing_touched, &has_changed),
			 -ESRCH);
	assert_int_equal(gone->state, PROCESS_UNREADABLE);
	drop(fixture, gone);
	drop(fixture, child);
	drop(fixture, parent);
}

static void a_fork_has_the_rows_of_its_parent_until_it_maps_a_file(void **state)
{
	struct fixture *fixture = *state;
	struct process *parent = add(fixture, 7, 100, 1);
	struct process_view view;
	struct process *child;
	uint64_t fork_ns;
	bool has_changed;

	make_process(fixture, 7, "/bin/ls");
	sync_process(fixture, parent);
	fork_ns = clock_monotonic_ns();
	log_mapping(fixture, 8, fork_ns + 20, 0x1000, "/bin/cat");
	child = add_fork(fixture, 8, fork_ns, 7);
	child->first_sample_ns = fork_ns + 10;
	assert_int_equal(process_sync_run(&fixture->sync, child, &nothing_touched, &has_changed),
			 -ESRCH);
	assert_true(process_table_view(&fixture->table, 8, &child->identity, fork_ns + 19, &view));
	assert_true(view.has_parent_rows);
	assert_ptr_equal(view.rows, parent->table);
	process_view_release(&fixture->table, &view);
	assert_true(process_table_view(&fixture->table, 8, &child->identity, fork_ns + 20, &view));
	assert_false(view.has_parent_rows);
	assert_null(view.rows);
	process_view_release(&fixture->table, &view);
	drop(fixture, child);
	drop(fixture, parent);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_process_that_is_gone_keeps_what_it_had),
		TEST(what_is_gone_has_the_rows_that_the_side_band_told_of),
		TEST(what_happened_to_it_is_waited_for),
		TEST(another_process_of_its_pid_is_not_taken_for_it),
		TEST(a_program_whose_maps_were_read_too_late_is_told_of_by_the_side_band),
		TEST(files_that_changed_since_are_not_taken),
		TEST(a_file_that_is_open_is_not_looked_for_again),
		TEST(what_was_read_before_it_was_gone_is_completed),
		TEST(a_fork_that_is_gone_has_the_rows_of_its_parent),
		TEST(a_fork_that_lives_is_told_of_as_its_parent_is),
		TEST(a_fork_that_mapped_something_does_not_have_the_rows_of_its_parent),
		TEST(a_fork_has_the_rows_of_its_parent_until_it_maps_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
