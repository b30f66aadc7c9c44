/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts are this program, started again (runtime_hosts_test.c). A process whose memory does not answer is one whose maps
 * are a FIFO that nobody has opened for writing.
 */
#include "agent/runtimes/proc_hosts.h"

#include "lib/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/runtimes/host_pool.h"
#include "agent/runtimes/tests/live_hosts.h"
#include "lib/base/clock.h"
#include "lib/host/tests/proc_fixture.h"
#include "lib/model/hanging_processes.h"

#define LINE "1000-3000 r-xp 00000000 08:01 7 /bin/it\n"

struct fixture {
	char root[64];
	struct proc_hosts *hosts;
	struct proc_home *home;
	struct proc_home *other_home;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	/* The first answer comes when the host has started, which takes long on a busy machine. */
	const struct proc_hosts_options options = {
		.proc_root = fixture->root,
		.first_keys_max_ns = 60 * NS_PER_SECOND,
	};

	snprintf(fixture->root, sizeof(fixture->root), "/tmp/proc_hosts_test.XXXXXX");
	assert_non_null(mkdtemp(fixture->root));
	assert_int_equal(proc_hosts_create(&options, &fixture->hosts), 0);
	fixture->home = proc_hosts_home(fixture->hosts, PROC_SYNC);
	fixture->other_home = proc_hosts_home(fixture->hosts, PROC_LOAD);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	proc_hosts_destroy(fixture->hosts);
	assert_int_equal(find_host(-1), -1);
	remove_folder(fixture->root);
	free(fixture);
	return 0;
}

static void write_maps(const struct fixture *fixture, uint32_t pid, const char *text)
{
	char name[64];

	snprintf(name, sizeof(name), "%u/maps", pid);
	write_fake_file(fixture->root, name, text);
}

static void maps_path(const struct fixture *fixture, uint32_t pid, char path[256])
{
	snprintf(path, 256, "%s/%u/maps", fixture->root, pid);
}

/* Links the file that process 7 has mapped there to @target. */
static void link_mapping(const struct fixture *fixture, const char *range, const char *target)
{
	char path[256];

	write_fake_file(fixture->root, "7/map_files/0-1000", "");
	snprintf(path, sizeof(path), "%s/7/map_files/%s", fixture->root, range);
	assert_int_equal(symlink(target, path), 0);
}

