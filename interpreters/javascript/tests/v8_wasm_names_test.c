/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/v8_wasm_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interpreters/javascript/tests/made_wasm.h"

static struct made_heap made;
static struct v8_wasm_names names;

/* Reads the names of the module of @count bytes. */
static int read_names(const char *bytes, size_t count)
{
	uint64_t module;

	v8_wasm_names_deinit(&names);
	made_heap_init(&made, V8_13_6);
	module = made_room(&made, count);
	made_put(&made, module, bytes, count);
	return v8_wasm_names_read(&made.memory, module, count, &names);
}

#define READ(bytes) read_names(bytes, sizeof(bytes) - 1)
#define HEADER "\0asm\1\0\0\0"

static void assert_name(uint32_t index, const char *expected)
{
	char name[64];

	assert_int_equal(v8_wasm_names_find(&made.memory, &names, index, name, sizeof(name)), 0);
	assert_string_equal(name, expected);
}

static void functions_have_the_names_of_the_section(void **state)
{
	char name[64];

	(void)state;
	assert_int_equal(READ(made_wasm_bytes), 0);
	assert_int_equal(names.count, 6);
	assert_name(2, "add");
	assert_name(5, "a\xe2\x82\xac"
		       "b");
	assert_int_equal(v8_wasm_names_find(&made.memory, &names, 3, name, sizeof(name)), -ENOENT);
	assert_int_equal(v8_wasm_names_find(&made.memory, &names, 6, name, sizeof(name)), -ENOENT);
	/* Cut, not within a character. */
	assert_int_equal(v8_wasm_names_find(&made.memory, &names, 5, name, 4), 0);
	assert_string_equal(name, "a");
}

static void what_is_no_utf8_is_replaced(void **state)
{
	(void)state;
	assert_int_equal(READ(HEADER "\0\x0d\4name\1\6\1\1\3a\xff\0"), 0);
	assert_name(1, "a\xef\xbf\xbd\xef\xbf\xbd");
}

static void other_modules_have_no_names(void **state)
{
	(void)state;
	assert_int_equal(READ(HEADER), -ENOENT);
	assert_int_equal(READ(HEADER "\1\1\0"), -ENOENT);
	/* Only the module's own name. */
	assert_int_equal(READ(HEADER "\0\7\4name\0\0"), -ENOENT);
	/* No function. */
	assert_int_equal(READ(HEADER "\0\x08\4name\1\1\0"), -ENOENT);
	assert_int_equal(READ("\0asm\2\0\0\0\0\7\4name\0\0"), -EBADMSG);
	assert_int_equal(READ("\0as"), -EBADMSG);
}

static void malformed_modules_are_refused(void **state)
{
	(void)state;
	/* A section longer than the module, a number of too many bytes, and a section's name longer than the section. */
	assert_int_equal(READ(HEADER "\0\x20\4name"), -EBADMSG);
	assert_int_equal(READ(HEADER "\0\xff\xff\xff\xff\xff\xff"), -EBADMSG);
	assert_int_equal(READ(HEADER "\0\3\4nam"), -EBADMSG);
	/* A function that is far too large, and one behind a larger one. */
	assert_int_equal(READ(HEADER "\0\x0f\4name\1\x08\1\xff\xff\xff\x7f\1a\0"), -EBADMSG);
	assert_int_equal(READ(HEADER "\0\x0f\4name\1\x08\2\4\1a\2\1b\0"), 0);
	assert_int_equal(names.count, 5);
	assert_name(4, "a");
	assert_int_equal(v8_wasm_names_read(&made.memory, MADE_HEAP_BASE, UINT64_MAX, &names),
			 -E2BIG);
	assert_int_equal(v8_wasm_names_read(&made.memory, 8, 100, &names), -EFAULT);
}

static int tear_down(void **state)
{
	(void)state;
	v8_wasm_names_deinit(&names);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(functions_have_the_names_of_the_section, tear_down),
		cmocka_unit_test_teardown(what_is_no_utf8_is_replaced, tear_down),
		cmocka_unit_test_teardown(other_modules_have_no_names, tear_down),
		cmocka_unit_test_teardown(malformed_modules_are_refused, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
