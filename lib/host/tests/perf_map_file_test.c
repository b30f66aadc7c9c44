/* SPDX-License-Identifier: Apache-2.0 */
/* A made-up process with a root of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/host/perf_map_file.h"

struct fixture {
	char proc[64];
	char file[160];
};

static void write_status(const char *proc, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/7/status", proc);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	char path[128], status[128];

	strcpy(fixture->proc, "/tmp/perf_map_test_XXXXXX");
	assert_non_null(mkdtemp(fixture->proc));
	snprintf(path, sizeof(path), "%s/7", fixture->proc);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/7/root", fixture->proc);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/7/root/tmp", fixture->proc);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(fixture->file, sizeof(fixture->file), "%s/perf-42.map", path);
	snprintf(status, sizeof(status), "Name:\tx\nUid:\t1\t%u\t1\t1\nNSpid:\t7\t9\t42\n",
		 getuid());
	write_status(fixture->proc, status);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", fixture->proc);
	assert_int_equal(system(command), 0);
	free(fixture);
	return 0;
}

static int try_open(struct fixture *fixture, int64_t since_ns)
{
	struct file_key key;
	int fd = -1;
	int err = perf_map_open(fixture->proc, 7, since_ns, &fd, &key);

	if (!err)
		close(fd);
	return err;
}

static void make_file(struct fixture *fixture)
{
	int fd = open(fixture->file, O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "1 1 a\n", 6), 6);
	close(fd);
}

static void the_file_has_the_innermost_pid_and_is_younger_than_the_process(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(try_open(fixture, 0), -ENOENT);
	make_file(fixture);
	assert_int_equal(try_open(fixture, 0), 0);
	assert_int_equal(try_open(fixture, (int64_t)(clock_realtime_ns() + NS_PER_SECOND)),
			 -ENOENT);
	write_status(fixture->proc, "Name:\tx\n");
	assert_int_equal(try_open(fixture, 0), -EBADMSG);
}

static void a_file_of_somebody_else_is_not_read(void **state)
{
	struct fixture *fixture = *state;

	make_file(fixture);
	if (chown(fixture->file, 12345, 12345))
		skip();
	assert_int_equal(try_open(fixture, 0), -ENOENT);
	write_status(fixture->proc, "Uid:\t1\t12345\t1\t1\nNSpid:\t42\n");
	/* One pid namespace has one number, behind a tab as well. */
	assert_int_equal(try_open(fixture, 0), 0);
}

static void links_and_fifos_are_not_opened(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(symlink("/etc/passwd", fixture->file), 0);
	assert_true(try_open(fixture, 0) < 0);
	assert_int_equal(unlink(fixture->file), 0);
	assert_int_equal(mkfifo(fixture->file, 0600), 0);
	assert_int_equal(try_open(fixture, 0), -EOPNOTSUPP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			the_file_has_the_innermost_pid_and_is_younger_than_the_process, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(a_file_of_somebody_else_is_not_read, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(links_and_fifos_are_not_opened, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
