/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/file_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
	char folder[32];
	char output[64];
	struct file_folder opened;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	strcpy(fixture->folder, "/tmp/file_folder_XXXXXX");
	assert_non_null(mkdtemp(fixture->folder));
	snprintf(fixture->output, sizeof(fixture->output), "%s/output", fixture->folder);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	char command[64];

	file_folder_deinit(&fixture->opened);
	snprintf(command, sizeof(command), "rm -rf %s", fixture->folder);
	assert_int_equal(system(command), 0);
	free(fixture);
	return 0;
}

static void make(struct fixture *fixture, const char *name)
{
	int fd = -1;

	assert_int_equal(file_folder_make(&fixture->opened, name, &fd), 0);
	close(fd);
}

static void any_file_of_a_cache_may_be_made_moved_and_removed(void **state)
{
	struct fixture *fixture = *state;
	char path[64];
	int fd = -7;

	assert_int_equal(file_folder_init(&fixture->opened, FOLDER_CACHE, fixture->folder), 0);
	make(fixture, "a");
	assert_int_equal(file_folder_make(&fixture->opened, "a", &fd), -EEXIST);
	assert_int_equal(file_folder_move(&fixture->opened, "a", "b"), 0);
	snprintf(path, sizeof(path), "%s/b", fixture->folder);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(file_folder_remove(&fixture->opened, "b"), 0);
	assert_int_equal(file_folder_remove(&fixture->opened, "b"), -ENOENT);
	assert_int_equal(file_folder_make_unnamed(&fixture->opened, &fd), -EPERM);
	assert_int_equal(fd, -7);
}

static void nothing_outside_of_the_folder_is_touched(void **state)
{
	static const char *const names[] = { "", ".", "..", "../a", "a/b", "/tmp/a" };
	struct fixture *fixture = *state;
	struct folder_request request = { .kind = FOLDER_MAKE };
	char path[64];
	int fd = -7;

	assert_int_equal(file_folder_init(&fixture->opened, FOLDER_CACHE, fixture->folder), 0);
	make(fixture, "a");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(file_folder_make(&fixture->opened, names[i], &fd), -EPERM);
		assert_int_equal(file_folder_move(&fixture->opened, names[i], "a"), -EPERM);
		assert_int_equal(file_folder_move(&fixture->opened, "a", names[i]), -EPERM);
		assert_int_equal(file_folder_remove(&fixture->opened, names[i]), -EPERM);
	}
	/* A request of another process need not end its texts. */
	memset(request.name, 'a', sizeof(request.name));
	assert_int_equal(file_folder_do(&fixture->opened, &request, &fd), -EPERM);
	request = (struct folder_request){ .kind = 99, .name = "a" };
	assert_int_equal(file_folder_do(&fixture->opened, &request, &fd), -EPERM);
	/* Links are not followed. */
	snprintf(path, sizeof(path), "%s/link", fixture->folder);
	assert_int_equal(symlink("/tmp/nowhere", path), 0);
	assert_int_equal(file_folder_make(&fixture->opened, "link", &fd), -EEXIST);
	assert_int_equal(fd, -7);
}

static void in_the_folder_of_an_output_one_file_is_replaced(void **state)
{
	struct fixture *fixture = *state;
	int fd = -7;

	assert_int_equal(file_folder_init(&fixture->opened, FOLDER_OUTPUT, fixture->output), 0);
	assert_int_equal(file_folder_make(&fixture->opened, "other", &fd), -EPERM);
	assert_int_equal(file_folder_make(&fixture->opened, "output", &fd), -EPERM);
	assert_int_equal(file_folder_make(&fixture->opened, ".allframes-1", &fd), -EPERM);
	make(fixture, ".allframes-1.tmp");
	assert_int_equal(file_folder_remove(&fixture->opened, "output"), -EPERM);
	/* Whatever name is asked for, it is the output's. */
	assert_int_equal(file_folder_move(&fixture->opened, ".allframes-1.tmp", "other"), 0);
	assert_int_equal(access(fixture->output, F_OK), 0);
	make(fixture, ".allframes-2.tmp");
	assert_int_equal(file_folder_remove(&fixture->opened, ".allframes-2.tmp"), 0);
	assert_int_equal(fd, -7);
}

static void a_cache_must_be_ours_alone(void **state)
{
	struct fixture *fixture = *state;
	char link[64];

	assert_int_equal(chmod(fixture->folder, 0750), 0);
	assert_int_equal(file_folder_init(&fixture->opened, FOLDER_CACHE, fixture->folder), -EPERM);
	assert_int_equal(chmod(fixture->folder, 0700), 0);
	snprintf(link, sizeof(link), "%s/link", fixture->folder);
	assert_int_equal(symlink(fixture->folder, link), 0);
	assert_true(file_folder_init(&fixture->opened, FOLDER_CACHE, link) < 0);
	assert_int_equal(file_folder_init(&fixture->opened, FOLDER_CACHE, "/nowhere/cache"),
			 -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(any_file_of_a_cache_may_be_made_moved_and_removed),
		TEST(nothing_outside_of_the_folder_is_touched),
		TEST(in_the_folder_of_an_output_one_file_is_replaced),
		TEST(a_cache_must_be_ours_alone),
	};

	return cmocka_run_group_tests_name("file_folder", tests, NULL, NULL);
}
