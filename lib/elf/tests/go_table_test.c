/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

#include <cmocka.h>

#include <errno.h>

#include "lib/elf/go_table.h"
#include "lib/elf/tests/go_table_example.h"

static struct made_go go;
static struct elf_image image;
static struct go_table table;

/* Opens the made file and returns the result; close_made() closes it. */
static int open_made(void)
{
	memset(&table, 0xff, sizeof(table));
	assert_int_equal(elf_image_init_memory(&image, go.bytes, sizeof(go.bytes)), 0);
	return go_table_init(&table, &image);
}

static void close_made(void)
{
	go_table_deinit(&table);
	elf_image_deinit(&image);
}

static void expect_found(void)
{
	if (open_made())
		fail_msg("Go 1.%u: %s", go.minor, error_text());
	assert_int_equal(table.header.version, go.version);
	assert_int_equal(table.header.address, MADE_GO_ADDRESS + MADE_GO_TABLE);
	assert_int_equal(table.header.function_count, 4);
	assert_int_equal(table.minor, go.minor < 13 ? 0 : go.minor);
	assert_int_equal(table.first_address, MADE_GO_ADDRESS + MADE_GO_TEXT);
	assert_int_equal(table.end_address, MADE_GO_ADDRESS + MADE_GO_TEXT + 1200);
	if (go.version >= GO_TABLE_1_18) {
		assert_int_equal(table.text, MADE_GO_ADDRESS + MADE_GO_TEXT);
		assert_int_equal(table.funcdata, MADE_GO_ADDRESS + go.funcdata);
	}
	close_made();
}

static void expect_error(int err)
{
	int found = open_made();

	if (found != err)
		fail_msg("%d, not %d: %s", found, err, error_text());
	close_made();
}

static void made_example(uint32_t minor)
{
	for (int i = 0; i < MADE_GO_VERSIONS; i++)
		if (made_go_versions[i].minor == minor)
			made_go_example(&go, made_go_versions[i].version, minor);
}

static void tables_of_all_versions_are_found_by_the_section(void **state)
{
	(void)state;
	for (int i = 0; i < MADE_GO_VERSIONS; i++) {
		made_go_example(&go, made_go_versions[i].version, made_go_versions[i].minor);
		made_go_make(&go);
		expect_found();
	}
}

static void they_are_found_in_relocated_files_and_without_the_name(void **state)
{
	static const char *const names[] = { ".data.rel.ro.gopclntab", ".other", NULL };

	(void)state;
	for (int i = 0; i < MADE_GO_VERSIONS * 12; i++) {
		const struct made_go_version *version = &made_go_versions[i / 12];

		made_go_example(&go, version->version, version->minor);
		go.section_name = names[i % 3];
		go.is_relocated = i / 3 % 2;
		go.machine = i / 6 % 2 ? EM_AARCH64 : EM_X86_64;
		made_go_make(&go);
		expect_found();
	}
}

static void files_without_a_table_have_none(void **state)
{
	(void)state;
	made_example(26);
	go.section_name = NULL;
	made_go_make(&go);
	made_go_put(&go, MADE_GO_TABLE, 0xfffffff9, 4);
	expect_error(-ENOENT);
	/* Another machine's, and of 4-byte pointers. */
	made_go_put(&go, MADE_GO_TABLE, 0xfffffff1, 4);
	made_go_put(&go, MADE_GO_TABLE + 6, 4, 1);
	expect_error(-ENOENT);
	made_go_put(&go, MADE_GO_TABLE + 6, 1 | 4 << 8, 2);
	expect_error(-ENOENT);
	made_go_put(&go, MADE_GO_TABLE + 6, 1 | 8 << 8, 2);
	expect_found();
}

static void a_table_that_is_only_data_is_passed_by(void **state)
{
	static uint8_t foreign[MADE_GO_DATA - MADE_GO_TABLE];

	(void)state;
	made_example(25);
	made_go_make(&go);
	memcpy(foreign, go.bytes + MADE_GO_TABLE, sizeof(foreign));
	made_example(25);
	go.section_name = NULL;
	made_go_make(&go);
	/* The table of another program comes first; the true one, which moduledata refers to, follows. */
	made_go_put(&go, MADE_GO_TEXT + 0x800, made_go_magic(go.version), 4);
	memcpy(go.bytes + MADE_GO_TEXT + 0x808, foreign + 8, 0x700);
	made_go_put(&go, MADE_GO_TEXT + 0x806, 1 | 8 << 8, 2);
	expect_found();
}

static void moduledata_must_fit_the_header(void **state)
{
	static const uint32_t minors[] = { 18, 20, 26, 27 };
	/* Words that are looked at: header, parts, index, addresses. */
	static const uint32_t words[] = { 0, 1, 2, 4, 7, 10, 13, 14, 16, 17, 20, 21, 22, 23 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++) {
			made_example(minors[i]);
			made_go_make(&go);
			made_go_put(&go, go.module + words[k] * 8, 2, 8);
			expect_error(-ENOENT);
		}
	}
}

