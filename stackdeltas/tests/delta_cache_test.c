/* SPDX-License-Identifier: Apache-2.0 */
/* The disk cache in a directory of its own, damaged in every way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "stackdeltas/delta_cache.h"
#include "stackdeltas/extract_deltas.h"
#include "stackdeltas/go_code.h"
#include "stackdeltas/tests/eh_frame_bytes.h"

enum { MAX_BYTES = 1 << 20, PATH_BYTES = 256 };

struct fixture {
	char parent[PATH_BYTES];
	char directory[PATH_BYTES];
	struct delta_cache *cache;
	struct eh_frame_bytes bytes;
	struct unwind_input input;
	struct stack_deltas deltas;
	struct hash128 key;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	strcpy(fixture->parent, "/tmp/delta_cache_test.XXXXXX");
	if (!mkdtemp(fixture->parent))
		return -1;
	snprintf(fixture->directory, sizeof(fixture->directory), "%.200s/cache", fixture->parent);
	put_x86_cie(&fixture->bytes);
	PUT_FDE(&fixture->bytes, TEXT_ADDRESS, 600, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset,
		16, DW_CFA_advance_loc2, 0, 2, DW_CFA_def_cfa_offset, 8);
	fixture->input = (struct unwind_input){
		.machine = EM_X86_64,
		.segment_count = 1,
		.segments = { { TEXT_ADDRESS, TEXT_ADDRESS + TEXT_BYTES } },
		.eh_frame_address = SECTION_ADDRESS,
		.eh_frame = fixture->bytes.bytes,
		.eh_frame_bytes = fixture->bytes.size,
	};
	fixture->key = unwind_input_key(&fixture->input);
	*state = fixture;
	if (extract_deltas(&fixture->input, NULL, &fixture->deltas, NULL))
		return -1;
	return delta_cache_create(fixture->directory, MAX_BYTES, &fixture->cache);
}

static void remove_directory(const char *path)
{
	char command[PATH_BYTES + 16];

	snprintf(command, sizeof(command), "rm -rf %s", path);
	if (system(command))
		abort();
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	delta_cache_destroy(fixture->cache);
	stack_deltas_deinit(&fixture->deltas);
	remove_directory(fixture->parent);
	free(fixture);
	return 0;
}

static struct delta_cache_statistics statistics_of(struct fixture *fixture)
{
	struct delta_cache_statistics statistics;

	delta_cache_get_statistics(fixture->cache, &statistics);
	return statistics;
}

static void assert_equal_deltas(const struct stack_deltas *a, const struct stack_deltas *b)
{
	assert_int_equal(a->text_start, b->text_start);
	assert_int_equal(a->page_count, b->page_count);
	assert_int_equal(a->row_count, b->row_count);
	assert_int_equal(a->rule_count, b->rule_count);
	assert_memory_equal(a->page_index, b->page_index,
			    (a->page_count + 1) * sizeof(a->page_index[0]));
	assert_memory_equal(a->rows, b->rows, a->row_count * sizeof(a->rows[0]));
	assert_memory_equal(a->rules, b->rules, a->rule_count * sizeof(a->rules[0]));
}

/* The only file in the directory, by path; 0 if there is none. */
static size_t count_files(const struct fixture *fixture, char path[2 * PATH_BYTES])
{
	DIR *directory = opendir(fixture->directory);
	struct dirent *entry;
	size_t count = 0;

	while ((entry = readdir(directory))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		snprintf(path, 2 * PATH_BYTES, "%s/%.255s", fixture->directory, entry->d_name);
		count++;
	}
	closedir(directory);
	return count;
}

static void what_is_stored_is_loaded(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(stack_deltas_deinit) struct stack_deltas loaded = { 0 };
	char path[2 * PATH_BYTES];
	struct stat status;

	assert_int_equal(delta_cache_load(fixture->cache, fixture->key, &loaded), -ENOENT);
	assert_int_equal(delta_cache_store(fixture->cache, fixture->key, &fixture->deltas), 0);
	assert_int_equal(delta_cache_load(fixture->cache, fixture->key, &loaded), 0);
	assert_equal_deltas(&loaded, &fixture->deltas);
	assert_int_equal(count_files(fixture, path), 1);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(statistics_of(fixture).hits, 1);
	assert_int_equal(statistics_of(fixture).misses, 1);
	assert_int_equal(statistics_of(fixture).stores, 1);
}

