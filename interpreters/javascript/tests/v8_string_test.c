/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/v8_string.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interpreters/javascript/tests/made_heap.h"

static struct made_heap made;

/* Reads @string and compares it with @expected. */
static void assert_reads(uint64_t string, const char *expected)
{
	char text[256];
	size_t length = 0;

	assert_int_equal(v8_string_read(&made.heap, string, text, sizeof(text), &length), 0);
	assert_string_equal(text, expected);
	assert_int_equal(length, strlen(expected));
}

static int read_error(uint64_t string)
{
	char text[256];
	size_t length = 0;

	return v8_string_read(&made.heap, string, text, sizeof(text), &length);
}

static uint64_t make_slice(uint64_t parent, int32_t offset, int32_t length)
{
	uint64_t slice = made_object(&made, V8_STRING_SLICED | V8_STRING_ONE_BYTE, 32);

	made_int(&made, slice, made.layout.string_length, length);
	made_word(&made, slice, made.layout.sliced_parent, parent);
	made_word(&made, slice, made.layout.sliced_offset, made_smi(offset));
	return slice;
}

static uint64_t make_external(uint64_t characters, int32_t length, int32_t bits)
{
	uint64_t string = made_object(&made, V8_STRING_EXTERNAL | bits, 32);

	made_int(&made, string, made.layout.string_length, length);
	made_word(&made, string, made.layout.external_data, characters);
	return string;
}

static uint64_t make_thin(uint64_t actual, int32_t length)
{
	uint64_t string = made_object(&made, V8_STRING_THIN | V8_STRING_ONE_BYTE, 24);

	made_int(&made, string, made.layout.string_length, length);
	made_word(&made, string, made.layout.thin_actual, actual);
	return string;
}

static void sequential_strings_are_latin_1_or_utf_16(void **state)
{
	static const uint8_t latin[] = { 'n', 0xe9, 'e' };
	static const uint16_t wide[] = { 0x65e5, 0xd83d, 0xde00, 'x' };
	/* A low surrogate first, a high one last. */
	static const uint16_t halves[] = { 0xde00, 'a', 0xd83d };

	(void)state;
	made_heap_init(&made, V8_11_3);
	assert_reads(made_text(&made, "map"), "map");
	assert_reads(made_text(&made, ""), "");
	assert_reads(made_string(&made, latin, 3, true), "n\303\251e");
	assert_reads(made_string(&made, wide, 4, false), "\346\227\245\360\237\230\200x");
	assert_reads(made_string(&made, halves, 3, false), "\357\277\275a\357\277\275");
}

static void strings_of_parts_are_put_together(void **state)
{
	static const uint16_t wide[] = { 0x65e5 };
	uint64_t abc, cons, deep;

	(void)state;
	made_heap_init(&made, V8_13_6);
	abc = made_text(&made, "abcdef");
	cons = made_cons(&made, abc, made_string(&made, wide, 1, false), 7);
	assert_reads(cons, "abcdef\346\227\245");
	deep = made_cons(&made, cons, cons, 14);
	assert_reads(deep, "abcdef\346\227\245abcdef\346\227\245");
	assert_reads(make_slice(deep, 4, 5), "ef\346\227\245ab");
	assert_reads(make_slice(deep, 8, 3), "bcd");
	assert_reads(make_slice(abc, 2, 3), "cde");
	assert_reads(make_thin(abc, 6), "abcdef");
	assert_reads(make_slice(make_thin(abc, 6), 1, 2), "bc");
	/* A string that V8 has flattened has all characters in its first part. */
	assert_reads(made_cons(&made, abc, made_text(&made, ""), 6), "abcdef");
}

static void external_strings_lie_elsewhere(void **state)
{
	uint64_t characters;

	(void)state;
	made_heap_init(&made, V8_12_4);
	characters = made_room(&made, 16);
	made_put(&made, characters, "source", 6);
	assert_reads(make_external(characters, 6, V8_STRING_ONE_BYTE), "source");
	assert_int_equal(
		read_error(make_external(characters, 6, V8_STRING_ONE_BYTE | V8_STRING_UNCACHED)),
		-EBADMSG);
	assert_int_equal(read_error(make_external(0x1000, 6, V8_STRING_ONE_BYTE)), -EFAULT);
}

static void an_object_that_was_moved_is_followed_once(void **state)
{
	uint64_t old, string;

	(void)state;
	made_heap_init(&made, V8_10_2);
	string = made_text(&made, "moved");
	old = made_text(&made, "other");
	made_word(&made, old, 0, string - V8_TAG);
	assert_reads(old, "moved");
	/* The object is its own forwarding address, which is no map. */
	made_word(&made, old, 0, old - V8_TAG);
	assert_int_equal(read_error(old), -EBADMSG);
}

