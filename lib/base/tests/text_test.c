/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static void both_ends_of_a_text_can_be_asked_for(void **state)
{
	(void)state;
	assert_true(text_starts_with("grpc-timeout", "grpc-"));
	assert_true(text_starts_with("a", ""));
	assert_false(text_starts_with("grpc", "grpc-"));
	assert_true(text_ends_with("token-bin", "-bin"));
	assert_true(text_ends_with("a", ""));
	assert_false(text_ends_with("bin", "-bin"));
	assert_false(text_ends_with("token-bin2", "-bin"));
}

static void hexadecimal_digits_have_values(void **state)
{
	(void)state;
	assert_int_equal(text_hex_value('0'), 0);
	assert_int_equal(text_hex_value('9'), 9);
	assert_int_equal(text_hex_value('a'), 10);
	assert_int_equal(text_hex_value('F'), 15);
	assert_int_equal(text_hex_value('g'), -1);
	assert_int_equal(text_hex_value('G'), -1);
	assert_int_equal(text_hex_value('/'), -1);
	assert_int_equal(text_hex_value('\0'), -1);
}

static void assert_trimmed(const char *text, const char *expected)
{
	const char *start = text, *end = text + strlen(text);

	text_trim(&start, &end);
	assert_int_equal(end - start, strlen(expected));
	assert_memory_equal(start, expected, strlen(expected));
}

static void blanks_are_trimmed_at_both_ends(void **state)
{
	(void)state;
	assert_trimmed(" \ta b\t ", "a b");
	assert_trimmed("a", "a");
	assert_trimmed(" \t ", "");
	assert_trimmed("", "");
	assert_trimmed("\na", "\na");
}

static void percents_are_decoded_in_the_same_buffer(void **state)
{
	char text[] = "a%2Cb%c3%A4%25";
	size_t length = 77;

	(void)state;
	assert_true(text_decode_percents(text, text + strlen(text), text, sizeof(text), &length));
	assert_int_equal(length, 6);
	assert_memory_equal(text, "a,b\xc3\xa4%", 6);
}

static void assert_undecodable(const char *text)
{
	char decoded[16];
	size_t length = 77;

	assert_false(
		text_decode_percents(text, text + strlen(text), decoded, sizeof(decoded), &length));
	assert_int_equal(length, 77);
}

static void what_is_wrongly_encoded_is_refused(void **state)
{
	(void)state;
	assert_undecodable("%");
	assert_undecodable("a%2");
	assert_undecodable("%g0");
	assert_undecodable("%0g");
	assert_undecodable("%00");
	assert_undecodable("%+1");
}

static void no_more_is_decoded_than_there_is_room_for(void **state)
{
	const char text[] = "a%42c%zz";
	char decoded[3] = "xxx";
	size_t length;

	(void)state;
	assert_true(text_decode_percents(text, text + strlen(text), decoded, 2, &length));
	assert_int_equal(length, 2);
	assert_memory_equal(decoded, "aBx", 3);
	/* The digits are behind the end. */
	assert_false(text_decode_percents(text, text + 3, decoded, 3, &length));
}

static void texts_are_cut_between_characters(void **state)
{
	/* One, two, three, four bytes. */
	const char text[] = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z";
	static const size_t lengths[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11 };

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		assert_int_equal(text_cut_length(text, 11, i), lengths[i]);
	assert_int_equal(text_cut_length("\x80\x80\x80", 3, 2), 0);
}

static void check_encoded(uint32_t character, const char *expected)
{
	char encoded[TEXT_UTF8_MAX_BYTES];

	assert_int_equal(text_encode_utf8(character, encoded), strlen(expected));
	assert_memory_equal(encoded, expected, strlen(expected));
}

static void characters_are_encoded_in_as_few_bytes_as_they_need(void **state)
{
	(void)state;
	check_encoded(1, "\x01");
	check_encoded(0x7f, "\x7f");
	check_encoded(0x80, "\xc2\x80");
	check_encoded(0x7ff, "\xdf\xbf");
	check_encoded(0x800, "\xe0\xa0\x80");
	check_encoded(0xffff, "\xef\xbf\xbf");
	check_encoded(0x10000, "\xf0\x90\x80\x80");
	check_encoded(0x10ffff, "\xf4\x8f\xbf\xbf");
	check_encoded(0, "\xef\xbf\xbd");
	check_encoded(0xd800, "\xef\xbf\xbd");
	check_encoded(0x110000, "\xef\xbf\xbd");
}

static void columns_are_those_of_a_terminal(void **state)
{
	(void)state;
	assert_int_equal(text_columns(""), 0);
	assert_int_equal(text_columns("main"), 4);
	/* Two of East Asia, a picture, and an e with a combining accent. */
	assert_int_equal(text_columns("\xe4\xb8\xad\xe6\x96\x87"), 4);
	assert_int_equal(text_columns("\xf0\x9f\x98\x80"), 2);
	assert_int_equal(text_columns("e\xcc\x81"), 1);
	assert_int_equal(text_columns("\xc3\xa4\xce\xb1"), 2);
	assert_int_equal(text_length_in_columns("main", 9), 4);
	assert_int_equal(text_length_in_columns("main", 3), 3);
	assert_int_equal(text_length_in_columns("a\xe4\xb8\xad\xe6\x96\x87", 4), 4);
	assert_int_equal(text_length_in_columns("e\xcc\x81x", 1), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ends_of_a_text_can_be_asked_for),
		cmocka_unit_test(hexadecimal_digits_have_values),
		cmocka_unit_test(blanks_are_trimmed_at_both_ends),
		cmocka_unit_test(percents_are_decoded_in_the_same_buffer),
		cmocka_unit_test(what_is_wrongly_encoded_is_refused),
		cmocka_unit_test(no_more_is_decoded_than_there_is_room_for),
		cmocka_unit_test(texts_are_cut_between_characters),
		cmocka_unit_test(characters_are_encoded_in_as_few_bytes_as_they_need),
		cmocka_unit_test(columns_are_those_of_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