static void get_extracts_once_and_loads_then(void **state)
{
	struct fixture *fixture = *state;

	for (uint64_t hits = 0; hits < 3; hits++) {
		_cleanup_(stack_deltas_deinit) struct stack_deltas deltas = { 0 };

		assert_int_equal(delta_cache_get(fixture->cache, &fixture->input, &deltas), 0);
		assert_equal_deltas(&deltas, &fixture->deltas);
		assert_int_equal(statistics_of(fixture).hits, hits);
		assert_int_equal(statistics_of(fixture).stores, 1);
	}
}

static void inputs_with_a_table_of_go_are_neither_stored_nor_looked_for(void **state)
{
	struct fixture *fixture = *state;
	struct go_code go = { 0 };
	char path[2 * PATH_BYTES];

	/* Its key says nothing of the table: rows of the same key are other ones. */
	assert_int_equal(delta_cache_store(fixture->cache, fixture->key, &fixture->deltas), 0);
	fixture->input.go = &go;
	for (int i = 0; i < 2; i++) {
		_cleanup_(stack_deltas_deinit) struct stack_deltas deltas = { 0 };

		assert_int_equal(delta_cache_get(fixture->cache, &fixture->input, &deltas), 0);
		assert_equal_deltas(&deltas, &fixture->deltas);
	}
	assert_int_equal(statistics_of(fixture).hits, 0);
	assert_int_equal(statistics_of(fixture).misses, 0);
	assert_int_equal(statistics_of(fixture).stores, 1);
	assert_int_equal(count_files(fixture, path), 1);
}

static void get_works_without_a_cache(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(stack_deltas_deinit) struct stack_deltas deltas = { 0 };

	assert_int_equal(delta_cache_get(NULL, &fixture->input, &deltas), 0);
	assert_equal_deltas(&deltas, &fixture->deltas);
}

static void every_damaged_byte_is_noticed_and_the_file_removed(void **state)
{
	struct fixture *fixture = *state;
	char path[2 * PATH_BYTES];
	struct stat status;
	off_t size = 1;

	for (off_t offset = 0; offset < size; offset++) {
		_cleanup_(stack_deltas_deinit) struct stack_deltas loaded = { 0 };
		_cleanup_(close_fd) int fd = -1;
		uint8_t byte;

		assert_int_equal(delta_cache_store(fixture->cache, fixture->key, &fixture->deltas),
				 0);
		assert_int_equal(count_files(fixture, path), 1);
		fd = open(path, O_RDWR);
		assert_int_equal(fstat(fd, &status), 0);
		size = status.st_size;
		assert_int_equal(pread(fd, &byte, 1, offset), 1);
		byte ^= 1 << offset % 8;
		assert_int_equal(pwrite(fd, &byte, 1, offset), 1);
		assert_int_equal(delta_cache_load(fixture->cache, fixture->key, &loaded), -ENOENT);
		assert_int_equal(count_files(fixture, path), 0);
		assert_int_equal(statistics_of(fixture).damaged, offset + 1);
	}
	assert_true(size > 100);
}

static void a_file_cut_or_grown_is_damaged(void **state)
{
	struct fixture *fixture = *state;
	static const int changes[] = { 1, -1, -100, -1000000 };

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		_cleanup_(stack_deltas_deinit) struct stack_deltas loaded = { 0 };
		char path[2 * PATH_BYTES];
		struct stat status;
		off_t size;

		delta_cache_store(fixture->cache, fixture->key, &fixture->deltas);
		assert_int_equal(count_files(fixture, path), 1);
		assert_int_equal(stat(path, &status), 0);
		size = status.st_size + changes[i];
		assert_int_equal(truncate(path, size < 0 ? 0 : size), 0);
		assert_int_equal(delta_cache_load(fixture->cache, fixture->key, &loaded), -ENOENT);
		assert_int_equal(count_files(fixture, path), 0);
	}
}

static void a_file_of_another_key_is_not_taken(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(stack_deltas_deinit) struct stack_deltas loaded = { 0 };
	char path[2 * PATH_BYTES], other_path[2 * PATH_BYTES];
	struct hash128 other = { fixture->key.high ^ 1, fixture->key.low };

	delta_cache_store(fixture->cache, fixture->key, &fixture->deltas);
	count_files(fixture, path);
	snprintf(other_path, sizeof(other_path), "%s/%016llx%016llx.deltas", fixture->directory,
		 (unsigned long long)other.high, (unsigned long long)other.low);
	assert_int_equal(rename(path, other_path), 0);
	assert_int_equal(delta_cache_load(fixture->cache, other, &loaded), -ENOENT);
	assert_int_equal(count_files(fixture, path), 0);
}

