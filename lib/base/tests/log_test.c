/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <pty.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Text that log_write() wrote to stderr, which is a pipe meanwhile. */
static char captured[4096];

static void capture(enum log_level level, const char *text)
{
	int saved = dup(STDERR_FILENO);
	int ends[2];
	ssize_t bytes;

	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	dup2(ends[1], STDERR_FILENO);
	log_write(level, "%s", text);
	dup2(saved, STDERR_FILENO);
	bytes = read(ends[0], captured, sizeof(captured) - 1);
	captured[bytes > 0 ? bytes : 0] = '\0';
	close(saved);
	close(ends[0]);
	close(ends[1]);
}

static void a_line_has_its_level_and_one_end(void **state)
{
	(void)state;
	capture(LOG_WARN, "pid 7: gone");
	assert_string_equal(captured, "warn: pid 7: gone\n");
}

static void lines_above_the_level_are_not_written(void **state)
{
	(void)state;
	log_set_level(LOG_WARN);
	capture(LOG_INFO, "x");
	assert_string_equal(captured, "");
	capture(LOG_ERROR, "x");
	assert_string_equal(captured, "error: x\n");
	log_set_level(LOG_INFO);
}

static void debug_arguments_are_not_evaluated_below_debug(void **state)
{
	int evaluated = 0;

	(void)state;
	log_debug("%d", ++evaluated);
	assert_int_equal(evaluated, 0);
}

static void hostile_names_cannot_forge_lines_or_move_the_cursor(void **state)
{
	(void)state;
	capture(LOG_INFO, "a\nerror: b\x1b[2J\x7f\xc2\x9b"
			  "0m \xc3\xa9");
	assert_string_equal(captured, "info: a?error: b?[2J???0m \xc3\xa9\n");
}

/* Captures the output to a terminal of @columns, without the carriage returns that it adds itself. */
static void capture_on_terminal(unsigned short columns, const char *text)
{
	struct winsize size = { .ws_row = 24, .ws_col = columns };
	int saved = dup(STDERR_FILENO), master, slave;
	size_t kept = 0;
	char byte;

	assert_int_equal(openpty(&master, &slave, NULL, NULL, &size), 0);
	dup2(slave, STDERR_FILENO);
	log_write(LOG_INFO, "%s", text);
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(slave);
	/* The kernel hands the text over in parts, and then says that the other side is closed. */
	while (read(master, &byte, 1) == 1)
		if (byte != '\r' && kept < sizeof(captured) - 1)
			captured[kept++] = byte;
	captured[kept] = '\0';
	close(master);
}

static void lines_are_broken_between_words_on_a_terminal(void **state)
{
	char text[200];

	(void)state;
	capture_on_terminal(40, "sampling all processes to http://127.0.0.1:7171; Ctrl-C stops");
	assert_string_equal(captured, "info: sampling all processes to\n"
				      "  http://127.0.0.1:7171; Ctrl-C stops\n");
	/* 40 columns fit, 41 do not. */
	capture_on_terminal(40, "3456789 123456789 123456789 12345 7890");
	assert_string_equal(captured, "info: 3456789 123456789 123456789 12345\n  7890\n");
	capture_on_terminal(40, "789 123456789 123456789 123456 890");
	assert_string_equal(captured, "info: 789 123456789 123456789 123456 890\n");
	/* A word that is too long, and a terminal that has no size. */
	memset(text, 'a', 99);
	text[99] = '\0';
	capture_on_terminal(40, text);
	assert_int_equal(strlen(captured), strlen("info:\n  \n") + 99);
	capture_on_terminal(0, "sampling all processes to http://127.0.0.1:7171; Ctrl-C stops");
	assert_string_equal(
		captured, "info: sampling all processes to http://127.0.0.1:7171; Ctrl-C stops\n");
}

static void long_lines_are_cut_and_say_so(void **state)
{
	char text[3000];

	(void)state;
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	capture(LOG_INFO, text);
	assert_int_equal(strlen(captured), 1024);
	assert_string_equal(captured + 1020, "...\n");
}

static void a_limit_allows_a_burst_and_then_one_per_interval(void **state)
{
	struct log_limit limit = { .interval_ns = 100, .burst = 3 };
	uint64_t suppressed = 77;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_true(log_limit_allow(&limit, 1000, &suppressed));
	assert_int_equal(suppressed, 0);
	assert_false(log_limit_allow(&limit, 1000, &suppressed));
	assert_false(log_limit_allow(&limit, 1099, &suppressed));
	assert_true(log_limit_allow(&limit, 1100, &suppressed));
	assert_int_equal(suppressed, 2);
	assert_false(log_limit_allow(&limit, 1199, &suppressed));
	/* A long silence fills the bucket, and not more than that. */
	for (int i = 0; i < 3; i++)
		assert_true(log_limit_allow(&limit, 9000, NULL));
	assert_false(log_limit_allow(&limit, 9000, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_has_its_level_and_one_end),
		cmocka_unit_test(lines_above_the_level_are_not_written),
		cmocka_unit_test(debug_arguments_are_not_evaluated_below_debug),
		cmocka_unit_test(hostile_names_cannot_forge_lines_or_move_the_cursor),
		cmocka_unit_test(lines_are_broken_between_words_on_a_terminal),
		cmocka_unit_test(long_lines_are_cut_and_say_so),
		cmocka_unit_test(a_limit_allows_a_burst_and_then_one_per_interval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