static void what_is_no_string_is_refused(void **state)
{
	bool is_string = false;
	uint64_t script, odd;

	(void)state;
	made_heap_init(&made, V8_11_3);
	script = made_script(&made, made_text(&made, ""), made_text(&made, ""));
	assert_int_equal(read_error(script), -EBADMSG);
	assert_int_equal(read_error(made_smi(5)), -EBADMSG);
	assert_int_equal(read_error(0x1001), -EFAULT);
	assert_int_equal(v8_is_string(&made.heap, script, &is_string), 0);
	assert_false(is_string);
	assert_int_equal(v8_is_string(&made.heap, made_text(&made, ""), &is_string), 0);
	assert_true(is_string);
	/* An invalid representation. */
	odd = made_object(&made, 6, 32);
	made_int(&made, odd, made.layout.string_length, 3);
	assert_int_equal(read_error(odd), -EBADMSG);
	made_int(&made, odd, made.layout.string_length, -3);
	assert_int_equal(read_error(odd), -EBADMSG);
	assert_int_equal(read_error(make_slice(made_text(&made, "a"), -1, 1)), -EBADMSG);
}

static void strings_that_hold_themselves_end(void **state)
{
	uint64_t abc, cons, thin;

	(void)state;
	made_heap_init(&made, V8_14_6);
	abc = made_text(&made, "abc");
	/* The second part is the string again. */
	cons = made_cons(&made, abc, abc, 9);
	made_word(&made, cons, made.layout.cons_second, cons);
	assert_reads(cons, "abcabcabc");
	/* The first part is the string again. */
	cons = made_cons(&made, abc, abc, 9);
	made_word(&made, cons, made.layout.cons_first, cons);
	assert_int_equal(read_error(cons), -E2BIG);
	thin = make_thin(abc, 3);
	made_word(&made, thin, made.layout.thin_actual, thin);
	assert_int_equal(read_error(thin), -E2BIG);
}

static void a_string_gives_no_more_than_it_says(void **state)
{
	uint64_t abc, thin;

	(void)state;
	made_heap_init(&made, V8_11_3);
	abc = made_text(&made, "abcdef");
	thin = make_thin(abc, 3);
	assert_reads(thin, "abc");
	/* A string has no more characters than the one that it refers to. */
	made_int(&made, thin, made.layout.string_length, 100);
	assert_reads(thin, "abcdef");
	/* A slice that begins after the end of its parent. */
	assert_reads(make_slice(abc, 7, 2), "");
	made_int(&made, thin, made.layout.string_length, INT32_MAX);
	assert_int_equal(read_error(thin), -EBADMSG);
}

static void long_strings_are_cut_between_characters(void **state)
{
	static const uint16_t wide[] = { 0x65e5, 0x65e5 };
	char text[6];
	size_t length = 0;

	(void)state;
	made_heap_init(&made, V8_11_3);
	assert_int_equal(v8_string_read(&made.heap, made_string(&made, wide, 2, false), text,
					sizeof(text), &length),
			 0);
	assert_string_equal(text, "\346\227\245");
	assert_int_equal(v8_string_read(&made.heap, made_text(&made, "abcdefgh"), text,
					sizeof(text), &length),
			 0);
	assert_string_equal(text, "abcde");
	assert_int_equal(length, 5);
}

static void strings_longer_than_a_chunk_are_read_whole(void **state)
{
	enum { COUNT = 3 * V8_STRING_CHUNK_CHARACTERS + 5 };
	static struct v8_string_reader reader;
	static char text[COUNT];
	uint32_t length = 0, count = 0, total = 0;

	(void)state;
	made_heap_init(&made, V8_11_3);
	for (size_t i = 0; i < COUNT; i++)
		text[i] = (char)('a' + i % 26);
	assert_int_equal(v8_string_open(&reader, &made.heap, made_string(&made, text, COUNT, true),
					&length),
			 0);
	assert_int_equal(length, COUNT);
	do {
		assert_int_equal(v8_string_next(&reader, &count), 0);
		for (uint32_t i = 0; i < count; i++)
			assert_int_equal(reader.chunk[i], text[total + i]);
		total += count;
	} while (count);
	assert_int_equal(total, COUNT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sequential_strings_are_latin_1_or_utf_16),
		cmocka_unit_test(strings_of_parts_are_put_together),
		cmocka_unit_test(external_strings_lie_elsewhere),
		cmocka_unit_test(an_object_that_was_moved_is_followed_once),
		cmocka_unit_test(what_is_no_string_is_refused),
		cmocka_unit_test(strings_that_hold_themselves_end),
		cmocka_unit_test(a_string_gives_no_more_than_it_says),
		cmocka_unit_test(long_strings_are_cut_between_characters),
		cmocka_unit_test(strings_longer_than_a_chunk_are_read_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
