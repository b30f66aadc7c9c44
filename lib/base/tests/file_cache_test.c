/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that users of the cache lack; stackdeltas/tests/delta_cache_test.c tests limits and damage. */
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

#include "lib/base/cleanup.h"
#include "lib/base/file_cache.h"

enum { PATH_BYTES = 64, MAX_BYTES = 1000 };

static const struct hash128 key = { 1, 2 };

struct fixture {
	char directory[PATH_BYTES];
	struct file_cache *cache;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	*state = fixture;
	strcpy(fixture->directory, "/tmp/file_cache_test.XXXXXX");
	if (!mkdtemp(fixture->directory))
		return -1;
	return file_cache_create(fixture->directory, ".one", MAX_BYTES, &fixture->cache);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	char command[PATH_BYTES + 16];

	file_cache_destroy(fixture->cache);
	snprintf(command, sizeof(command), "rm -r %s", fixture->directory);
	free(fixture);
	return system(command);
}

static void put(struct file_cache *cache, struct hash128 at, size_t bytes, char fill)
{
	char contents[MAX_BYTES];
	struct new_file file;

	memset(contents, fill, bytes);
	assert_int_equal(file_cache_begin(cache, &file), 0);
	assert_int_equal(write(file.fd, contents, bytes), bytes);
	assert_int_equal(file_cache_keep(cache, at, &file), 0);
	close(file.fd);
}

/* The first byte under @at; 0 if there is no file. */
static char first_byte(struct file_cache *cache, struct hash128 at)
{
	_cleanup_(close_fd) int fd = -1;
	char byte = 0;

	if (file_cache_open(cache, at, &fd))
		return 0;
	assert_int_equal(read(fd, &byte, 1), 1);
	return byte;
}

static void a_directory_keeps_one_seed(void **state)
{
	struct fixture *fixture = *state;
	char path[PATH_BYTES + 16];
	uint64_t seed, again, other;

	assert_int_equal(file_cache_seed(fixture->directory, &seed), 0);
	assert_int_equal(file_cache_seed(fixture->directory, &again), 0);
	assert_true(seed == again);
	/* A truncated seed file is made again. */
	snprintf(path, sizeof(path), "%s/seed", fixture->directory);
	assert_int_equal(truncate(path, 3), 0);
	assert_int_equal(file_cache_seed(fixture->directory, &other), 0);
	assert_true(other != seed);
	assert_int_equal(file_cache_seed(fixture->directory, &again), 0);
	assert_true(other == again);
	/* There is a seed even if the file cannot be kept. */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/nothing", path), 0);
	assert_int_equal(file_cache_seed(fixture->directory, &again), 0);
	assert_int_equal(file_cache_seed(fixture->directory, &other), 0);
	assert_true(other != again);
	assert_int_equal(chmod(fixture->directory, 0755), 0);
	assert_int_equal(file_cache_seed(fixture->directory, &again), -EPERM);
}

static void what_is_kept_is_there_until_it_is_removed(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(first_byte(fixture->cache, key), 0);
	put(fixture->cache, key, 10, 'a');
	assert_int_equal(first_byte(fixture->cache, key), 'a');
	put(fixture->cache, key, 10, 'b');
	assert_int_equal(first_byte(fixture->cache, key), 'b');
	file_cache_destroy(fixture->cache);
	assert_int_equal(file_cache_create(fixture->directory, ".one", MAX_BYTES, &fixture->cache),
			 0);
	assert_int_equal(first_byte(fixture->cache, key), 'b');
	file_cache_remove(fixture->cache, key);
	assert_int_equal(first_byte(fixture->cache, key), 0);
}

static void what_is_abandoned_leaves_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct new_file file;

	assert_int_equal(file_cache_begin(fixture->cache, &file), 0);
	file_cache_abandon(fixture->cache, &file);
	close(file.fd);
	assert_int_equal(first_byte(fixture->cache, key), 0);
	/* rmdir() takes only an empty directory. */
	assert_int_equal(rmdir(fixture->directory), 0);
	assert_int_equal(mkdir(fixture->directory, 0700), 0);
}

static void caches_of_one_directory_leave_each_other_alone(void **state)
{
	struct fixture *fixture = *state;
	const struct hash128 second = { 3, 4 }, third = { 5, 6 };
	struct new_file file, other_file;
	struct file_cache *other;

	assert_int_equal(file_cache_create(fixture->directory, ".two", MAX_BYTES, &other), 0);
	put(other, key, 900, 'o');
	put(fixture->cache, key, 300, 'a');
	put(fixture->cache, second, 300, 'b');
	usleep(2000);
	put(fixture->cache, third, 500, 'c');
	/* The limit of the first cache is exceeded by its own files. */
	assert_int_equal(file_cache_evicted(fixture->cache), 1);
	assert_int_equal(file_cache_evicted(other), 0);
	assert_int_equal(first_byte(other, key), 'o');
	assert_int_equal(first_byte(fixture->cache, third), 'c');
	/* Both at the same time. */
	assert_int_equal(file_cache_begin(fixture->cache, &file), 0);
	assert_int_equal(file_cache_begin(other, &other_file), 0);
	assert_string_not_equal(file.name, other_file.name);
	file_cache_abandon(fixture->cache, &file);
	assert_int_equal(file_cache_keep(other, second, &other_file), 0);
	close(file.fd);
	close(other_file.fd);
	file_cache_destroy(other);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_directory_keeps_one_seed, set_up, tear_down),
		TEST(what_is_kept_is_there_until_it_is_removed),
		TEST(what_is_abandoned_leaves_nothing),
		TEST(caches_of_one_directory_leave_each_other_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
