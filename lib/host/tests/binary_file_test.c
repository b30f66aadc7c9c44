/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/host/binary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/host/mapped_file.h"

struct fixture {
	char folder[48];
	char path[64];
	struct binary *binary;
};

static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct binary values = { .executable_id = 1 };

	assert_non_null(fixture);
	snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/binary_file_test.%d", getpid());
	assert_int_equal(mkdir(fixture->folder, 0700), 0);
	snprintf(fixture->path, sizeof(fixture->path), "%s/file", fixture->folder);
	write_file(fixture->path, "first");
	values.path = fixture->path;
	values.fd = open_file(fixture->path);
	assert_int_equal(file_key_of_fd(values.fd, &values.key), 0);
	fixture->binary = binary_create(&values);
	assert_non_null(fixture->binary);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	binary_unref(fixture->binary);
	unlink(fixture->path);
	rmdir(fixture->folder);
	free(fixture);
	return 0;
}

static void assert_reads(const struct fixture *fixture, const char *wanted)
{
	const struct path_judge judge = { 0 };
	_cleanup_(binary_file_return) struct borrowed_file file =
		binary_file_open(fixture->binary, &judge);
	char text[16] = "";

	assert_true(file.fd >= 0);
	assert_true(pread(file.fd, text, sizeof(text) - 1, 0) >= 0);
	assert_string_equal(text, wanted);
}

static void assert_is_gone(const struct fixture *fixture)
{
	const struct path_judge judge = { 0 };
	struct borrowed_file file = binary_file_open(fixture->binary, &judge);

	assert_int_equal(file.fd, -1);
	assert_true(binary_file_is_known(fixture->binary));
	binary_file_return(&file);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void a_file_that_was_written_anew_is_not_read(void **state)
{
	const struct timespec later[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 2000000000 } };
	struct fixture *fixture = *state;
	struct borrowed_file file = binary_file_borrow(fixture->binary);

	assert_true(file.fd >= 0);
	/* A new ctime alone says nothing. */
	assert_int_equal(chmod(fixture->path, 0600), 0);
	assert_true(binary_file_is_valid(&file));
	/* As long as before. */
	write_file(fixture->path, "other");
	assert_int_equal(utimensat(AT_FDCWD, fixture->path, later, 0), 0);
	assert_false(binary_file_is_valid(&file));
	binary_file_return(&file);
	assert_is_gone(fixture);
	assert_int_equal(fixture->binary->reader_count, 0);
}

static void a_file_is_read_by_its_descriptor_also_when_it_is_deleted(void **state)
{
	struct fixture *fixture = *state;

	assert_false(binary_file_is_let_go(fixture->binary));
	unlink(fixture->path);
	assert_reads(fixture, "first");
}

static void what_was_let_go_is_closed_and_found_at_its_path(void **state)
{
	struct fixture *fixture = *state;
	int fd = fixture->binary->fd;

	binary_file_let_go(fixture->binary);
	assert_false(is_open(fd));
	assert_true(binary_file_is_let_go(fixture->binary));
	assert_reads(fixture, "first");
	unlink(fixture->path);
	assert_is_gone(fixture);
}

static void another_file_at_its_path_is_not_taken_for_it(void **state)
{
	struct fixture *fixture = *state;

	binary_file_let_go(fixture->binary);
	unlink(fixture->path);
	write_file(fixture->path, "other");
	assert_is_gone(fixture);
	/* A file behind a link is not opened either. */
	unlink(fixture->path);
	assert_int_equal(symlink("/bin/ls", fixture->path), 0);
	assert_is_gone(fixture);
}

static void the_descriptor_stays_while_somebody_reads(void **state)
{
	struct fixture *fixture = *state;
	struct borrowed_file one = binary_file_borrow(fixture->binary);
	struct borrowed_file other = binary_file_borrow(fixture->binary);
	int fd = fixture->binary->fd;

	assert_int_equal(one.fd, fd);
	assert_int_equal(other.fd, fd);
	binary_file_let_go(fixture->binary);
	binary_file_return(&one);
	assert_true(is_open(fd));
	binary_file_return(&other);
	assert_false(is_open(fd));
}

