/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/v8_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interpreters/javascript/tests/made_heap.h"
#include "interpreters/javascript/v8_string.h"

static struct made_heap made;

static uint64_t make_script(uint64_t source)
{
	return made_script(&made, source, made_text(&made, "a.js"));
}

/* Reads the lines of @script, and checks that @offset is in line @line, column @column. */
static void assert_location(uint64_t script, uint32_t offset, uint32_t line, uint32_t column)
{
	struct v8_lines lines;
	struct v8_location location;

	assert_int_equal(v8_lines_read(&made.heap, script, &lines), 0);
	assert_int_equal(v8_lines_locate(&lines, offset, &location), 0);
	assert_int_equal(location.line, line);
	assert_int_equal(location.column, column);
	v8_lines_deinit(&lines);
}

static void lines_are_counted_in_the_source(void **state)
{
	uint64_t script;

	(void)state;
	made_heap_init(&made, V8_11_3);
	script = make_script(made_text(&made, "ab\ncd\r\nef\rgh"));
	assert_location(script, 0, 1, 1);
	/* A line ends with its terminator. */
	assert_location(script, 2, 1, 3);
	assert_location(script, 3, 2, 1);
	/* The second character of \r\n. */
	assert_location(script, 5, 2, 3);
	assert_location(script, 6, 2, 4);
	assert_location(script, 7, 3, 1);
	/* A single \r. */
	assert_location(script, 9, 3, 3);
	assert_location(script, 10, 4, 1);
	/* The end of the source. */
	assert_location(script, 12, 4, 3);
}

static void other_terminators_of_unicode_count(void **state)
{
	static const uint16_t wide[] = { 'a', 0x2028, 'b', 0x2029, 'c', '\r' };
	uint64_t script;

	(void)state;
	made_heap_init(&made, V8_12_4);
	script = make_script(made_string(&made, wide, 6, false));
	assert_location(script, 2, 2, 1);
	assert_location(script, 4, 3, 1);
	/* The last character is a terminator. */
	assert_location(script, 6, 4, 1);
}

static void a_line_break_between_two_chunks_counts_once(void **state)
{
	static char text[V8_STRING_CHUNK_CHARACTERS + 2];
	uint64_t script;

	(void)state;
	made_heap_init(&made, V8_12_4);
	memset(text, 'a', sizeof(text));
	text[V8_STRING_CHUNK_CHARACTERS - 1] = '\r';
	text[V8_STRING_CHUNK_CHARACTERS] = '\n';
	script = make_script(made_string(&made, text, sizeof(text), true));
	assert_location(script, V8_STRING_CHUNK_CHARACTERS + 1, 2, 1);
}

static void what_v8_has_counted_is_taken(void **state)
{
	const uint64_t ends[] = { made_smi(4), made_smi(9) };
	uint64_t script;

	(void)state;
	made_heap_init(&made, V8_10_2);
	/* The source has other line ends. */
	script = make_script(made_text(&made, "a\nb\nc\nd\ne\n"));
	made_word(&made, script, made.layout.script_line_ends, made_array(&made, ends, 2));
	assert_location(script, 4, 1, 5);
	assert_location(script, 5, 2, 1);
}

static void line_ends_that_do_not_ascend_are_counted_again(void **state)
{
	const uint64_t ends[] = { made_smi(4), made_smi(3) };
	uint64_t script;

	(void)state;
	made_heap_init(&made, V8_10_2);
	script = make_script(made_text(&made, "a\nb\nc\nd\ne\n"));
	made_word(&made, script, made.layout.script_line_ends, made_array(&made, ends, 2));
	assert_location(script, 4, 3, 1);
}

static void a_script_may_be_a_part_of_a_file(void **state)
{
	uint64_t script;

	(void)state;
	made_heap_init(&made, V8_14_1);
	script = make_script(made_text(&made, "ab\ncd"));
	made_word(&made, script, made.layout.script_line_offset, made_smi(10));
	made_word(&made, script, made.layout.script_column_offset, made_smi(5));
	assert_location(script, 1, 11, 7);
	assert_location(script, 3, 12, 1);
}

static void there_is_no_line_behind_the_end(void **state)
{
	struct v8_lines lines;
	struct v8_location location;

	(void)state;
	made_heap_init(&made, V8_14_1);
	assert_int_equal(v8_lines_read(&made.heap, make_script(made_text(&made, "ab")), &lines), 0);
	assert_int_equal(v8_lines_locate(&lines, 3, &location), -ENOENT);
	v8_lines_deinit(&lines);
}

static void a_script_without_a_source_has_no_lines(void **state)
{
	struct v8_lines lines;

	(void)state;
	made_heap_init(&made, V8_14_1);
	assert_int_equal(v8_lines_read(&made.heap, make_script(made_smi(0)), &lines), -EBADMSG);
	assert_int_equal(v8_lines_read(&made.heap, made_text(&made, "ab"), &lines), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_counted_in_the_source),
		cmocka_unit_test(other_terminators_of_unicode_count),
		cmocka_unit_test(a_line_break_between_two_chunks_counts_once),
		cmocka_unit_test(what_v8_has_counted_is_taken),
		cmocka_unit_test(line_ends_that_do_not_ascend_are_counted_again),
		cmocka_unit_test(a_script_may_be_a_part_of_a_file),
		cmocka_unit_test(there_is_no_line_behind_the_end),
		cmocka_unit_test(a_script_without_a_source_has_no_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
