/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <sys/prctl.h>

#include "agent/host/proc_info.h"
#include "agent/host/tests/proc_fixture.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

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

static void stat_is_parsed_whatever_the_comm(void **state)
{
	struct proc_stat stat;

	(void)state;
	write_fake_file(
		folder, "5/stat",
		"5 (a) R 1 (b)) S 77 5 5 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 12 0 9876543 100 1\n");
	assert_int_equal(proc_stat_read(folder, 5, &stat), 0);
	assert_string_equal(stat.comm, "a) R 1 (b)");
	assert_int_equal(stat.state, 'S');
	assert_int_equal(stat.parent_pid, 77);
	assert_int_equal(stat.thread_count, 12);
	assert_int_equal(stat.start_time_ticks, 9876543);
	assert_false(stat.is_kernel_thread);
	write_fake_file(folder, "5/stat",
			"5 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 8 0");
	assert_int_equal(proc_stat_read(folder, 5, &stat), 0);
	assert_true(stat.is_kernel_thread);
}

static void malformed_stat_is_bad(void **state)
{
	static const char *const texts[] = { "", "5", "5 (", ") (", "5 (a) S", "5 (a) S x y z" };
	struct proc_stat stat;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		write_fake_file(folder, "5/stat", texts[i]);
		assert_int_equal(proc_stat_read(folder, 5, &stat), -EBADMSG);
	}
	assert_int_equal(proc_stat_read(folder, 6, &stat), -ESRCH);
}

static void this_process_is_seen_as_it_is(void **state)
{
	char comm[PROC_COMM_BYTES], path[PROC_PATH_MAX_BYTES], link[PROC_PATH_MAX_BYTES];
	struct pid_list processes, threads;
	struct proc_stat stat;
	bool is_listed = false;
	ssize_t length;

	(void)state;
	prctl(PR_SET_NAME, "odd (name");
	assert_int_equal(proc_stat_read("/proc", getpid(), &stat), 0);
	assert_string_equal(stat.comm, "odd (name");
	assert_int_equal(stat.parent_pid, getppid());
	assert_true(stat.start_time_ticks > 0);
	assert_int_equal(proc_comm_read("/proc", getpid(), comm), 0);
	assert_string_equal(comm, "odd (name");
	assert_int_equal(proc_thread_comm_read("/proc", getpid(), gettid(), comm), 0);
	assert_string_equal(comm, "odd (name");
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

static void comms_are_cut_and_lose_their_line_end(void **state)
{
	char comm[PROC_COMM_BYTES];

	(void)state;
	write_fake_file(folder, "5/comm", "short\n");
	assert_int_equal(proc_comm_read(folder, 5, comm), 0);
	assert_string_equal(comm, "short");
	write_fake_file(folder, "5/comm", "fifteen letters\n");
	assert_int_equal(proc_comm_read(folder, 5, comm), 0);
	assert_string_equal(comm, "fifteen letters");
	write_fake_file(folder, "5/comm", "kworker/u8:3-events_unbound\n");
	assert_int_equal(proc_comm_read(folder, 5, comm), 0);
	assert_string_equal(comm, "kworker/u8:3-ev");
	assert_int_equal(proc_comm_read(folder, 6, comm), -ESRCH);
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
}

static void the_cgroup_of_version_2_goes_first(void **state)
{
	char path[PROC_PATH_MAX_BYTES];

	(void)state;
	write_fake_file(folder, "5/cgroup",
			"12:cpu,cpuacct:/one\n1:name=systemd:/two:with colon\n0::/three:x\n");
	assert_int_equal(proc_cgroup_path(folder, 5, path), 0);
	assert_string_equal(path, "/three:x");
	write_fake_file(folder, "5/cgroup", "12:cpu,cpuacct:/one\n");
	assert_int_equal(proc_cgroup_path(folder, 5, path), 0);
	assert_string_equal(path, "/one");
	write_fake_file(folder, "5/cgroup", "rubbish\n:\n");
	assert_int_equal(proc_cgroup_path(folder, 5, path), -ENOENT);
	assert_int_equal(proc_cgroup_path(folder, 6, path), -ESRCH);
}

static void container_ids_stand_by_themselves(void **state)
{
	static const char *const with_id[] = {
		"/docker/" ID,
		"/system.slice/docker-" ID ".scope",
		"/kubepods/besteffort/podffffffff-1111/" ID,
		"/kubepods.slice/cri-containerd-" ID ".scope/init",
	};
	static const char *const without[] = { "", "/", "/user.slice", "/docker/x" ID,
					       "/docker/" ID "0" };
	char id[CONTAINER_ID_BYTES] = "";

	(void)state;
	for (size_t i = 0; i < sizeof(with_id) / sizeof(with_id[0]); i++) {
		memset(id, 0, sizeof(id));
		assert_int_equal(container_id_of_cgroup(with_id[i], id), 0);
		assert_string_equal(id, ID);
	}
	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++)
		assert_int_equal(container_id_of_cgroup(without[i], id), -ENOENT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(stat_is_parsed_whatever_the_comm),
		TEST(malformed_stat_is_bad),
		TEST(this_process_is_seen_as_it_is),
		TEST(comms_are_cut_and_lose_their_line_end),
		TEST(an_executable_is_known_when_the_leader_has_exited),
		TEST(a_deleted_executable_loses_the_mark),
		TEST(lists_hold_numbers_only),
		TEST(the_cgroup_of_version_2_goes_first),
		TEST(container_ids_stand_by_themselves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
