/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/host/command_line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/host/tests/proc_fixture.h"

static void assert_line(const char *text, size_t size, const char *expected)
{
	char line[COMMAND_LINE_MAX_BYTES];

	memset(line, 'x', sizeof(line));
	command_line_parse(text, size, line);
	assert_string_equal(line, expected);
}

static void arguments_are_joined(void **state)
{
	static const char server[] = "server\0-port\0"
				     "80";

	(void)state;
	assert_line(server, sizeof(server), "server -port 80");
	/* As a program that writes its own title leaves it. */
	assert_line("nginx: worker\0\0\0\0", 17, "nginx: worker");
	assert_line("\0\0", 2, "");
	assert_line("", 0, "");
	/* Other bytes are left to who writes them. */
	assert_line("a\n\xff\0b", 5, "a\n\xff b");
}

static void a_long_line_is_cut_between_characters(void **state)
{
	char text[2 * COMMAND_LINE_MAX_BYTES], expected[COMMAND_LINE_MAX_BYTES];

	(void)state;
	memset(text, 'x', sizeof(text));
	memset(expected, 'x', sizeof(expected));
	expected[COMMAND_LINE_MAX_BYTES - 1] = '\0';
	assert_line(text, sizeof(text), expected);
	/* Its last byte would be behind the cut. */
	memcpy(text + COMMAND_LINE_MAX_BYTES - 3, "\xe2\x82\xac", 3);
	expected[COMMAND_LINE_MAX_BYTES - 3] = '\0';
	assert_line(text, sizeof(text), expected);
	assert_line(text, COMMAND_LINE_MAX_BYTES, expected);
}

static void it_is_read_from_the_process(void **state)
{
	char folder[] = "/tmp/command_line_test_XXXXXX", line[COMMAND_LINE_MAX_BYTES];
	char own[COMMAND_LINE_MAX_BYTES], large[COMMAND_LINE_MAX_BYTES + 100];

	(void)state;
	assert_non_null(mkdtemp(folder));
	write_fake_bytes(folder, "7/cmdline", "sh\0-c\0true", 11);
	command_line_read(folder, 7, line);
	assert_string_equal(line, "sh -c true");
	command_line_read(folder, 8, line);
	assert_string_equal(line, "");
	/* A leader that has exited has none. */
	write_fake_file(folder, "9/cmdline", "");
	write_fake_file(folder, "9/task/9/cmdline", "");
	write_fake_bytes(folder, "9/task/10/cmdline", "other", 6);
	command_line_read(folder, 9, line);
	assert_string_equal(line, "other");
	memset(large, 'y', sizeof(large));
	write_fake_bytes(folder, "7/cmdline", large, sizeof(large));
	command_line_read(folder, 7, line);
	assert_int_equal(strlen(line), COMMAND_LINE_MAX_BYTES - 1);
	remove_folder(folder);
	command_line_read("/proc", getpid(), own);
	assert_non_null(strstr(own, "command_line_test"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_are_joined),
		cmocka_unit_test(a_long_line_is_cut_between_characters),
		cmocka_unit_test(it_is_read_from_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
