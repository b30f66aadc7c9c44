/* SPDX-License-Identifier: Apache-2.0 */
/* The client is a script; a test of the whole agent uses that of elfutils. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "symbols/debuginfod.h"

enum { PATH_BYTES = 128 };

#define WAIT_NS (60 * NS_PER_SECOND)

/* The received binaries, and a script that records its arguments. */
struct fixture {
	char directory[PATH_BYTES];
	char program[2 * PATH_BYTES];
	char log[2 * PATH_BYTES];
	pthread_mutex_t lock;
	uint64_t came[8];
	size_t count;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	strcpy(fixture->directory, "/tmp/debuginfod_test.XXXXXX");
	assert_non_null(mkdtemp(fixture->directory));
	snprintf(fixture->program, sizeof(fixture->program), "%s/client", fixture->directory);
	snprintf(fixture->log, sizeof(fixture->log), "%s/log", fixture->directory);
	pthread_mutex_init(&fixture->lock, NULL);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	unlink(fixture->program);
	unlink(fixture->log);
	rmdir(fixture->directory);
	free(fixture);
	return 0;
}

static void take(void *context, struct binary *binary)
{
	struct fixture *fixture = context;

	pthread_mutex_lock(&fixture->lock);
	fixture->came[fixture->count++] = binary->executable_id;
	pthread_mutex_unlock(&fixture->lock);
}

/* The client runs @lines after it has recorded its arguments. */
static struct debuginfod *start(struct fixture *fixture, const char *lines, uint64_t timeout_ns)
{
	const struct debuginfod_options options = {
		.program = fixture->program,
		.timeout_ns = timeout_ns,
		.came = take,
		.context = fixture,
	};
	struct debuginfod *debuginfod;
	FILE *script = fopen(fixture->program, "we");

	fprintf(script, "#!/bin/sh\necho \"$@\" >>%s\n%s\n", fixture->log, lines);
	fclose(script);
	assert_int_equal(chmod(fixture->program, 0700), 0);
	assert_int_equal(debuginfod_create(&options, &debuginfod), 0);
	return debuginfod;
}

static void want(struct debuginfod *debuginfod, uint64_t executable_id, uint8_t build_id)
{
	const struct binary values = {
		.executable_id = executable_id,
		.build_id = { 0xab, build_id },
		.build_id_bytes = build_id ? 2 : 0,
		.fd = -1,
		.path = "program",
	};
	struct binary *binary = binary_create(&values);

	debuginfod_want(debuginfod, binary);
	binary_unref(binary);
}

static size_t wait_for(struct fixture *fixture, size_t wanted)
{
	uint64_t end_ns = clock_monotonic_ns() + WAIT_NS;
	size_t count;

	do {
		usleep(1000);
		pthread_mutex_lock(&fixture->lock);
		count = fixture->count;
		pthread_mutex_unlock(&fixture->lock);
	} while (count < wanted && clock_monotonic_ns() < end_ns);
	return count;
}

static void assert_log(struct fixture *fixture, const char *expected)
{
	char text[256] = "";
	FILE *log = fopen(fixture->log, "re");
	size_t length = log ? fread(text, 1, sizeof(text) - 1, log) : 0;

	text[length] = '\0';
	if (log)
		fclose(log);
	assert_string_equal(text, expected);
}

static void what_the_client_brings_is_told_of(void **state)
{
	struct fixture *fixture = *state;
	struct debuginfod *debuginfod = start(fixture, "[ $2 != ab02 ]", WAIT_NS);

	want(debuginfod, 1, 1);
	want(debuginfod, 2, 2);
	want(debuginfod, 3, 3);
	assert_int_equal(wait_for(fixture, 2), 2);
	assert_int_equal(fixture->came[0], 1);
	assert_int_equal(fixture->came[1], 3);
	assert_log(fixture, "debuginfo ab01\ndebuginfo ab02\ndebuginfo ab03\n");
	debuginfod_destroy(debuginfod);
}

static void a_build_id_is_asked_for_once_and_a_file_without_one_never(void **state)
{
	struct fixture *fixture = *state;
	struct debuginfod *debuginfod = start(fixture, "", WAIT_NS);

	want(debuginfod, 1, 0);
	want(debuginfod, 2, 2);
	want(debuginfod, 3, 2);
	want(debuginfod, 4, 3);
	assert_int_equal(wait_for(fixture, 2), 2);
	assert_log(fixture, "debuginfo ab02\ndebuginfo ab03\n");
	debuginfod_destroy(debuginfod);
}

static void a_client_that_takes_too_long_makes_room_for_the_next(void **state)
{
	struct fixture *fixture = *state;
	/* The second file has its own time limit. */
	struct debuginfod *debuginfod =
		start(fixture, "[ $2 = ab02 ] || exec sleep 1000", 3 * NS_PER_SECOND);

	want(debuginfod, 1, 1);
	want(debuginfod, 2, 2);
	assert_int_equal(wait_for(fixture, 1), 1);
	assert_int_equal(fixture->came[0], 2);
	debuginfod_destroy(debuginfod);
}

static void the_end_waits_for_no_client(void **state)
{
	struct fixture *fixture = *state;
	struct debuginfod *debuginfod = start(fixture, "exec sleep 1000", WAIT_NS);
	struct stat log;
	uint64_t begin_ns;

	want(debuginfod, 1, 1);
	want(debuginfod, 2, 2);
	while (stat(fixture->log, &log) || !log.st_size)
		usleep(1000);
	begin_ns = clock_monotonic_ns();
	debuginfod_stop(debuginfod);
	assert_true(clock_monotonic_ns() - begin_ns < WAIT_NS / 2);
	want(debuginfod, 3, 3);
	debuginfod_destroy(debuginfod);
	assert_log(fixture, "debuginfo ab01\n");
	assert_int_equal(fixture->count, 0);
	debuginfod_destroy(NULL);
}

static void a_client_that_is_not_there_brings_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct debuginfod *debuginfod = start(fixture, "", WAIT_NS);

	unlink(fixture->program);
	want(debuginfod, 1, 1);
	debuginfod_destroy(debuginfod);
	assert_int_equal(fixture->count, 0);
}

static void assert_directory(const char *expected)
{
	char path[64];

	assert_int_equal(debuginfod_directory(path, sizeof(path)), 0);
	assert_string_equal(path, expected);
}

static void files_are_where_the_client_keeps_them(void **state)
{
	char path[64];

	(void)state;
	unsetenv("DEBUGINFOD_CACHE_PATH");
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	assert_int_equal(debuginfod_directory(path, sizeof(path)), -ENOENT);
	setenv("HOME", "/nowhere", 1);
	assert_directory("/nowhere/.cache/debuginfod_client");
	setenv("XDG_CACHE_HOME", "/xdg", 1);
	assert_directory("/xdg/debuginfod_client");
	setenv("DEBUGINFOD_CACHE_PATH", "/mine", 1);
	assert_directory("/mine");
	assert_int_equal(debuginfod_directory(path, 5), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_the_client_brings_is_told_of, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			a_build_id_is_asked_for_once_and_a_file_without_one_never, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_client_that_takes_too_long_makes_room_for_the_next, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_end_waits_for_no_client, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_client_that_is_not_there_brings_nothing, set_up,
						tear_down),
		cmocka_unit_test(files_are_where_the_client_keeps_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