/* From now on a reader of the process's maps waits for answer(). */
static void fall_silent(struct fixture *fixture, uint32_t pid)
{
	char path[256];

	write_maps(fixture, pid, "");
	maps_path(fixture, pid, path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
}

/* The reader that waits, and those to come, get a line. */
static void answer(struct fixture *fixture, uint32_t pid)
{
	char path[256];
	int fd;

	maps_path(fixture, pid, path);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(unlink(path), 0);
	write_maps(fixture, pid, LINE);
	assert_int_equal(write(fd, LINE, strlen(LINE)), strlen(LINE));
	close(fd);
}

static int read_by(struct proc_home *home, uint32_t pid)
{
	struct proc_maps maps = { 0 };
	int err = home->ops->read_maps(home, (pid_t)pid, &maps, NULL);

	if (!err) {
		assert_int_equal(maps.count, 1);
		assert_string_equal(maps.rows[0].path, "/bin/it");
	}
	proc_maps_deinit(&maps);
	return err;
}

static int read_maps(struct fixture *fixture, uint32_t pid)
{
	return read_by(fixture->home, pid);
}

static void maps_and_service_come_as_they_are_in_proc(void **state)
{
	static const char environment[] = "A=b\0OTEL_SERVICE_NAME=shop";
	struct fixture *fixture = *state;
	struct proc_first_read first = { .service_name = "before", .command_line = "before" };
	struct proc_maps maps = { 0 };

	write_maps(fixture, 7,
		   LINE "4000-5000 r--p 00000000 08:01 7 /bin/it\n"
			"6000-8000 r-xp 00002000 08:02 9 /lib/other\n"
			"9000-a000 r-xp 00000000 00:00 0\n");
	write_fake_bytes(fixture->root, "7/environ", environment, sizeof(environment));
	write_fake_bytes(fixture->root, "7/cmdline", "it\0-x", 6);
	write_fake_file(fixture->root, "7/task/7/stat", "7 (it) S 5 7 7 0");
	assert_int_equal(fixture->home->ops->read_maps(fixture->home, 7, &maps, &first), 0);
	assert_int_equal(maps.count, 3);
	assert_string_equal(maps.rows[0].path, "/bin/it");
	assert_string_equal(maps.rows[1].path, "/lib/other");
	assert_int_equal(maps.rows[1].offset, 0x2000);
	assert_string_equal(maps.rows[2].path, "");
	assert_string_equal(first.service_name, "shop");
	assert_string_equal(first.command_line, "it -x");
	assert_int_equal(first.parent_pid, 5);
	proc_maps_deinit(&maps);
	/* A parent that is known is not asked for. */
	first.parent_pid = 3;
	assert_int_equal(fixture->home->ops->read_maps(fixture->home, 7, &maps, &first), 0);
	assert_int_equal(first.parent_pid, 3);
	proc_maps_deinit(&maps);
	assert_true(fixture->home->ops->cpu_ns(fixture->home) > 0);
	assert_int_equal(fixture->other_home->ops->cpu_ns(fixture->other_home), 0);
	/* The text of the error comes along. */
	assert_int_equal(read_maps(fixture, 8), -ESRCH);
	assert_non_null(strstr(error_text(), "process 8 is gone"));
}

static void maps_that_do_not_fit_into_shared_memory_come_too(void **state)
{
	enum { ROWS = 3000, LINE_BYTES = 80 };
	struct fixture *fixture = *state;
	char *text = malloc(ROWS * LINE_BYTES), *end = text, path[32];
	struct proc_first_read first = { .device_count = 0 };
	struct proc_maps maps = { 0 };

	for (uint64_t i = 1; i <= ROWS; i++)
		end += snprintf(end, LINE_BYTES, "%lx-%lx r-xp 00000000 08:01 7 /lib/%lu\n",
				i << 12, (i + 1) << 12, i);
	write_maps(fixture, 7, text);
	free(text);
	/* With keys and without. */
	for (int is_new = 0; is_new < 2; is_new++) {
		assert_int_equal(fixture->home->ops->read_maps(fixture->home, 7, &maps,
							       is_new ? &first : NULL),
				 0);
		assert_int_equal(maps.count, ROWS);
		for (uint32_t i = 0; i < ROWS; i++) {
			snprintf(path, sizeof(path), "/lib/%u", i + 1);
			assert_string_equal(maps.rows[i].path, path);
		}
		proc_maps_deinit(&maps);
	}
}

static void keys_and_files_come_as_they_are_in_proc(void **state)
{
	struct fixture *fixture = *state;
	struct proc_mapping rows[] = {
		{ .start = 0x1000, .end = 0x2000 },
		{ .start = 0x4000, .end = 0x5000 },
	};
	const struct proc_maps maps = { .rows = rows, .count = 2 };
	struct mapped_key keys[2] = { { .err = -EAGAIN }, { .err = -EAGAIN } };
	struct proc_home *home = fixture->home;
	struct file_key key;
	struct stat status;
	int fd;

	assert_int_equal(stat("/proc/self/exe", &status), 0);
	rows[0].device_major = major(status.st_dev);
	rows[0].device_minor = minor(status.st_dev);
	link_mapping(fixture, "1000-2000", "/proc/self/exe");
	assert_int_equal(home->ops->read_keys(home, 7, &maps, UINT64_MAX, keys), 0);
	assert_int_equal(keys[0].err, 0);
	assert_int_equal(keys[0].key.inode, status.st_ino);
	assert_int_equal(keys[1].err, -ENOENT);
	/* Only what is asked for is read, and with no time left the first of it. */
	keys[0].err = keys[1].err = -EAGAIN;
	assert_int_equal(home->ops->read_keys(home, 7, &maps, 0, keys), 0);
	assert_int_equal(keys[0].err, 0);
	assert_int_equal(keys[1].err, -EAGAIN);
	assert_int_equal(home->ops->open_file(home, 7, &rows[0], &fd, &key), 0);
	assert_int_equal(key.inode, status.st_ino);
	close(fd);
	assert_int_equal(home->ops->open_file(home, 7, &rows[1], &fd, &key), -ENOENT);
}

static void of_many_keys_all_are_read(void **state)
{
	enum { ROWS = 2 * PROC_KEYS_MAX + 1 };
	struct fixture *fixture = *state;
	struct proc_mapping *rows = calloc(ROWS, sizeof(*rows));
	struct mapped_key *keys = calloc(ROWS, sizeof(*keys));
	const struct proc_maps maps = { .rows = rows, .count = ROWS };

	link_mapping(fixture, "1000-2000", "/proc/self/exe");
	for (uint32_t i = 0; i < ROWS; i++) {
		rows[i] = (struct proc_mapping){ .start = 0x10000 * i, .end = 0x10000 * i + 1 };
		keys[i].err = i % 2 ? -EAGAIN : -EIO;
	}
	rows[ROWS - 2] = (struct proc_mapping){ .start = 0x1000, .end = 0x2000 };
	assert_int_equal(fixture->home->ops->read_keys(fixture->home, 7, &maps, UINT64_MAX, keys),
			 0);
	for (uint32_t i = 0; i < ROWS - 2; i++)
		assert_int_equal(keys[i].err, i % 2 ? -ENOENT : -EIO);
	assert_int_equal(keys[ROWS - 2].err, 0);
	assert_int_equal(keys[ROWS - 1].err, -EIO);
	free(rows);
	free(keys);
}

static void keys_of_local_files_come_with_the_maps_of_a_new_process(void **state)
{
	struct fixture *fixture = *state;
	struct proc_first_read first = { .devices = { makedev(8, 1) }, .device_count = 1 };
	struct mapped_key keys[2] = { { .err = -EAGAIN }, { .err = -EAGAIN } };
	struct proc_home *home = fixture->home;
	struct proc_maps maps = { 0 };
	char path[256];

	write_maps(fixture, 7,
		   "1000-2000 r-xp 00000000 08:01 7 /bin/it\n"
		   "4000-5000 r-xp 00000000 08:02 7 /far/away\n");
	link_mapping(fixture, "1000-2000", "/proc/self/exe");
	link_mapping(fixture, "4000-5000", "/proc/self/exe");
	assert_int_equal(home->ops->read_maps(home, 7, &maps, &first), 0);
	/* The one on the device that was given is not read again; the other one was not read before. */
	snprintf(path, sizeof(path), "%s/7/map_files/1000-2000", fixture->root);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(home->ops->read_keys(home, 7, &maps, UINT64_MAX, keys), 0);
	assert_int_equal(keys[0].err, 0);
	assert_int_equal(keys[1].err, 0);
	/* The keys of the first read are returned only once. */
	keys[0].err = -EAGAIN;
	assert_int_equal(home->ops->read_keys(home, 7, &maps, UINT64_MAX, keys), 0);
	assert_int_equal(keys[0].err, -ENOENT);
	/* They are returned for that process only. */
	link_mapping(fixture, "1000-2000", "/proc/self/exe");
	proc_maps_deinit(&maps);
	assert_int_equal(home->ops->read_maps(home, 7, &maps, &first), 0);
	keys[0].err = -EAGAIN;
	assert_int_equal(home->ops->read_keys(home, 9, &maps, UINT64_MAX, keys), 0);
	assert_int_equal(keys[0].err, -ENOENT);
	proc_maps_deinit(&maps);
}

static void a_file_of_another_file_system_than_the_maps_said_is_not_opened(void **state)
{
	struct fixture *fixture = *state;
	const struct proc_mapping row = { .start = 0x1000, .end = 0x2000, .device_major = 8 };
	struct file_key key;
	int fd;

	link_mapping(fixture, "1000-2000", "/proc/version");
	assert_int_equal(fixture->home->ops->open_file(fixture->home, 7, &row, &fd, &key), -ENOENT);
	assert_string_equal(error_text(), "another file is mapped there");
}

static void the_host_may_look_into_processes_and_has_no_descriptors_but_its_own(void **state)
{
	const uint64_t kept = 1ULL << CAP_SYS_PTRACE | 1ULL << CAP_DAC_READ_SEARCH |
			      1ULL << CAP_CHECKPOINT_RESTORE;
	struct fixture *fixture = *state;
	uint64_t permitted, effective;
	char path[64], target[64];
	pid_t host;

	write_maps(fixture, 7, LINE);
	assert_int_equal(read_maps(fixture, 7), 0);
	host = find_host(-1);
	assert_true(host > 0);
	read_confinement(host, &permitted, &effective);
	assert_int_equal(permitted, kept);
	assert_int_equal(effective, kept);
	for (int fd = 0; fd < 256; fd++) {
		ssize_t size;

		snprintf(path, sizeof(path), "/proc/%d/fd/%d", host, fd);
		size = readlink(path, target, sizeof(target) - 1);
		if (size <= 0)
			continue;
		target[size] = '\0';
		assert_true(!strcmp(target, "/dev/null") || !strncmp(target, "socket:", 7));
	}
}

static void a_host_that_ended_by_itself_costs_one_read(void **state)
{
	struct fixture *fixture = *state;

	write_maps(fixture, 7, LINE);
	assert_int_equal(read_maps(fixture, 7), 0);
	signal_host(find_host(-1), SIGKILL);
	assert_int_equal(read_maps(fixture, 7), -EBUSY);
	assert_int_equal(read_maps(fixture, 7), 0);
}

static void a_process_that_does_not_answer_costs_one_wait(void **state)
{
	struct fixture *fixture = *state;
	uint32_t pids[HANGING_PROCESSES_MAX];
	uint64_t begin_ns;

	fall_silent(fixture, 7);
	write_maps(fixture, 8, LINE);
	assert_int_equal(read_maps(fixture, 8), 0);
	begin_ns = clock_monotonic_ns();
	assert_int_equal(read_maps(fixture, 7), -EHOSTDOWN);
	assert_true(clock_monotonic_ns() >= begin_ns + PROC_HANG_NS);
	assert_int_equal(hanging_processes_list(clock_monotonic_ns(), pids), 1);
	assert_int_equal(pids[0], 7);
	assert_int_equal(proc_hosts_hanging_count(fixture->hosts), 1);
	/* From now on all callers know that the process hangs. */
	begin_ns = clock_monotonic_ns();
	assert_int_equal(read_maps(fixture, 7), -EHOSTDOWN);
	assert_int_equal(read_by(fixture->other_home, 7), -EHOSTDOWN);
	assert_int_equal(read_maps(fixture, 8), 0);
	assert_int_equal(read_by(fixture->other_home, 8), 0);
	assert_true(clock_monotonic_ns() < begin_ns + PROC_HANG_NS);
	answer(fixture, 7);
	/* The host that waited has to end first. */
	while (read_maps(fixture, 7) == -EHOSTDOWN)
		usleep(1000);
	assert_int_equal(read_maps(fixture, 7), 0);
	assert_int_equal(proc_hosts_hanging_count(fixture->hosts), 0);
}

static void one_user_keeps_others_waiting_for_so_long_only(void **state)
{
	enum { HELD_COUNT = PROC_WAITS_NS / PROC_HANG_NS, OTHER = 100, FOREIGN, FOREIGNER = 1234 };
	struct fixture *fixture = *state;
	uint32_t pid = 0;
	char path[256];

	write_maps(fixture, OTHER, LINE);
	write_maps(fixture, FOREIGN, LINE);
	snprintf(path, sizeof(path), "%s/%d", fixture->root, FOREIGN);
	if (chown(path, FOREIGNER, FOREIGNER))
		skip();
	while (pid < 2 * HELD_COUNT && read_maps(fixture, OTHER) == 0) {
		fall_silent(fixture, ++pid);
		assert_int_equal(read_maps(fixture, pid), -EHOSTDOWN);
	}
	/* Each was seen to wait for a second, or a little less. */
	assert_in_range(pid, HELD_COUNT, HELD_COUNT + 1);
	assert_int_equal(read_maps(fixture, OTHER), -EBUSY);
	assert_int_equal(read_maps(fixture, FOREIGN), 0);
}

static void many_users_together_keep_others_waiting_for_so_long_only(void **state)
{
	enum { HALF = PROC_ALL_WAITS_NS / 2 / PROC_HANG_NS, FIRST_USER = 2000 };
	struct fixture *fixture = *state;
	uint64_t begin_ns;
	char path[256];

	for (uint32_t pid = 1; pid <= HALF + 2; pid++) {
		fall_silent(fixture, pid);
		snprintf(path, sizeof(path), "%s/%u", fixture->root, pid);
		if (chown(path, FIRST_USER + pid, FIRST_USER + pid))
			skip();
		begin_ns = clock_monotonic_ns();
		assert_int_equal(read_maps(fixture, pid), -EHOSTDOWN);
	}
	assert_true(clock_monotonic_ns() < begin_ns + PROC_HANG_NS / 2);
}

static void the_stop_and_the_end_wait_for_nobody(void **state)
{
	struct fixture *fixture = *state;
	uint64_t begin_ns;

	fall_silent(fixture, 7);
	assert_int_equal(read_maps(fixture, 7), -EHOSTDOWN);
	begin_ns = clock_monotonic_ns();
	fixture->home->ops->stop(fixture->home);
	write_maps(fixture, 8, LINE);
	assert_int_equal(read_maps(fixture, 8), -EBUSY);
	proc_hosts_destroy(fixture->hosts);
	fixture->hosts = NULL;
	assert_true(clock_monotonic_ns() < begin_ns + PROC_HANG_NS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(maps_and_service_come_as_they_are_in_proc),
		TEST(maps_that_do_not_fit_into_shared_memory_come_too),
		TEST(keys_and_files_come_as_they_are_in_proc),
		TEST(of_many_keys_all_are_read),
		TEST(keys_of_local_files_come_with_the_maps_of_a_new_process),
		TEST(a_file_of_another_file_system_than_the_maps_said_is_not_opened),
		TEST(the_host_may_look_into_processes_and_has_no_descriptors_but_its_own),
		TEST(a_host_that_ended_by_itself_costs_one_read),
		TEST(a_process_that_does_not_answer_costs_one_wait),
		TEST(one_user_keeps_others_waiting_for_so_long_only),
		TEST(many_users_together_keep_others_waiting_for_so_long_only),
		TEST(the_stop_and_the_end_wait_for_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
