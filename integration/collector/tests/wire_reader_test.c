/* SPDX-License-Identifier: Apache-2.0 */
#include "integration/collector/wire_reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct wire_field fields[] = {
	{ 1, WIRE_INT64, 0, "number" },
	{ 2, WIRE_STRING, 0, "text" },
	{ 3, WIRE_FIXED64_LIST, 0, "times" },
	{ 4, WIRE_INT32_LIST, 0, "indices" },
	{ 5, WIRE_BOOL, WIRE_PRESENCE, "flag" },
	{ 6, WIRE_DOUBLE, 0, "double" },
	{ 0, 0, 0, NULL },
};
static const struct wire_message message = { "Test", fields };

struct fixture {
	struct findings findings;
	struct wire_reader reader;
	struct wire_value value;
};

#define READ(fixture, text) read_bytes(fixture, text, sizeof(text) - 1)

static void read_bytes(struct fixture *fixture, const char *bytes, size_t count)
{
	memset(fixture, 0, sizeof(*fixture));
	wire_reader_init(&fixture->reader, &message, (struct span){ (const uint8_t *)bytes, count },
			 &fixture->findings);
}

static void numbers_are_read(void **state)
{
	struct fixture fixture;

	(void)state;
	READ(&fixture, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	assert_true(wire_reader_next(&fixture.reader, &fixture.value));
	assert_true((int64_t)fixture.value.number_value == -1);
	assert_false(wire_reader_next(&fixture.reader, &fixture.value));
	READ(&fixture, "\x08\xac\x02\x12\x02no\x28\x00\x31\1\2\3\4\5\6\7\x80");
	assert_true(wire_reader_next(&fixture.reader, &fixture.value));
	assert_int_equal(fixture.value.number_value, 300);
	assert_true(wire_reader_next(&fixture.reader, &fixture.value));
	assert_int_equal(fixture.value.number, 2);
	assert_int_equal(fixture.value.span.count, 2);
	assert_true(wire_reader_next(&fixture.reader, &fixture.value));
	assert_int_equal(fixture.value.number, 5);
	assert_true(wire_reader_next(&fixture.reader, &fixture.value));
	assert_true(fixture.value.number_value == 0x8007060504030201);
	assert_false(wire_reader_next(&fixture.reader, &fixture.value));
	assert_int_equal(findings_count(&fixture.findings), 0);
}

static void numbers_of_more_than_64_bits_are_none(void **state)
{
	struct fixture fixture;

	(void)state;
	READ(&fixture, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02");
	assert_false(wire_reader_next(&fixture.reader, &fixture.value));
	assert_int_equal(fixture.findings.rules[RULE_WIRE].count, 1);
	READ(&fixture, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00");
	assert_false(wire_reader_next(&fixture.reader, &fixture.value));
	assert_int_equal(fixture.findings.rules[RULE_WIRE].count, 1);
	READ(&fixture, "\x08\xff\xff");
	assert_false(wire_reader_next(&fixture.reader, &fixture.value));
	assert_int_equal(fixture.findings.rules[RULE_WIRE].count, 1);
}

static void lists_are_read_to_their_end(void **state)
{
	struct fixture fixture;
	uint64_t number, sum = 0;

	(void)state;
	READ(&fixture, "\x22\x04\x01\xac\x02\x03");
	assert_true(wire_reader_next(&fixture.reader, &fixture.value));
	while (wire_numbers_next(&fixture.value, "list", &fixture.findings, &number))
		sum += number;
	assert_int_equal(sum, 304);
	assert_int_equal(findings_count(&fixture.findings), 0);

	READ(&fixture, "\x22\x02\x01\x80");
	assert_true(wire_reader_next(&fixture.reader, &fixture.value));
	assert_true(wire_numbers_next(&fixture.value, "list", &fixture.findings, &number));
	assert_false(wire_numbers_next(&fixture.value, "list", &fixture.findings, &number));
	assert_int_equal(fixture.findings.rules[RULE_WIRE].count, 1);

	READ(&fixture, "\x1a\x0c\1\0\0\0\0\0\0\0\2\0\0\0");
	assert_true(wire_reader_next(&fixture.reader, &fixture.value));
	assert_true(wire_numbers_next(&fixture.value, "list", &fixture.findings, &number));
	assert_int_equal(number, 1);
	assert_false(wire_numbers_next(&fixture.value, "list", &fixture.findings, &number));
	assert_int_equal(fixture.findings.rules[RULE_WIRE].count, 1);
}

static void lengths_do_not_lead_behind_the_end(void **state)
{
	struct fixture fixture;

	(void)state;
	READ(&fixture, "\x12\x03no");
	assert_false(wire_reader_next(&fixture.reader, &fixture.value));
	assert_int_equal(fixture.findings.rules[RULE_WIRE].count, 1);
	READ(&fixture, "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01no");
	assert_false(wire_reader_next(&fixture.reader, &fixture.value));
	assert_int_equal(fixture.findings.rules[RULE_WIRE].count, 1);
	READ(&fixture, "\x31\1\2\3\4\5\6\7");
	assert_false(wire_reader_next(&fixture.reader, &fixture.value));
	assert_int_equal(fixture.findings.rules[RULE_WIRE].count, 1);
}

static void a_flag_is_0_or_1(void **state)
{
	struct fixture fixture;

	(void)state;
	READ(&fixture, "\x28\x02");
	assert_true(wire_reader_next(&fixture.reader, &fixture.value));
	assert_int_equal(fixture.findings.rules[RULE_VARINTS].count, 1);
}

static size_t valid_bytes(const char *text)
{
	return utf8_valid_bytes((struct span){ (const uint8_t *)text, strlen(text) });
}

static void characters_are_told_from_what_is_none(void **state)
{
	static const char *const good[] = {
		"",
		"a\x7f",
		"\xc2\x80",
		"\xdf\xbf",
		"\xe0\xa0\x80",
		"\xed\x9f\xbf",
		"\xee\x80\x80",
		"\xef\xbf\xbf",
		"\xf0\x90\x80\x80",
		"\xf4\x8f\xbf\xbf",
		"\xf1\x80\x80\x80",
		"\xe1\xbf\xbf",
	};
	static const char *const bad[] = {
		"\x80",
		"\xbf",
		"\xc0\x80",
		"\xc1\xbf",
		"\xc2",
		"\xc2\x7f",
		"\xc2\xc0",
		"\xe0\x9f\xbf",
		"\xed\xa0\x80",
		"\xe1\x80",
		"\xe1\x80z",
		"\xe1z\x80",
		"\xf0\x8f\xbf\xbf",
		"\xf4\x90\x80\x80",
		"\xf1\x80\x80",
		"\xf5\x80\x80\x80",
		"\xff",
		"\xf1\x80\x80z",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(valid_bytes(good[i]), strlen(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(valid_bytes(bad[i]), 0);
	assert_int_equal(valid_bytes("abc\xff"
				     "def"),
			 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_read),
		cmocka_unit_test(numbers_of_more_than_64_bits_are_none),
		cmocka_unit_test(lists_are_read_to_their_end),
		cmocka_unit_test(lengths_do_not_lead_behind_the_end),
		cmocka_unit_test(a_flag_is_0_or_1),
		cmocka_unit_test(characters_are_told_from_what_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
