/* SPDX-License-Identifier: Apache-2.0 */
/* A process whose memory does not answer is one whose maps are a FIFO that nobody has opened for writing. */
#include "agent/processes/guarded_reads.h"

#include "agent/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/base/hanging_processes.h"
#include "agent/host/tests/proc_fixture.h"
#include "agent/processes/tests/fakes.h"

#define LINE "1000-3000 r-xp 00000000 08:01 7 /bin/it\n"

struct fixture {
	struct fake_proc proc;
	struct guarded_reads *reads;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fake_proc_init(&fixture->proc);
	fixture->reads = guarded_reads_create(fixture->proc.root);
	assert_non_null(fixture->reads);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	guarded_reads_destroy(fixture->reads);
	fake_proc_deinit(&fixture->proc);
	free(fixture);
	return 0;
}

static void maps_path(const struct fixture *fixture, uint32_t pid, char path[256])
{
	snprintf(path, 256, "%s/%u/maps", fixture->proc.root, pid);
}

/* From now on a reader of the process's maps waits for answer(). */
static void fall_silent(struct fixture *fixture, uint32_t pid)
{
	char path[256];

	fake_proc_write(&fixture->proc, pid, "maps", "");
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
	fake_proc_write(&fixture->proc, pid, "maps", LINE);
	assert_int_equal(write(fd, LINE, strlen(LINE)), strlen(LINE));
	close(fd);
}

static int read_maps(struct fixture *fixture, uint32_t pid)
{
	struct proc_maps maps = { 0 };
	int err = guarded_maps_read(fixture->reads, (pid_t)pid, &maps, NULL);

	if (!err) {
		assert_int_equal(maps.count, 1);
		assert_string_equal(maps.rows[0].path, "/bin/it");
	}
	proc_maps_deinit(&maps);
	return err;
}

static void maps_and_service_come_as_without_a_guard(void **state)
{
	static const char environment[] = "A=b\0OTEL_SERVICE_NAME=shop";
	struct fixture *fixture = *state;
	char service_name[SERVICE_NAME_MAX_BYTES] = "before";
	struct proc_maps maps = { 0 };

	fake_proc_write(&fixture->proc, 7, "maps", LINE);
	write_fake_bytes(fixture->proc.root, "7/environ", environment, sizeof(environment));
	assert_int_equal(guarded_maps_read(fixture->reads, 7, &maps, service_name), 0);
	assert_int_equal(maps.count, 1);
	assert_string_equal(service_name, "shop");
	proc_maps_deinit(&maps);
	assert_true(guarded_reads_cpu_ns(fixture->reads) > 0);
	/* The text of the error comes along. */
	assert_int_equal(read_maps(fixture, 8), -ESRCH);
	assert_non_null(strstr(error_text(), "process 8 is gone"));
}

static void keys_and_files_come_as_without_a_guard(void **state)
{
	struct fixture *fixture = *state;
	struct proc_mapping rows[] = {
		{ .start = 0x1000, .end = 0x2000 },
		{ .start = 0x4000, .end = 0x5000 },
	};
	const struct proc_maps maps = { .rows = rows, .count = 2 };
	struct mapped_key keys[2] = { { .err = -EAGAIN }, { .err = -EAGAIN } };
	struct file_key key;
	struct stat status;
	int fd;

	assert_int_equal(stat("/proc/self/exe", &status), 0);
	write_fake_file(fixture->proc.root, "7/map_files/0-1000", "");
	fake_proc_link(&fixture->proc, 7, "map_files/1000-2000", "/proc/self/exe");
	assert_int_equal(guarded_keys_read(fixture->reads, 7, &maps, UINT64_MAX, keys), 0);
	assert_int_equal(keys[0].err, 0);
	assert_int_equal(keys[0].key.inode, status.st_ino);
	assert_int_equal(keys[1].err, -ENOENT);
	/* Only what is asked for is read, and with no time left the first of it. */
	keys[0].err = keys[1].err = -EAGAIN;
	assert_int_equal(guarded_keys_read(fixture->reads, 7, &maps, 0, keys), 0);
	assert_int_equal(keys[0].err, 0);
	assert_int_equal(keys[1].err, -EAGAIN);
	assert_int_equal(guarded_file_open(fixture->reads, 7, &rows[0], &fd, &key), 0);
	assert_int_equal(key.inode, status.st_ino);
	close(fd);
	assert_int_equal(guarded_file_open(fixture->reads, 7, &rows[1], &fd, &key), -ENOENT);
}

static void a_process_that_does_not_answer_costs_one_wait(void **state)
{
	struct fixture *fixture = *state;
	uint32_t pids[HANGING_PROCESSES_MAX];
	uint64_t begin_ns = clock_monotonic_ns();

	fall_silent(fixture, 7);
	fake_proc_write(&fixture->proc, 8, "maps", LINE);
	assert_int_equal(read_maps(fixture, 7), -EHOSTDOWN);
	assert_true(clock_monotonic_ns() >= begin_ns + GUARDED_HANG_NS);
	assert_int_equal(hanging_processes_list(clock_monotonic_ns(), pids), 1);
	assert_int_equal(pids[0], 7);
	/* From now on it is known. */
	begin_ns = clock_monotonic_ns();
	assert_int_equal(read_maps(fixture, 7), -EHOSTDOWN);
	assert_int_equal(read_maps(fixture, 8), 0);
	assert_true(clock_monotonic_ns() < begin_ns + GUARDED_HANG_NS);
	answer(fixture, 7);
	/* The thread that waited has to come back first. */
	while (read_maps(fixture, 7) == -EHOSTDOWN)
		usleep(1000);
	assert_int_equal(read_maps(fixture, 7), 0);
}

static void one_user_keeps_others_waiting_for_so_long_only(void **state)
{
	enum {
		HELD_COUNT = GUARDED_WAITS_NS / GUARDED_HANG_NS,
		OTHER = 100,
		FOREIGN,
		FOREIGNER = 1234
	};
	struct fixture *fixture = *state;
	uint32_t pid = 0;
	char path[256];

	fake_proc_write(&fixture->proc, OTHER, "maps", LINE);
	fake_proc_write(&fixture->proc, FOREIGN, "maps", LINE);
	snprintf(path, sizeof(path), "%s/%d", fixture->proc.root, FOREIGN);
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
	while (pid)
		answer(fixture, pid--);
}

static void the_stop_and_the_end_wait_for_nobody(void **state)
{
	struct fixture *fixture = *state;
	uint64_t begin_ns;

	fall_silent(fixture, 7);
	assert_int_equal(read_maps(fixture, 7), -EHOSTDOWN);
	begin_ns = clock_monotonic_ns();
	guarded_reads_stop(fixture->reads);
	fake_proc_write(&fixture->proc, 8, "maps", LINE);
	assert_int_equal(read_maps(fixture, 8), -EBUSY);
	guarded_reads_destroy(fixture->reads);
	fixture->reads = NULL;
	assert_true(clock_monotonic_ns() < begin_ns + GUARDED_HANG_NS);
	answer(fixture, 7);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(maps_and_service_come_as_without_a_guard),
		TEST(keys_and_files_come_as_without_a_guard),
		TEST(a_process_that_does_not_answer_costs_one_wait),
		TEST(one_user_keeps_others_waiting_for_so_long_only),
		TEST(the_stop_and_the_end_wait_for_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
