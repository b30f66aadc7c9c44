/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which rows are made. */
#include "agent/processes/tests/executable_cache_fixture.h"

static void what_a_sample_asked_for_goes_before_others(void **state)
{
	struct fixture *fixture = *state;
	struct executable *executable = open_path(fixture, "/bin/ls");
	struct load_request asked = { .executable_id = executable->id };

	executable_load_size_up(fixture->cache, &asked);
	assert_false(asked.is_wanted);
	assert_true(asked.bytes > 0);
	executable_rows_want(fixture->cache, executable->id);
	assert_int_equal(fixture->requested_count, 1);
	executable_load_size_up(fixture->cache, &asked);
	assert_true(asked.is_wanted);
	assert_false(asked.is_heavy);
	/* Had it been taken from the queue before, it is done all the same. */
	executable_load_unwanted(fixture->cache, executable->id);
	fixture->requested_count = 0;
	executable_rows_publish(fixture->cache, clock_monotonic_ns());
	assert_true(fake_has_executable(&fixture->writer, executable->id));
	executable_unref(fixture->cache, executable);
}

/* Two megabytes of code without tables. */
static void make_large(const char *path)
{
	char command[512];

	snprintf(
		command, sizeof(command),
		"printf '.globl main\\nmain: ret\\n.rept 120000\\npush %%%%rbx\\npop %%%%rbx\\nret\\n.p2align 4\\n.endr\\n' | "
		"cc -nostdlib -static -Wl,-e,main -x assembler -o %s - 2>/dev/null",
		path);
	if (system(command))
		skip();
}

static struct executable *open_large(struct fixture *fixture)
{
	char path[] = "/tmp/allframes-large-XXXXXX";
	struct executable *executable;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	make_large(path);
	executable = open_path(fixture, path);
	unlink(path);
	return executable;
}

static void what_takes_long_is_put_off_until_a_sample_asks(void **state)
{
	struct fixture *fixture = *state;
	struct executable *executable = open_large(fixture);

	/* The agent starts, so there is time to spare. */
	fixture->cache->spare_ns = UINT64_MAX;
	assert_false(executable_load_quick(fixture->cache, executable->id));
	executable_load_unwanted(fixture->cache, executable->id);
	executable_rows_publish(fixture->cache, clock_monotonic_ns());
	assert_false(fake_has_executable(&fixture->writer, executable->id));
	assert_int_equal(executable_rows_loading_count(fixture->cache), 0);
	fixture->requested_count = 0;
	executable_rows_want(fixture->cache, executable->id);
	assert_int_equal(fixture->requested_count, 1);
	load_all(fixture);
	assert_true(fake_has_executable(&fixture->writer, executable->id));
	executable_unref(fixture->cache, executable);
}

static void what_is_mapped_with_a_runtime_is_not_put_off(void **state)
{
	struct fixture *fixture = *state;
	struct executable *executable = open_large(fixture);

	executable_load_unwanted(fixture->cache, executable->id);
	fixture->requested_count = 0;
	executable_rows_need(fixture->cache, executable->id);
	executable_rows_need(fixture->cache, executable->id);
	assert_int_equal(fixture->requested_count, 1);
	executable_load_unwanted(fixture->cache, executable->id);
	executable_rows_publish(fixture->cache, clock_monotonic_ns());
	assert_true(fake_has_executable(&fixture->writer, executable->id));
	executable_unref(fixture->cache, executable);
}

static void without_time_to_spare_only_samples_and_runtimes_have_rows_made(void **state)
{
	struct fixture *fixture = *state;
	struct executable *unsampled = open_path(fixture, "/bin/bash");
	struct executable *next = open_path(fixture, "/bin/cat");

	/* There is enough after a third of a second. */
	fixture->cache->spare_bytes = 0;
	fixture->cache->spare_ns = clock_monotonic_ns();
	assert_false(executable_load_quick(fixture->cache, unsampled->id));
	assert_true(executable_put_off(fixture->cache, unsampled->id));
	fixture->requested_count = 0;
	executable_rows_bring_back(fixture->cache, unsampled->id);
	assert_int_equal(fixture->requested_count, 0);
	executable_rows_want(fixture->cache, unsampled->id);
	assert_int_equal(fixture->requested_count, 1);
	assert_true(executable_load_quick(fixture->cache, unsampled->id));
	/* Time brings more. */
	fixture->cache->spare_ns -= 10 * NS_PER_SECOND;
	assert_true(executable_load_quick(fixture->cache, next->id));
	executable_rows_publish(fixture->cache, clock_monotonic_ns());
	assert_true(fake_has_executable(&fixture->writer, unsampled->id));
	assert_true(fake_has_executable(&fixture->writer, next->id));
	assert_true(fixture->cache->spare_bytes < 512 << 10);
	executable_unref(fixture->cache, next);
	executable_unref(fixture->cache, unsampled);
}

static void code_that_was_left_out_is_analysed_when_samples_came_to_it_often(void **state)
{
	struct fixture *fixture = *state;
	struct executable *executable = open_path(fixture, "/bin/ls");
	struct load_request asked = { .executable_id = executable->id };

	load_all(fixture);
	executable_rows_note_lack(fixture->cache, executable->id);
	assert_int_equal(executable->lack_count, 0);
	executable->lacks_code = true;
	while (!fixture->requested_count && executable->lack_count < 1000)
		executable_rows_note_lack(fixture->cache, executable->id);
	assert_int_equal(executable->lack_count, 64);
	assert_int_equal(fixture->requested_count, 1);
	executable_rows_note_lack(fixture->cache, executable->id);
	assert_int_equal(fixture->requested_count, 1);
	executable_load_size_up(fixture->cache, &asked);
	assert_true(asked.is_wanted && asked.is_heavy);
	/* Unwinds use the existing rows, and then those that replace them. */
	assert_true(fake_has_executable(&fixture->writer, executable->id));
	load_all(fixture);
	assert_true(fake_has_executable(&fixture->writer, executable->id));
	assert_false(executable->lacks_code);
	assert_int_equal(executable->state, EXECUTABLE_PUBLISHED);
	executable_unref(fixture->cache, executable);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_a_sample_asked_for_goes_before_others),
		TEST(what_takes_long_is_put_off_until_a_sample_asks),
		TEST(what_is_mapped_with_a_runtime_is_not_put_off),
		TEST(without_time_to_spare_only_samples_and_runtimes_have_rows_made),
		TEST(code_that_was_left_out_is_analysed_when_samples_came_to_it_often),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
