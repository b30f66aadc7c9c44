/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/mapping_log.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/clock.h"

/* Times below are milliseconds after the log was made. */
struct fixture {
	struct mapping_log log;
	uint64_t start_ns;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	assert_int_equal(mapping_log_init(&fixture->log), 0);
	fixture->start_ns = clock_monotonic_ns();
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	mapping_log_deinit(&fixture->log);
	free(fixture);
	return 0;
}

static uint64_t at(const struct fixture *fixture, uint64_t ms)
{
	return fixture->start_ns + ms * NS_PER_MS;
}

static void add_part(struct fixture *fixture, uint64_t ms, uint32_t pid, uint64_t start,
		     uint64_t end, uint64_t offset, uint64_t inode, const char *path)
{
	const struct side_band_event event = {
		.type = SIDE_BAND_MAPPING,
		.time_ns = at(fixture, ms),
		.pid = pid,
		.device_major = 8,
		.device_minor = 1,
		.start = start,
		.length = end - start,
		.offset = offset,
		.inode = inode,
		.path = path,
	};

	mapping_log_add(&fixture->log, &event);
}

static void add(struct fixture *fixture, uint64_t ms, uint32_t pid, uint64_t start, uint64_t end,
		uint64_t inode, const char *path)
{
	add_part(fixture, ms, pid, start, end, 0x100000, inode, path);
}

static struct logged_program program_of(const struct fixture *fixture, uint32_t pid,
					uint64_t start_ms, uint64_t exec_ms)
{
	return (struct logged_program){
		.pid = pid,
		.start_ns = at(fixture, start_ms),
		.exec_ns = at(fixture, exec_ms),
		.code_address = 0x401000,
	};
}

/* The rows as text: start-end:offset of inode at path, in hex but for the inode. */
static void assert_lists(struct fixture *fixture, const struct logged_program *program,
			 const char *wanted)
{
	struct proc_maps maps;
	char text[1024] = "";
	size_t used = 0;

	assert_int_equal(mapping_log_list(&fixture->log, program, &maps), 0);
	for (uint32_t i = 0; i < maps.count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%lx-%lx:%lx %lu %s\n",
					 maps.rows[i].start, maps.rows[i].end, maps.rows[i].offset,
					 maps.rows[i].inode, maps.rows[i].path);
	assert_string_equal(text, wanted);
	proc_maps_deinit(&maps);
}

static void assert_lists_nothing(struct fixture *fixture, const struct logged_program *program)
{
	struct proc_maps maps;

	assert_int_equal(mapping_log_list(&fixture->log, program, &maps), -ENOENT);
	assert_null(maps.rows);
}

static void a_program_has_what_it_mapped_since_its_exec(void **state)
{
	struct fixture *fixture = *state;
	struct logged_program program = program_of(fixture, 7, 1, 6);

	/* The program before in the same pid lay there too, and other processes. */
	add(fixture, 2, 7, 0x400000, 0x402000, 10, "/bin/sh");
	add(fixture, 3, 7, 0x700000, 0x701000, 11, "/lib/old.so");
	add(fixture, 4, 8, 0x400000, 0x402000, 10, "/bin/sh");
	add(fixture, 5, 7, 0x400000, 0x403000, 20, "/bin/ls");
	add(fixture, 7, 7, 0x500000, 0x501000, 21, "/lib/libc.so");
	add(fixture, 8, 7, 0x600000, 0x601000, 0, "//anon");
	assert_lists(fixture, &program,
		     "400000-403000:100000 20 /bin/ls\n"
		     "500000-501000:100000 21 /lib/libc.so\n"
		     "600000-601000:0 0 //anon\n");
}

static void where_different_files_lay_is_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct logged_program program = program_of(fixture, 7, 1, 3);

	add(fixture, 2, 7, 0x400000, 0x405000, 20, "/bin/ls");
	add(fixture, 4, 7, 0x402000, 0x403000, 0, "//anon");
	add(fixture, 5, 7, 0x404000, 0x408000, 21, "/lib/a.so");
	/* The same once more, in part: as after mprotect(). */
	add_part(fixture, 6, 7, 0x406000, 0x407000, 0x102000, 21, "/lib/a.so");
	assert_lists(fixture, &program,
		     "400000-402000:100000 20 /bin/ls\n"
		     "403000-404000:103000 20 /bin/ls\n"
		     "405000-408000:101000 21 /lib/a.so\n");
	/* The next program of that pid has its text there: nobody heard of it. */
	add(fixture, 7, 7, 0x400000, 0x401000, 30, "/bin/next");
	assert_lists(fixture, &program,
		     "401000-402000:101000 20 /bin/ls\n"
		     "403000-404000:103000 20 /bin/ls\n"
		     "405000-408000:101000 21 /lib/a.so\n");
}

