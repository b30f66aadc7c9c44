/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/build/go_functions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/elf/tests/go_table_example.h"

enum { TEXT = MADE_GO_ADDRESS + MADE_GO_TEXT };

static struct made_go go;

/* Asserts what is added from the made program: "start-end name" for each function. */
static void expect(const char *expected)
{
	struct elf_image image;
	struct interval_vector intervals = { 0 };
	struct string_table strings = { 0 };
	char text[512] = "";
	size_t used = 0;

	made_go_make(&go);
	assert_int_equal(elf_image_init_memory(&image, go.bytes, sizeof(go.bytes)), 0);
	assert_int_equal(go_functions_add(&image, &intervals, &strings), 0);
	for (size_t i = 0; i < intervals.count; i++)
		used += snprintf(text + used, sizeof(text) - used, "%d-%d %s\n",
				 (int)(intervals.items[i].start - TEXT),
				 (int)(intervals.items[i].end - TEXT),
				 (const char *)strings.bytes.items + intervals.items[i].value);
	assert_string_equal(text, expected);
	interval_vector_deinit(&intervals);
	string_table_deinit(&strings);
	elf_image_deinit(&image);
}

static void functions_of_the_table_are_added(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < MADE_GO_VERSIONS; i++) {
		made_go_example(&go, made_go_versions[i].version, made_go_versions[i].minor);
		expect("0-64 main.leaf\n"
		       "64-1072 main.outer\n"
		       "1072-1136 main.(*wrapped).run\n"
		       "1136-1200 runtime.assembly\n");
	}
}

static void a_file_without_the_section_is_not_searched(void **state)
{
	(void)state;
	made_go_example(&go, GO_TABLE_1_20, 26);
	go.section_name = NULL;
	expect("");
}

static void a_damaged_table_counts_as_far_as_it_goes(void **state)
{
	struct made_function functions[4];

	(void)state;
	made_go_example(&go, GO_TABLE_1_20, 26);
	memcpy(functions, go.functions, sizeof(functions));
	functions[1].name = "";
	go.functions = functions;
	expect("0-64 main.leaf\n"
	       "1072-1136 main.(*wrapped).run\n"
	       "1136-1200 runtime.assembly\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_the_table_are_added),
		cmocka_unit_test(a_file_without_the_section_is_not_searched),
		cmocka_unit_test(a_damaged_table_counts_as_far_as_it_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
