/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>

#include "lib/host/proc_info.h"
#include "lib/host/tests/proc_fixture.h"

static char folder[64];

static int set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/proc_info_test_XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	remove_folder(folder);
	return 0;
}

static void this_process_is_seen_as_it_is(void **state)
{
	char path[PROC_PATH_MAX_BYTES], link[PROC_PATH_MAX_BYTES];
	struct pid_list processes, threads;
	bool is_listed = false;
	ssize_t length;

	(void)state;
	length = readlink("/proc/self/exe", link, sizeof(link) - 1);
	link[length] = '\0';
	assert_int_equal(proc_executable_path("/proc", getpid(), path), 0);
	assert_string_equal(path, link);
	assert_int_equal(proc_list_threads("/proc", getpid(), &threads), 0);
	assert_int_equal(threads.count, 1);
	assert_int_equal(threads.pids[0], getpid());
	pid_list_deinit(&threads);
	assert_int_equal(proc_list_processes("/proc", &processes), 0);
	for (uint32_t i = 0; i < processes.count; i++) {
		is_listed |= processes.pids[i] == getpid();
		assert_true(!i || processes.pids[i - 1] < processes.pids[i]);
	}
	assert_true(is_listed);
	pid_list_deinit(&processes);
}

static void an_executable_is_known_when_the_leader_has_exited(void **state)
{
	char path[PROC_PATH_MAX_BYTES], own[PROC_PATH_MAX_BYTES];
	pid_t pid = start_without_leader();

	(void)state;
	assert_int_equal(proc_executable_path("/proc", getpid(), own), 0);
	assert_int_equal(proc_executable_path("/proc", pid, path), 0);
	assert_string_equal(path, own);
	end_process(pid);
	assert_int_equal(proc_executable_path("/proc", pid, path), -ESRCH);
}

static void a_deleted_executable_loses_the_mark(void **state)
{
	char path[PROC_PATH_MAX_BYTES], link[128];

	(void)state;
	write_fake_file(folder, "5/comm", "x");
	snprintf(link, sizeof(link), "%s/5/exe", folder);
	assert_int_equal(symlink("/usr/bin/gone (deleted)", link), 0);
	assert_int_equal(proc_executable_path(folder, 5, path), 0);
	assert_string_equal(path, "/usr/bin/gone");
	unlink(link);
	assert_int_equal(proc_executable_path(folder, 5, path), -ENOENT);
}

static void lists_hold_numbers_only(void **state)
{
	struct pid_list list;

	(void)state;
	write_fake_file(folder, "30/comm", "x");
	write_fake_file(folder, "4/comm", "x");
	write_fake_file(folder, "self/comm", "x");
	write_fake_file(folder, "12x/comm", "x");
	write_fake_file(folder, "99999999999999999999/comm", "x");
	write_fake_file(folder, "-3/comm", "x");
	assert_int_equal(proc_list_processes(folder, &list), 0);
	assert_int_equal(list.count, 2);
	assert_int_equal(list.pids[0], 4);
	assert_int_equal(list.pids[1], 30);
	pid_list_deinit(&list);
	assert_int_equal(proc_list_threads(folder, 30, &list), -ESRCH);
	for (int tid = 30; tid < 60; tid++) {
		char name[64];

		snprintf(name, sizeof(name), "30/task/%d/comm", tid);
		write_fake_file(folder, name, "x");
	}
	assert_int_equal(proc_list_threads(folder, 30, &list), 0);
	assert_int_equal(list.count, 30);
	pid_list_deinit(&list);
}

struct tries {
	uint32_t count;
	pid_t good;
};

static int count_try(void *context, pid_t tid, const char *path)
{
	struct tries *tries = context;
	char expected[128];

	if (tries->count)
		snprintf(expected, sizeof(expected), "%s/40/task/%d/mem", folder, tid);
	else
		snprintf(expected, sizeof(expected), "%s/40/mem", folder);
	assert_string_equal(path, expected);
	tries->count++;
	return tries->count > 1 && tid == tries->good ? 0 : -ESRCH;
}

static void make_threads(int first, int end)
{
	for (int tid = first; tid < end; tid++) {
		char name[64];

		snprintf(name, sizeof(name), "40/task/%d/comm", tid);
		write_fake_file(folder, name, "x");
	}
}

static void threads_are_tried_for_a_leader_that_has_exited_but_not_all_of_a_million(void **state)
{
	struct tries tries = { .good = 45 };

	(void)state;
	assert_int_equal(proc_try_threads(folder, 40, "mem", count_try, &tries), -ESRCH);
	assert_int_equal(tries.count, 1);
	make_threads(40, 50);
	tries.count = 0;
	assert_int_equal(proc_try_threads(folder, 40, "mem", count_try, &tries), 0);
	assert_in_range(tries.count, 2, 11);
	make_threads(50, 80);
	tries = (struct tries){ .good = 0 };
	assert_int_equal(proc_try_threads(folder, 40, "mem", count_try, &tries), -ESRCH);
	assert_int_equal(tries.count, 1 + PROC_THREADS_TRIED);
}

static void a_name_and_a_parent_are_read(void **state)
{
	char comm[PROC_COMM_MAX_BYTES], own[PROC_COMM_MAX_BYTES];
	pid_t parent = 1;

	(void)state;
	write_fake_file(folder, "7/comm", "odd) R 9\nname\n");
	write_fake_file(folder, "7/task/7/stat", "7 (odd) R 9\nname) S 42 7 7 0 -1 4194560 1 0 0");
	assert_int_equal(proc_comm(folder, 7, comm), 0);
	assert_string_equal(comm, "odd) R 9\nname");
	assert_int_equal(proc_parent(folder, 7, &parent), 0);
	assert_int_equal(parent, 42);
	assert_int_equal(proc_comm(folder, 8, comm), -ESRCH);
	assert_int_equal(proc_parent(folder, 8, &parent), -ESRCH);
	write_fake_file(folder, "7/task/7/stat", "7 (x) S -3");
	assert_int_equal(proc_parent(folder, 7, &parent), -EBADMSG);
	write_fake_file(folder, "7/task/7/stat", "no stat");
	assert_int_equal(proc_parent(folder, 7, &parent), -EBADMSG);
	assert_int_equal(parent, 42);
	assert_int_equal(proc_parent("/proc", getpid(), &parent), 0);
	assert_int_equal(parent, getppid());
	prctl(PR_GET_NAME, own);
	assert_int_equal(proc_comm("/proc", getpid(), comm), 0);
	assert_string_equal(comm, own);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(this_process_is_seen_as_it_is),
		TEST(an_executable_is_known_when_the_leader_has_exited),
		TEST(a_deleted_executable_loses_the_mark),
		TEST(lists_hold_numbers_only),
		TEST(threads_are_tried_for_a_leader_that_has_exited_but_not_all_of_a_million),
		TEST(a_name_and_a_parent_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
