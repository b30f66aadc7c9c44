/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/tests/fakes.h"

#include <fcntl.h>

#include "agent/processes/executable_rows.h"
#include "agent/processes/runtimes/executable_runtime.h"
#include "agent/runtimes/tests/fake_language.h"
#include "lib/base/clock.h"
#include "lib/model/metrics.h"
#include "stackdeltas/delta_cache.h"

enum { CACHE_BYTES = 64 << 20 };

struct fixture {
	struct fake_writer writer;
	struct fake_proc root;
	struct executable_cache *cache;
	struct delta_cache *delta_cache;
	/* The addresses of the last file that was counted, and how many of them have RULE_COPIES_STACKS. */
	uint32_t addresses;
	uint32_t copying;
};

static bool copies;

/* As languages_copy_stacks(). */
static bool copies_stacks(uint32_t languages, const struct elf_image *image)
{
	(void)languages;
	(void)image;
	return copies;
}

static void make_cache(struct fixture *fixture, bool has_languages)
{
	const struct executable_cache_config config = {
		.writer = &fixture->writer.writer,
		.delta_cache = fixture->delta_cache,
		.cache_rows = true,
		.probe = has_languages ? fake_probe : NULL,
		.copies_stacks = copies_stacks,
	};

	executable_cache_destroy(fixture->cache);
	fake_writer_init(&fixture->writer);
	assert_int_equal(executable_cache_create(&config, &fixture->cache), 0);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	metrics_reset();
	fake_language_init("/ls");
	fake_proc_init(&fixture->root);
	assert_int_equal(delta_cache_create(fixture->root.root, CACHE_BYTES, &fixture->delta_cache),
			 0);
	make_cache(fixture, true);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	executable_cache_destroy(fixture->cache);
	delta_cache_destroy(fixture->delta_cache);
	fake_proc_deinit(&fixture->root);
	free(fixture);
	return 0;
}

static struct executable *open_path(struct fixture *fixture, const char *path)
{
	struct executable *executable;
	struct file_key key;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_int_equal(file_key_of_fd(fd, &key), 0);
	assert_int_equal(
		executable_cache_open(fixture->cache, fd, &key, 0, path, NULL, &executable), 0);
	return executable;
}

static void load(struct fixture *fixture, const struct executable *executable)
{
	executable_load(fixture->cache, executable->id);
	executable_rows_publish(fixture->cache, clock_monotonic_ns());
}

/* Loads the file at @path; counts addresses of its pages whose rule has the flag. */
static uint32_t count_flagged(struct fixture *fixture, const char *path, uint32_t *wrong)
{
	struct executable *executable = open_path(fixture, path);
	const struct code_range *range = &fake_language.range;
	const struct stack_deltas *deltas;
	struct cached_rows *kept;
	uint32_t count = 0;

	load(fixture, executable);
	deltas = executable_rows_borrow(fixture->cache, executable->id, &kept);
	assert_non_null(deltas);
	*wrong = 0;
	fixture->copying = fixture->addresses = 0;
	for (uint64_t i = 0; i < (uint64_t)deltas->page_count * UNWIND_PAGE_BYTES; i++) {
		uint64_t address = deltas->text_start + i;
		bool is_in = address >= range->start && address < range->end;
		uint8_t flags = stack_deltas_lookup(deltas, address)->flags;
		bool has_flag = flags & RULE_LOOP;

		count += has_flag;
		*wrong += has_flag != is_in;
		fixture->copying += !!(flags & RULE_COPIES_STACKS);
		fixture->addresses++;
	}
	executable_rows_return(fixture->cache, kept);
	executable_unref(fixture->cache, executable);
	return count;
}

static void set_range(struct fixture *fixture, const char *path)
{
	struct executable *executable = open_path(fixture, path);

	fake_language.range.start = executable->binary->memory_start + 100;
	fake_language.range.end = fake_language.range.start + 1000;
	executable_unref(fixture->cache, executable);
}

static void rows_of_the_loop_are_flagged_and_no_others(void **state)
{
	struct fixture *fixture = *state;
	uint32_t wrong;

	set_range(fixture, "/bin/ls");
	assert_int_equal(count_flagged(fixture, "/bin/ls", &wrong), 1000);
	assert_int_equal(wrong, 0);
	assert_int_equal(count_flagged(fixture, "/bin/cat", &wrong), 0);
}