static void the_order_of_cpus_does_not_matter(void **state)
{
	struct fixture *fixture = *state;
	struct logged_program program = program_of(fixture, 7, 1, 3);

	add(fixture, 4, 7, 0x500000, 0x501000, 21, "/lib/libc.so");
	add(fixture, 2, 7, 0x400000, 0x402000, 20, "/bin/ls");
	add(fixture, 1, 7, 0x600000, 0x601000, 11, "/lib/old.so");
	assert_lists(fixture, &program,
		     "400000-402000:100000 20 /bin/ls\n"
		     "500000-501000:100000 21 /lib/libc.so\n");
}

static void a_fork_has_its_parents_until_then_and_its_own(void **state)
{
	struct fixture *fixture = *state;
	struct logged_program program = program_of(fixture, 7, 1, 3);

	program.fork_pid = 9;
	program.fork_ns = at(fixture, 5);
	program.fork_until_ns = at(fixture, 8);
	add(fixture, 2, 7, 0x400000, 0x402000, 10, "/bin/sh");
	add(fixture, 4, 7, 0x500000, 0x501000, 21, "/lib/libc.so");
	add(fixture, 6, 7, 0x600000, 0x601000, 22, "/lib/parent.so");
	add(fixture, 7, 9, 0x700000, 0x701000, 23, "/lib/child.so");
	add(fixture, 9, 9, 0x400000, 0x402000, 24, "/bin/executed");
	assert_lists(fixture, &program,
		     "400000-402000:100000 10 /bin/sh\n"
		     "500000-501000:100000 21 /lib/libc.so\n"
		     "700000-701000:100000 23 /lib/child.so\n");
}

static void a_fork_has_mapped_nothing_until_the_first_in_the_log_or_lost(void **state)
{
	struct fixture *fixture = *state;
	const struct side_band_event loss = { .type = SIDE_BAND_LOST, .time_ns = at(fixture, 10) };

	add(fixture, 2, 9, 0x400000, 0x402000, 10, "/bin/sh");
	assert_true(mapping_log_first_since(&fixture->log, 9, at(fixture, 3)) == UINT64_MAX);
	assert_true(mapping_log_first_since(&fixture->log, 9, at(fixture, 1)) == at(fixture, 2));
	assert_true(mapping_log_first_since(&fixture->log, 9, at(fixture, 2)) == at(fixture, 2));
	assert_true(mapping_log_first_since(&fixture->log, 8, at(fixture, 2)) == UINT64_MAX);
	/* It was made before the log was. */
	assert_true(mapping_log_first_since(&fixture->log, 8, fixture->start_ns - NS_PER_SECOND) <
		    UINT64_MAX);
	mapping_log_add(&fixture->log, &loss);
	assert_true(mapping_log_first_since(&fixture->log, 8, at(fixture, 9)) < UINT64_MAX);
	assert_true(mapping_log_first_since(&fixture->log, 8, at(fixture, 11)) == UINT64_MAX);
}

static void what_is_not_all_there_is_not_listed(void **state)
{
	struct fixture *fixture = *state;
	struct logged_program program = program_of(fixture, 7, 1, 3);
	const struct side_band_event loss = { .type = SIDE_BAND_LOST, .time_ns = at(fixture, 4) };

	assert_lists_nothing(fixture, &program);
	/* Its own text is missing. */
	add(fixture, 3, 7, 0x500000, 0x501000, 21, "/lib/libc.so");
	assert_lists_nothing(fixture, &program);
	add(fixture, 2, 7, 0x400000, 0x402000, 10, "/bin/sh");
	assert_lists(fixture, &program,
		     "400000-402000:100000 10 /bin/sh\n"
		     "500000-501000:100000 21 /lib/libc.so\n");
	mapping_log_add(&fixture->log, &loss);
	assert_lists_nothing(fixture, &program);
}