static void a_file_that_is_run_again_is_taken(void **state)
{
	struct fixture *fixture = *state;
	int fd = open_file(fixture->path), second;

	binary_file_let_go(fixture->binary);
	unlink(fixture->path);
	binary_file_take(fixture->binary, fd, NULL);
	assert_false(binary_file_is_let_go(fixture->binary));
	assert_reads(fixture, "first");
	/* The binary has a descriptor already. */
	second = open_file("/bin/ls");
	binary_file_take(fixture->binary, second, NULL);
	assert_false(is_open(second));
	assert_reads(fixture, "first");
}

static void one_that_is_taken_before_it_was_closed_stays(void **state)
{
	struct fixture *fixture = *state;
	struct borrowed_file file = binary_file_borrow(fixture->binary);
	int fd = fixture->binary->fd;

	binary_file_let_go(fixture->binary);
	binary_file_take(fixture->binary, open_file(fixture->path), NULL);
	binary_file_return(&file);
	assert_true(is_open(fd));
	assert_int_equal(fixture->binary->fd, fd);
}

static void what_is_not_there_is_looked_for_again_after_a_while(void **state)
{
	struct fixture *fixture = *state;
	char aside[80];

	binary_file_let_go(fixture->binary);
	/* The folder is renamed, since the file itself would be changed by that (its ctime). */
	snprintf(aside, sizeof(aside), "%s.aside", fixture->folder);
	assert_int_equal(rename(fixture->folder, aside), 0);
	assert_is_gone(fixture);
	assert_int_equal(rename(aside, fixture->folder), 0);
	assert_is_gone(fixture);
	fixture->binary->no_search_ns = clock_monotonic_ns();
	assert_reads(fixture, "first");
}

static void a_file_is_in_the_way_where_somebody_may_want_to_unmount(void **state)
{
	struct fixture *fixture = *state;
	struct stat root;

	assert_int_equal(stat("/", &root), 0);
	assert_false(binary_file_is_in_the_way(fixture->binary));
	binary_file_let_go(fixture->binary);
	fixture->binary->key.device = root.st_dev;
	assert_false(binary_file_is_in_the_way(fixture->binary));
	fixture->binary->key.device = root.st_dev + 1;
	assert_true(binary_file_is_in_the_way(fixture->binary));
}

static void what_has_no_path_is_not_let_go(void **state)
{
	struct fixture *fixture = *state;

	memset(&fixture->binary->key, 0, sizeof(fixture->binary->key));
	binary_file_let_go(fixture->binary);
	assert_true(is_open(fixture->binary->fd));
	assert_reads(fixture, "first");
}

static void what_has_no_file_is_not_known(void **state)
{
	const struct binary values = { .executable_id = 1, .fd = -1 };
	struct binary *binary = binary_create(&values);
	struct borrowed_file file = binary_file_borrow(binary);

	(void)state;
	assert_int_equal(file.fd, -1);
	assert_false(binary_file_is_known(binary));
	binary_file_return(&file);
	binary_unref(binary);
}

/* --- files that another process holds --- */

struct fake_held {
	struct held_file held;
	const char *text;
	bool is_lost;
	bool is_released;
};

static int fake_copy(struct held_file *held, int *fd)
{
	struct fake_held *fake = (struct fake_held *)held;

	if (fake->is_lost)
		return -ESTALE;
	*fd = memfd_create("copy", MFD_CLOEXEC);
	assert_int_equal(write(*fd, fake->text, strlen(fake->text)), strlen(fake->text));
	return 0;
}

static bool fake_is_lost(const struct held_file *held)
{
	return ((const struct fake_held *)held)->is_lost;
}

static void fake_release(struct held_file *held)
{
	((struct fake_held *)held)->is_released = true;
}

static const struct held_file_ops fake_ops = { fake_copy, fake_is_lost, fake_release };