static void a_directory_of_others_is_refused(void **state)
{
	struct fixture *fixture = *state;
	struct delta_cache *cache = NULL;
	char link[PATH_BYTES];

	assert_int_equal(chmod(fixture->directory, 0750), 0);
	assert_int_equal(delta_cache_create(fixture->directory, MAX_BYTES, &cache), -EPERM);
	assert_int_equal(chmod(fixture->directory, 0700), 0);
	snprintf(link, sizeof(link), "%.200s/link", fixture->parent);
	assert_int_equal(symlink(fixture->directory, link), 0);
	assert_int_equal(delta_cache_create(link, MAX_BYTES, &cache), -EPERM);
	if (!geteuid()) {
		assert_int_equal(chown(fixture->directory, 1, 1), 0);
		assert_int_equal(delta_cache_create(fixture->directory, MAX_BYTES, &cache), -EPERM);
	}
	assert_int_equal(delta_cache_create("/nonexistent/cache", MAX_BYTES, &cache), -ENOENT);
	assert_null(cache);
}

static void the_limit_removes_what_was_unused_for_longest(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(stack_deltas_deinit) struct stack_deltas loaded = { 0 };
	char path[2 * PATH_BYTES];
	struct stat status;
	struct hash128 key = { 0 };
	uint64_t file_bytes;

	delta_cache_store(fixture->cache, key, &fixture->deltas);
	count_files(fixture, path);
	assert_int_equal(stat(path, &status), 0);
	file_bytes = status.st_size;
	delta_cache_destroy(fixture->cache);
	fixture->cache = NULL;
	assert_int_equal(delta_cache_create(fixture->directory, 16 * file_bytes, &fixture->cache),
			 0);
	for (key.low = 1; key.low < 16; key.low++) {
		usleep(2000);
		assert_int_equal(delta_cache_store(fixture->cache, key, &fixture->deltas), 0);
	}
	assert_int_equal(count_files(fixture, path), 16);
	/* The first one is used again, so the second and third go. */
	usleep(2000);
	assert_int_equal(delta_cache_load(fixture->cache, (struct hash128){ 0 }, &loaded), 0);
	usleep(2000);
	assert_int_equal(delta_cache_store(fixture->cache, key, &fixture->deltas), 0);
	assert_int_equal(statistics_of(fixture).evicted, 3);
	assert_int_equal(count_files(fixture, path), 14);
	stack_deltas_deinit(&loaded);
	assert_int_equal(delta_cache_load(fixture->cache, (struct hash128){ 0, 1 }, &loaded),
			 -ENOENT);
	assert_int_equal(delta_cache_load(fixture->cache, (struct hash128){ 0 }, &loaded), 0);
}

static void files_of_others_and_fresh_ones_are_left_alone(void **state)
{
	static const char *const names[] = { "README", ".new-1-1", ".new-2-2", "x.deltas" };
	const struct timespec old[2] = { { 1, 0 }, { 1, 0 } };
	struct fixture *fixture = *state;
	char path[2 * PATH_BYTES];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", fixture->directory, names[i]);
		close(open(path, O_CREAT | O_WRONLY, 0600));
		if (i != 1)
			assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
	}
	delta_cache_destroy(fixture->cache);
	fixture->cache = NULL;
	assert_int_equal(delta_cache_create(fixture->directory, 1, &fixture->cache), 0);
	/* The older one of the two files that dead agents left is removed. */
	assert_int_equal(count_files(fixture, path), 3);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(what_is_stored_is_loaded),
		TEST(get_extracts_once_and_loads_then),
		TEST(inputs_with_a_table_of_go_are_neither_stored_nor_looked_for),
		TEST(get_works_without_a_cache),
		TEST(every_damaged_byte_is_noticed_and_the_file_removed),
		TEST(a_file_cut_or_grown_is_damaged),
		TEST(a_file_of_another_key_is_not_taken),
		TEST(a_directory_of_others_is_refused),
		TEST(the_limit_removes_what_was_unused_for_longest),
		TEST(files_of_others_and_fresh_ones_are_left_alone),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
