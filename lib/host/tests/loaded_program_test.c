// SPDX-License-Identifier: Apache-2.0
#include "lib/host/loaded_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define PARSED(text, name) loaded_program_parse(text, sizeof(text), name)

static void loaders_are_known_by_their_names(void **state)
{
	static const char *const loaders[] = { "/lib64/ld-linux-x86-64.so.2",
					       "/lib/ld-linux-aarch64.so.1",
					       "/lib/x86_64-linux-gnu/ld-2.31.so",
					       "/lib/ld-musl-x86_64.so.1",
					       "/usr/bin/ld.so",
					       "/lib64/ld64.so.2" };
	static const char *const others[] = { "/usr/bin/ld", "/usr/bin/ld-new", "/bin/ls", "",
					      "/lib/ld-linux-x86-64.so.2/prog" };

	(void)state;
	for (size_t i = 0; i < sizeof(loaders) / sizeof(loaders[0]); i++)
		assert_true(is_dynamic_loader(loaders[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(is_dynamic_loader(others[i]));
}

static void the_program_is_the_first_argument_that_is_no_option(void **state)
{
	char name[LOADED_PROGRAM_MAX_BYTES];

	(void)state;
	assert_true(PARSED("ld.so\0./prog\0-x", name));
	assert_string_equal(name, "./prog");
	assert_true(PARSED("ld.so\0--library-path\0/a:/b\0--inhibit-cache\0/opt/bin/server", name));
	assert_string_equal(name, "/opt/bin/server");
	assert_true(PARSED("ld.so\0--\0-odd", name));
	assert_string_equal(name, "-odd");
	assert_true(PARSED("ld-musl.so\0--preload\0x.so\0prog\0other", name));
	assert_string_equal(name, "prog");
}

static void where_there_is_none_nothing_is_set(void **state)
{
	char name[LOADED_PROGRAM_MAX_BYTES] = "untouched", large[2 * LOADED_PROGRAM_MAX_BYTES];

	(void)state;
	assert_false(PARSED("ld.so", name));
	assert_false(PARSED("ld.so\0--preload", name));
	assert_false(PARSED("ld.so\0/folder/", name));
	assert_false(loaded_program_parse("ld.so\0cut", 9, name));
	assert_false(loaded_program_parse("", 0, name));
	memset(large, 'x', sizeof(large));
	large[1] = large[sizeof(large) - 1] = '\0';
	assert_false(loaded_program_parse(large, sizeof(large), name));
	assert_false(loaded_program_read("/nonexistent", 1, name));
	assert_string_equal(name, "untouched");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loaders_are_known_by_their_names),
		cmocka_unit_test(the_program_is_the_first_argument_that_is_no_option),
		cmocka_unit_test(where_there_is_none_nothing_is_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