static struct fake_held fake_held(const char *text)
{
	return (struct fake_held){ .held = { .ops = &fake_ops, .references = 1 }, .text = text };
}

static struct binary *create_held(struct fake_held *fake)
{
	const struct binary values = { .executable_id = 1,
				       .fd = -1,
				       .held = &fake->held,
				       .may_hang = true,
				       .key = { .inode = 5 },
				       .path = "/not/there" };

	return binary_create(&values);
}

static void assert_copy(struct binary *binary, const char *text)
{
	struct borrowed_file file = binary_file_open(binary, NULL);
	char bytes[16] = "";

	assert_true(file.fd >= 0);
	assert_int_equal(pread(file.fd, bytes, sizeof(bytes) - 1, 0), strlen(text));
	assert_string_equal(bytes, text);
	binary_file_return(&file);
}

static void a_file_that_another_process_holds_is_copied_to_be_read(void **state)
{
	struct fake_held fake = fake_held("held");
	struct binary *binary = create_held(&fake);

	(void)state;
	assert_true(binary_file_is_known(binary));
	assert_copy(binary, "held");
	assert_copy(binary, "held");
	assert_false(fake.is_released);
	binary_unref(binary);
	assert_true(fake.is_released);
}

static void what_is_held_is_let_go_while_a_copy_is_read_and_taken_again(void **state)
{
	struct fake_held fake = fake_held("held"), again = fake_held("again");
	struct binary *binary = create_held(&fake);
	struct borrowed_file file = binary_file_borrow(binary);
	const struct path_judge judge = { 0 };

	(void)state;
	binary_file_let_go(binary);
	assert_true(fake.is_released);
	assert_true(binary_file_is_let_go(binary));
	assert_true(binary_file_is_known(binary));
	binary_file_return(&file);
	/* The file is not opened by its path. */
	file = binary_file_open(binary, &judge);
	assert_int_equal(file.fd, -1);
	binary_file_take(binary, -1, &again.held);
	assert_false(binary_file_is_let_go(binary));
	assert_copy(binary, "again");
	binary_unref(binary);
	assert_true(again.is_released);
}

static void a_file_that_was_lost_is_replaced_and_one_that_was_not_is_kept(void **state)
{
	struct fake_held fake = fake_held("held"), again = fake_held("again");
	struct fake_held more = fake_held("more");
	struct binary *binary = create_held(&fake);
	struct borrowed_file file;

	(void)state;
	fake.is_lost = true;
	assert_true(binary_file_is_let_go(binary));
	file = binary_file_borrow(binary);
	assert_int_equal(file.fd, -1);
	binary_file_return(&file);
	binary_file_take(binary, -1, &again.held);
	assert_true(fake.is_released);
	assert_false(binary_file_is_let_go(binary));
	binary_file_take(binary, -1, &more.held);
	assert_true(more.is_released);
	assert_copy(binary, "again");
	binary_unref(binary);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_read_by_its_descriptor_also_when_it_is_deleted),
		TEST(a_file_that_was_written_anew_is_not_read),
		TEST(what_was_let_go_is_closed_and_found_at_its_path),
		TEST(another_file_at_its_path_is_not_taken_for_it),
		TEST(the_descriptor_stays_while_somebody_reads),
		TEST(a_file_that_is_run_again_is_taken),
		TEST(one_that_is_taken_before_it_was_closed_stays),
		TEST(what_is_not_there_is_looked_for_again_after_a_while),
		TEST(a_file_is_in_the_way_where_somebody_may_want_to_unmount),
		TEST(what_has_no_path_is_not_let_go),
		cmocka_unit_test(what_has_no_file_is_not_known),
		cmocka_unit_test(a_file_that_another_process_holds_is_copied_to_be_read),
		cmocka_unit_test(what_is_held_is_let_go_while_a_copy_is_read_and_taken_again),
		cmocka_unit_test(a_file_that_was_lost_is_replaced_and_one_that_was_not_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