static void an_unknown_moduledata_is_refused(void **state)
{
	(void)state;
	made_example(26);
	made_go_make(&go);
	made_go_put_pointer(&go, go.module + 40 * 8, MADE_GO_ADDRESS + go.funcdata + 64);
	expect_error(-EOPNOTSUPP);
	/* More than one section of code. */
	made_example(25);
	made_go_make(&go);
	made_go_put(&go, go.module + 42 * 8, 2, 8);
	made_go_put(&go, go.module + 43 * 8, 2, 8);
	expect_error(-EOPNOTSUPP);
}

static void damaged_headers_are_refused(void **state)
{
	(void)state;
	for (int i = 0; i < MADE_GO_VERSIONS; i++) {
		made_go_example(&go, made_go_versions[i].version, made_go_versions[i].minor);
		made_go_make(&go);
		made_go_put(&go, MADE_GO_TABLE + 8, 0, 8);
		expect_error(-EBADMSG);
		made_go_put(&go, MADE_GO_TABLE + 8, GO_MAX_FUNCTIONS + 1ULL, 8);
		expect_error(-E2BIG);
		made_go_put(&go, MADE_GO_TABLE + 8, 100000, 8);
		expect_error(-EBADMSG);
		if (go.version == GO_TABLE_1_2)
			continue;
		made_go_put(&go, MADE_GO_TABLE + 8, 4, 8);
		/* Parts in another order, and one beyond the end. */
		made_go_put(&go, MADE_GO_TABLE + 40, 1, 8);
		expect_error(-EBADMSG);
		made_go_put(&go, MADE_GO_TABLE + (go.version == GO_TABLE_1_16 ? 56 : 64), 1 << 20,
			    8);
		expect_error(-EBADMSG);
	}
	/* Offset and number of the files in 1.2's table. */
	made_example(15);
	made_go_make(&go);
	made_go_put(&go, go.units, 1 << 20, 4);
	expect_error(-EBADMSG);
	made_go_put(&go, MADE_GO_TABLE + 16 + 4 * 16 + 8, 1 << 20, 4);
	expect_error(-EBADMSG);
}

static void functions_must_be_executable(void **state)
{
	(void)state;
	made_example(15);
	made_go_make(&go);
	made_go_put_segment(&go, 0, PF_R, MADE_GO_TEXT, MADE_GO_TABLE);
	expect_error(-EBADMSG);
	made_go_put_segment(&go, 0, PF_R | PF_X, MADE_GO_TEXT, MADE_GO_TEXT + 1199);
	expect_error(-EBADMSG);
	made_go_put_segment(&go, 0, PF_R | PF_X, MADE_GO_TEXT, MADE_GO_TEXT + 1200);
	expect_found();
}

static void layouts_of_the_oldest_are_told_apart(void **state)
{
	(void)state;
	made_example(9);
	made_go_make(&go);
	assert_int_equal(open_made(), 0);
	assert_int_equal(table.layout.funcdata_count_bytes, 4);
	assert_int_equal(table.layout.inline_tree, GO_INLINE_TREE_1_9);
	close_made();
	made_example(12);
	made_go_make(&go);
	assert_int_equal(open_made(), 0);
	assert_int_equal(table.layout.funcdata_count_bytes, 1);
	assert_int_equal(table.layout.inline_tree, GO_INLINE_TREE_NONE);
	close_made();
	/* A function that lies outside of the table. */
	made_go_put(&go, MADE_GO_TABLE + 24, 1 << 20, 8);
	expect_error(-EBADMSG);
}

static void many_false_headers_end_the_search(void **state)
{
	(void)state;
	made_example(26);
	go.section_name = NULL;
	made_go_make(&go);
	for (uint32_t i = 0; i < 20; i++)
		memcpy(go.bytes + MADE_GO_TEXT + 0x800 + i * 8, go.bytes + MADE_GO_TABLE, 8);
	expect_error(-EBADMSG);
}

static void a_released_table_is_read_again(void **state)
{
	(void)state;
	made_example(26);
	made_go_make(&go);
	assert_int_equal(open_made(), 0);
	go_table_release(&table);
	for (int set = 0; set < ELF_PAGE_SETS; set++)
		assert_null(table.pages.pages[set][0].data);
	close_made();
	go_table_deinit(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_of_all_versions_are_found_by_the_section),
		cmocka_unit_test(they_are_found_in_relocated_files_and_without_the_name),
		cmocka_unit_test(files_without_a_table_have_none),
		cmocka_unit_test(a_table_that_is_only_data_is_passed_by),
		cmocka_unit_test(moduledata_must_fit_the_header),
		cmocka_unit_test(an_unknown_moduledata_is_refused),
		cmocka_unit_test(damaged_headers_are_refused),
		cmocka_unit_test(functions_must_be_executable),
		cmocka_unit_test(layouts_of_the_oldest_are_told_apart),
		cmocka_unit_test(many_false_headers_end_the_search),
		cmocka_unit_test(a_released_table_is_read_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