static void the_oldest_go_first(void **state)
{
	struct fixture *fixture = *state;
	struct logged_program old = program_of(fixture, 7, 1, 3);
	struct logged_program young = program_of(fixture, 8, 1, 30000);
	char path[32];

	add(fixture, 2, 7, 0x400000, 0x402000, 10, "/bin/sh");
	for (uint32_t i = 0; i < MAPPING_LOG_MAX + 10; i++)
		add(fixture, 4 + i, 9, 0x400000, 0x402000, 10, "/bin/sh");
	add(fixture, 29999, 8, 0x400000, 0x402000, 20, "/bin/ls");
	assert_lists_nothing(fixture, &old);
	assert_lists(fixture, &young, "400000-402000:100000 20 /bin/ls\n");
	assert_true(mapping_log_first_since(&fixture->log, 7, at(fixture, 3)) < UINT64_MAX);
	/* Endless new paths cost what is known, and no memory. */
	for (uint32_t i = 0; i < MAPPING_LOG_MAX_PATHS; i++) {
		snprintf(path, sizeof(path), "/tmp/%u", i);
		add(fixture, 30001, 9, 0x400000, 0x402000, i, path);
	}
	assert_true(fixture->log.path_count < MAPPING_LOG_MAX_PATHS);
	assert_lists_nothing(fixture, &young);
}

static void a_loss_is_of_all_that_was_read_before(void **state)
{
	struct fixture *fixture = *state;
	struct logged_program program = program_of(fixture, 7, 1, 9);
	const struct side_band_event loss = { .type = SIDE_BAND_LOST, .time_ns = at(fixture, 4) };

	/* Read before from another CPU's ring, though it happened later. */
	add(fixture, 8, 7, 0x400000, 0x402000, 10, "/bin/sh");
	mapping_log_add(&fixture->log, &loss);
	assert_lists_nothing(fixture, &program);
	assert_true(mapping_log_first_since(&fixture->log, 7, at(fixture, 8)) < UINT64_MAX);
	/* An overwritten mapping may be later than those that stay. */
	add(fixture, 500, 7, 0x400000, 0x402000, 10, "/bin/sh");
	add(fixture, 300, 7, 0x400000, 0x402000, 10, "/bin/sh");
	for (uint32_t i = 0; i < MAPPING_LOG_MAX - 1; i++)
		add(fixture, 600, 9, 0x400000, 0x402000, 10, "/bin/sh");
	program = program_of(fixture, 7, 300, 400);
	assert_lists_nothing(fixture, &program);
}

static void long_paths_are_unknown_and_all_are_bounded(void **state)
{
	struct fixture *fixture = *state;
	struct logged_program program = program_of(fixture, 7, 1, 3);
	char path[4096];

	memset(path, 'a', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	add(fixture, 2, 7, 0x400000, 0x402000, 10, path);
	assert_lists(fixture, &program, "400000-402000:100000 10 \n");
	for (uint32_t i = 0; i < 5000; i++) {
		memset(path, 'a', sizeof(path));
		path[snprintf(path, sizeof(path), "%u", i)] = 'a';
		path[500] = '\0';
		add(fixture, 2, 7, 0x400000, 0x402000, 10, path);
		assert_true(fixture->log.path_bytes <= MAPPING_LOG_PATHS_MAX_BYTES);
	}
}

static void until_when_all_is_known_can_be_asked(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(mapping_log_heard_until(&fixture->log), 0);
	mapping_log_note_heard(&fixture->log, at(fixture, 3));
	assert_int_equal(mapping_log_heard_until(&fixture->log), at(fixture, 3));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_program_has_what_it_mapped_since_its_exec),
		TEST(where_different_files_lay_is_nothing),
		TEST(the_order_of_cpus_does_not_matter),
		TEST(a_fork_has_its_parents_until_then_and_its_own),
		TEST(a_fork_has_mapped_nothing_until_the_first_in_the_log_or_lost),
		TEST(what_is_not_all_there_is_not_listed),
		TEST(the_oldest_go_first),
		TEST(a_loss_is_of_all_that_was_read_before),
		TEST(long_paths_are_unknown_and_all_are_bounded),
		TEST(until_when_all_is_known_can_be_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
