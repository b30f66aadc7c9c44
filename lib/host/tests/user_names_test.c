/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/host/user_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/host/tests/proc_fixture.h"

struct fixture {
	char folder[64];
	char path[80];
	struct user_names names;
};

static int set_up(void **state)
{
	static struct fixture fixture;

	strcpy(fixture.folder, "/tmp/user_names_test_XXXXXX");
	if (!mkdtemp(fixture.folder))
		return -1;
	snprintf(fixture.path, sizeof(fixture.path), "%s/passwd", fixture.folder);
	user_names_init(&fixture.names, fixture.path);
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	user_names_deinit(&fixture->names);
	remove_folder(fixture->folder);
	return 0;
}

static void assert_name(struct fixture *fixture, uid_t uid, uint64_t now_ns, const char *expected)
{
	char name[USER_NAME_MAX_BYTES];

	user_name_read(&fixture->names, uid, now_ns, name);
	assert_string_equal(name, expected);
}

static void names_come_from_the_file(void **state)
{
	struct fixture *fixture = *state;

	write_fake_file(
		fixture->folder, "passwd",
		"root:x:0:0:root:/root:/bin/bash\n"
		"# comment:x:5:5::/:\n"
		"www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin\n"
		"again:x:33:33::/:\n"
		"no number:x::7::/:\nbad:x:7z:7::/:\nminus:x:-8:8::/:\nhuge:x:4294967296:0::/:\n"
		":x:9:9::/:\nshort:x\nshorter\n\n"
		"last:x:1000:1000:::");
	assert_name(fixture, 0, 1, "root");
	assert_name(fixture, 33, 1, "www-data");
	assert_name(fixture, 1000, 1, "last");
	assert_name(fixture, 5, 1, "5");
	assert_name(fixture, 7, 1, "7");
	assert_name(fixture, 9, 1, "9");
	assert_name(fixture, 4294967288U, 1, "4294967288");
}

static void without_a_file_there_are_numbers(void **state)
{
	assert_name(*state, 0, 1, "0");
}

static void a_changed_file_is_read_again_after_a_while(void **state)
{
	struct fixture *fixture = *state;
	char path[80];

	assert_name(fixture, 7, 1, "7");
	write_fake_file(fixture->folder, "passwd", "one:x:7:7:::\n");
	assert_name(fixture, 7, NS_PER_SECOND, "7");
	assert_name(fixture, 7, 20 * NS_PER_SECOND, "one");
	/* As programs that change it do: another file takes its place. */
	write_fake_file(fixture->folder, "new", "two:x:8:8:::\n");
	snprintf(path, sizeof(path), "%s/new", fixture->folder);
	assert_int_equal(rename(path, fixture->path), 0);
	assert_name(fixture, 7, 25 * NS_PER_SECOND, "one");
	assert_name(fixture, 7, 40 * NS_PER_SECOND, "7");
	assert_name(fixture, 8, 40 * NS_PER_SECOND, "two");
	/* It is missing for a moment. */
	unlink(fixture->path);
	assert_name(fixture, 8, 60 * NS_PER_SECOND, "two");
}

static void long_names_are_numbers(void **state)
{
	struct fixture *fixture = *state;
	char line[200];

	memset(line, 'n', sizeof(line));
	strcpy(line + USER_NAME_MAX_BYTES - 1, ":x:7:7:::\n");
	write_fake_file(fixture->folder, "passwd", line);
	line[USER_NAME_MAX_BYTES - 1] = '\0';
	assert_name(fixture, 7, 1, line);
	memset(line, 'n', sizeof(line));
	strcpy(line + USER_NAME_MAX_BYTES, ":x:7:7:::\n");
	write_fake_file(fixture->folder, "passwd", line);
	assert_name(fixture, 7, 20 * NS_PER_SECOND, "7");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(names_come_from_the_file),
		TEST(without_a_file_there_are_numbers),
		TEST(a_changed_file_is_read_again_after_a_while),
		TEST(long_names_are_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