static void a_library_that_copies_stacks_is_flagged_as_a_whole(void **state)
{
	struct fixture *fixture = *state;
	uint32_t wrong;

	copies = true;
	count_flagged(fixture, "/bin/cat", &wrong);
	copies = false;
	assert_int_equal(fixture->copying, fixture->addresses);
	set_range(fixture, "/bin/ls");
	assert_int_equal(count_flagged(fixture, "/bin/ls", &wrong), 1000);
	assert_int_equal(fixture->copying, 0);
}

static void the_disk_cache_knows_nothing_of_it(void **state)
{
	struct fixture *fixture = *state;
	uint32_t wrong;

	set_range(fixture, "/bin/ls");
	/* Into the cache, and out of it. */
	for (int i = 0; i < 2; i++) {
		make_cache(fixture, true);
		assert_int_equal(count_flagged(fixture, "/bin/ls", &wrong), 1000);
		make_cache(fixture, false);
		assert_int_equal(count_flagged(fixture, "/bin/ls", &wrong), 0);
	}
}

static void a_file_is_probed_once_and_flagged_every_time(void **state)
{
	struct fixture *fixture = *state;
	struct executable *executable;
	uint32_t wrong;

	set_range(fixture, "/bin/ls");
	executable = open_path(fixture, "/bin/ls");
	assert_null(executable_runtime(executable));
	assert_int_equal(count_flagged(fixture, "/bin/ls", &wrong), 1000);
	assert_string_equal(executable_runtime(executable)->version, "fake 1");
	assert_true(executable_runtime_has_news(fixture->cache));
	executable_runtime_note_seen(fixture->cache, executable_runtime_count(fixture->cache));
	assert_true(executable_rows_make_room(fixture->cache, 1, clock_monotonic_ns()));
	assert_int_equal(count_flagged(fixture, "/bin/ls", &wrong), 1000);
	assert_int_equal(fake_language.probe_count, 1);
	assert_false(executable_runtime_has_news(fixture->cache));
	executable_unref(fixture->cache, executable);
	executable_cache_trim(fixture->cache, 0);
	assert_int_equal(fake_language.release_count, 1);
}

static void a_version_that_is_not_known_is_told_once_and_leaves_native_rows(void **state)
{
	struct fixture *fixture = *state;
	struct executable *executable = open_path(fixture, "/bin/ls");
	uint32_t wrong;

	fake_language.probe_err = -EOPNOTSUPP;
	assert_int_equal(count_flagged(fixture, "/bin/ls", &wrong), 0);
	load(fixture, executable);
	assert_null(executable_runtime(executable));
	assert_false(executable_runtime_has_news(fixture->cache));
	assert_int_equal(fake_language.probe_count, 1);
	assert_int_equal(metrics_read(METRIC_INTERPRETERS_REFUSED), 1);
	assert_true(fake_has_executable(&fixture->writer, executable->id));
	executable_unref(fixture->cache, executable);
}

static void ranges_that_make_no_sense_cost_no_rows(void **state)
{
	struct fixture *fixture = *state;
	struct executable *executable = open_path(fixture, "/bin/ls");

	fake_language.range.start = 2000;
	fake_language.range.end = 1000;
	load(fixture, executable);
	assert_true(fake_has_executable(&fixture->writer, executable->id));
	executable_unref(fixture->cache, executable);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void a_file_is_pending_until_its_probe_has_ended(void **state)
{
	struct fixture *fixture = *state;
	struct executable *executable = open_path(fixture, "/bin/cat");
	const struct mapping_row row = { 0x1000, 0x2000, 0, executable->id };

	assert_true(executable_runtime_is_pending(fixture->cache, &row, 1));
	executable_runtime_probe(fixture->cache, executable->binary);
	/* Its rows are still to be made. */
	assert_true(executable_rows_are_loading(fixture->cache, executable->id));
	assert_false(executable_runtime_is_pending(fixture->cache, &row, 1));
	executable_unref(fixture->cache, executable);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_pending_until_its_probe_has_ended),
		TEST(rows_of_the_loop_are_flagged_and_no_others),
		TEST(a_library_that_copies_stacks_is_flagged_as_a_whole),
		TEST(the_disk_cache_knows_nothing_of_it),
		TEST(a_file_is_probed_once_and_flagged_every_time),
		TEST(a_version_that_is_not_known_is_told_once_and_leaves_native_rows),
		TEST(ranges_that_make_no_sense_cost_no_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
