// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/clock.h"
#include "reporter/otlp_answer.h"

#include <cmocka.h>

#define TYPE_URL "type.googleapis.com/google.rpc.RetryInfo"

static struct transport_answer read_response(const void *bytes, size_t count, int expected)
{
	struct transport_answer answer = { 0 };

	assert_int_equal(otlp_answer_read_response(&answer, bytes, count), expected);
	return answer;
}

static void an_empty_response_says_that_all_was_taken(void **state)
{
	struct transport_answer answer = read_response("", 0, 0);

	(void)state;
	assert_int_equal(answer.rejected_count, 0);
	assert_string_equal(answer.message, "");
}

static void a_partial_success_has_a_number_and_a_text(void **state)
{
	struct transport_answer answer = read_response("\x0a\x07\x08\x03\x12\x03low", 9, 0);

	(void)state;
	assert_int_equal(answer.rejected_count, 3);
	assert_string_equal(answer.message, "low");
}

static void a_number_below_0_counts_as_none(void **state)
{
	struct transport_answer answer =
		read_response("\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13, 0);

	(void)state;
	assert_int_equal(answer.rejected_count, 0);
}

static void what_is_no_response_is_refused(void **state)
{
	static char large[OTLP_ANSWER_MAX_BYTES + 1];

	(void)state;
	read_response("\x0a\x7f", 2, -EBADMSG);
	read_response("<html>", 6, -EBADMSG);
	read_response(large, sizeof(large), -EBADMSG);
}

static void a_message_is_cleaned_and_cut_between_characters(void **state)
{
	struct transport_answer answer;
	char text[1000];

	(void)state;
	otlp_answer_set_message(&answer, "a\nb\x1b[31m\xff");
	assert_string_equal(answer.message, "a b?[31m?");
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	otlp_answer_set_message(&answer, text);
	assert_int_equal(strlen(answer.message), TRANSPORT_MESSAGE_BYTES - 1);
	/* A character of three bytes, of which two would fit. */
	memcpy(text + TRANSPORT_MESSAGE_BYTES - 3, "\xe2\x82\xac", 3);
	otlp_answer_set_message(&answer, text);
	assert_int_equal(strlen(answer.message), TRANSPORT_MESSAGE_BYTES - 3);
	/* A character of three bytes that fits exactly. */
	memset(text, 'x', TRANSPORT_MESSAGE_BYTES);
	memcpy(text + TRANSPORT_MESSAGE_BYTES - 4, "\xe2\x82\xac", 3);
	otlp_answer_set_message(&answer, text);
	assert_int_equal(strlen(answer.message), TRANSPORT_MESSAGE_BYTES - 1);
	assert_string_equal(answer.message + TRANSPORT_MESSAGE_BYTES - 4, "\xe2\x82\xac");
	/* No part is left of a character that does not fit. */
	memset(text, 'x', TRANSPORT_MESSAGE_BYTES);
	memcpy(text + TRANSPORT_MESSAGE_BYTES - 2, "\xf0\x9f\x98\x80", 4);
	otlp_answer_set_message(&answer, text);
	assert_int_equal(strlen(answer.message), TRANSPORT_MESSAGE_BYTES - 2);
	assert_null(strchr(answer.message, '?'));
	otlp_answer_set_message(&answer, "");
	assert_string_equal(answer.message, "");
}

/* A Status with one detail: RetryInfo with the duration in @duration of @count bytes. */
static uint64_t read_delay(const char *duration, size_t count)
{
	uint8_t bytes[128];
	size_t length = 0;
	size_t url_bytes = strlen(TYPE_URL);

	bytes[length++] = 0x08;
	bytes[length++] = 0x0e;
	bytes[length++] = 0x1a;
	bytes[length++] = (uint8_t)(2 + url_bytes + 4 + count);
	bytes[length++] = 0x0a;
	bytes[length++] = (uint8_t)url_bytes;
	memcpy(bytes + length, TYPE_URL, url_bytes);
	length += url_bytes;
	bytes[length++] = 0x12;
	bytes[length++] = (uint8_t)(2 + count);
	bytes[length++] = 0x0a;
	bytes[length++] = (uint8_t)count;
	memcpy(bytes + length, duration, count);
	length += count;
	return otlp_answer_read_retry_delay(bytes, length);
}

static void a_retry_delay_is_seconds_and_nanoseconds(void **state)
{
	(void)state;
	assert_true(read_delay("\x08\x02\x10\x64", 4) == 2 * NS_PER_SECOND + 100);
	assert_true(read_delay("\x08\x07", 2) == 7 * NS_PER_SECOND);
	assert_true(read_delay("", 0) == 0);
}

static void a_mad_retry_delay_stays_a_number(void **state)
{
	(void)state;
	/* -1 s, and 2^62 s. */
	assert_true(read_delay("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11) == 0);
	assert_true(read_delay("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x40", 10) == UINT64_MAX - 1);
}

static void without_retry_info_there_is_no_delay(void **state)
{
	static const char other[] = "\x08\x0e\x1a\x0a\x0a\x08"
				    "a/google";

	(void)state;
	assert_true(otlp_answer_read_retry_delay("", 0) == UINT64_MAX);
	assert_true(otlp_answer_read_retry_delay(other, sizeof(other) - 1) == UINT64_MAX);
	assert_true(otlp_answer_read_retry_delay("\x1a\x7f", 2) == UINT64_MAX);
}

static void what_is_written_is_read(void **state)
{
	struct transport_answer answer = { 0 };
	uint8_t bytes[64];
	size_t count;

	(void)state;
	count = otlp_answer_write_response(3, "not these", bytes, sizeof(bytes));
	assert_in_range(count, 1, sizeof(bytes));
	assert_int_equal(otlp_answer_read_response(&answer, bytes, count), 0);
	assert_int_equal(answer.rejected_count, 3);
	assert_string_equal(answer.message, "not these");
	assert_int_equal(otlp_answer_write_response(3, "not these", bytes, count - 1), 0);
	/* An empty message is a valid answer. */
	answer = (struct transport_answer){ 0 };
	assert_int_equal(otlp_answer_read_response(&answer, bytes, 0), 0);
	assert_string_equal(answer.message, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_response_says_that_all_was_taken),
		cmocka_unit_test(a_partial_success_has_a_number_and_a_text),
		cmocka_unit_test(a_number_below_0_counts_as_none),
		cmocka_unit_test(what_is_no_response_is_refused),
		cmocka_unit_test(a_message_is_cleaned_and_cut_between_characters),
		cmocka_unit_test(a_retry_delay_is_seconds_and_nanoseconds),
		cmocka_unit_test(a_mad_retry_delay_stays_a_number),
		cmocka_unit_test(without_retry_info_there_is_no_delay),
		cmocka_unit_test(what_is_written_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
