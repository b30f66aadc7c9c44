/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/java/java_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interpreters/java/tests/made_code.h"

enum {
	METHOD_AT = 0xd000,
	CONST_METHOD_AT = 0xd040,
	CONSTANTS_AT = 0xd200,
	SYMBOL_AT = 0xd300,
	/** The ConstMethod and its bytecodes. */
	CODE_BYTES = 40,
	TABLE_AT = CONST_METHOD_AT + 48 + CODE_BYTES,
	WORDS = 24,
};

static struct made_vm vm;

static void make_method(const uint8_t *table, size_t size)
{
	made_code_init(&vm);
	made_vm_put(&vm, METHOD_AT + 8, MADE_VM_BASE + CONST_METHOD_AT, 8);
	made_vm_put(&vm, CONST_METHOD_AT + 8, MADE_VM_BASE + CONSTANTS_AT, 8);
	made_vm_put(&vm, CONST_METHOD_AT + 16, CODE_BYTES, 2);
	made_vm_put(&vm, CONST_METHOD_AT + 24, WORDS, 4);
	made_vm_put(&vm, CONST_METHOD_AT + 28, 0xff01, 2);
	memcpy(vm.bytes + TABLE_AT, table, size);
}

/* The lines of @bci; 0: there is none. */
static struct java_lines lines_of(uint32_t bci)
{
	const struct java_layout layout = made_code_layout();
	struct java_lines lines = { 0 };
	int err = java_lines_of(&layout, &vm.memory, MADE_VM_BASE + METHOD_AT, bci, &lines);

	assert_true(!err || err == -ENOENT);
	return lines;
}

static uint32_t line_of(uint32_t bci)
{
	return lines_of(bci).line;
}

/* Line 10 at 0, 12 at 4, 300 at 20, 11 at 22. The last two entries use an escape. */
static const uint8_t table[] = { 0xff, 0, 20, 4 << 3 | 2, 0xff, 32, 0xc0, 6, 0xff, 4, 0xc1, 6, 0 };

static void a_line_goes_on_to_the_next_entry(void **state)
{
	static const struct {
		uint32_t bci;
		uint32_t line;
	} expected[] = { { 0, 10 },   { 3, 10 },   { 4, 12 },  { 19, 12 },
			 { 20, 300 }, { 21, 300 }, { 22, 11 }, { 39, 11 } };

	(void)state;
	make_method(table, sizeof(table));
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_int_equal(line_of(expected[i].bci), expected[i].line);
}

static void a_method_begins_with_the_line_of_its_first_bytecode(void **state)
{
	/* Line 9 at 0, 8 at 0, 7 at 3; and 7 at 1. */
	static const uint8_t two[] = { 0xff, 0, 18, 0xff, 0, 1, 0xff, 6, 1, 0 };
	static const uint8_t later[] = { 1 << 3 | 7, 0 };

	(void)state;
	make_method(table, sizeof(table));
	assert_int_equal(lines_of(0).start_line, 10);
	assert_int_equal(lines_of(20).start_line, 10);
	make_method(two, sizeof(two));
	assert_int_equal(lines_of(5).line, 7);
	assert_int_equal(lines_of(5).start_line, 9);
	make_method(later, sizeof(later));
	assert_int_equal(lines_of(4).line, 7);
	assert_int_equal(lines_of(4).start_line, 0);
}

static void before_the_first_entry_there_is_no_line(void **state)
{
	static const uint8_t later[] = { 5 << 3 | 7, 0 };

	(void)state;
	make_method(later, sizeof(later));
	assert_int_equal(line_of(4), 0);
	assert_int_equal(line_of(5), 7);
}

/* Entries whose bytecode index goes back, as javac makes them for loops. */
static void of_entries_that_go_back_the_nearest_one_counts(void **state)
{
	static const uint8_t back[] = { 0xff, 20, 10, 0xff, 15, 2, 0xff, 4, 2, 0 };

	(void)state;
	make_method(back, sizeof(back));
	/* Line 5 at 10, 6 at 2, 7 at 4. */
	assert_int_equal(line_of(2), 6);
	assert_int_equal(line_of(3), 6);
	assert_int_equal(line_of(4), 7);
	assert_int_equal(line_of(9), 7);
	assert_int_equal(line_of(11), 5);
}

static void methods_without_lines_have_none(void **state)
{
	(void)state;
	make_method(table, sizeof(table));
	made_vm_put(&vm, CONST_METHOD_AT + 28, 0xfffe, 2);
	assert_int_equal(line_of(0), 0);
}

static void forged_sizes_are_refused(void **state)
{
	const struct java_layout layout = made_code_layout();
	struct java_lines lines;

	(void)state;
	make_method(table, sizeof(table));
	made_vm_put(&vm, CONST_METHOD_AT + 24, (48 + CODE_BYTES) / 8, 4);
	assert_int_equal(java_lines_of(&layout, &vm.memory, MADE_VM_BASE + METHOD_AT, 0, &lines),
			 -EBADMSG);
	made_vm_put(&vm, CONST_METHOD_AT + 24, UINT32_MAX, 4);
	assert_int_equal(java_lines_of(&layout, &vm.memory, MADE_VM_BASE + METHOD_AT, 0, &lines),
			 -E2BIG);
	/* A table without an end, and invalid numbers. */
	make_method(table, sizeof(table));
	memset(vm.bytes + TABLE_AT, 0xff, WORDS * 8 - 48 - CODE_BYTES);
	assert_int_equal(line_of(5), 0);
}

static void the_file_is_a_constant(void **state)
{
	const struct java_layout layout = made_code_layout();
	java_text text;

	(void)state;
	make_method(table, sizeof(table));
	assert_int_equal(java_source_file(&layout, &vm.memory, MADE_VM_BASE + METHOD_AT, text),
			 -ENOENT);
	made_vm_put(&vm, CONSTANTS_AT + 16, 5, 4);
	made_vm_put(&vm, CONSTANTS_AT + 20, 2, 2);
	made_vm_put(&vm, CONSTANTS_AT + 24 + 16, MADE_VM_BASE + SYMBOL_AT, 8);
	made_vm_put(&vm, SYMBOL_AT + 4, 6, 2);
	memcpy(vm.bytes + SYMBOL_AT + 6, "A.java", 6);
	assert_int_equal(java_source_file(&layout, &vm.memory, MADE_VM_BASE + METHOD_AT, text), 0);
	assert_string_equal(text, "A.java");
	made_vm_put(&vm, CONSTANTS_AT + 20, 5, 2);
	assert_int_equal(java_source_file(&layout, &vm.memory, MADE_VM_BASE + METHOD_AT, text),
			 -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_goes_on_to_the_next_entry),
		cmocka_unit_test(a_method_begins_with_the_line_of_its_first_bytecode),
		cmocka_unit_test(before_the_first_entry_there_is_no_line),
		cmocka_unit_test(of_entries_that_go_back_the_nearest_one_counts),
		cmocka_unit_test(methods_without_lines_have_none),
		cmocka_unit_test(forged_sizes_are_refused),
		cmocka_unit_test(the_file_is_a_constant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
