/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/open/json_index.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *copy;

static int read_json(struct json_index *index, const char *text)
{
	free(copy);
	copy = strdup(text);
	return json_index_init(index, copy, strlen(copy), 1000);
}

static void values_are_found(void **state)
{
	struct json_index index;
	uint32_t list, item;

	(void)state;
	assert_int_equal(read_json(&index, " { \"a\" : 1.5, \"list\":[ 1 , [], {}, \"x\",true ],\n"
					   "\"deep\":{\"b\":{\"c\":-2e3}} } "),
			 0);
	assert_true(json_number(&index, json_member(&index, 0, "a"), 0) == 1.5);
	assert_int_equal(json_member(&index, 0, "b"), JSON_NONE);
	list = json_member(&index, 0, "list");
	assert_true(json_is_array(&index, list));
	assert_int_equal(json_count(&index, list), 5);
	item = json_first(&index, list);
	assert_true(json_number(&index, item, 0) == 1);
	item = json_next(&index, list, item);
	assert_int_equal(json_first(&index, item), JSON_NONE);
	item = json_next(&index, list, item);
	assert_true(json_is_object(&index, item));
	item = json_next(&index, list, item);
	assert_string_equal(json_string_at(&index, item), "x");
	item = json_next(&index, list, item);
	assert_true(json_number(&index, item, 7) == 7);
	assert_int_equal(json_next(&index, list, item), JSON_NONE);
	item = json_member(&index, json_member(&index, 0, "deep"), "b");
	assert_true(json_number(&index, json_member(&index, item, "c"), 0) == -2000);
	json_index_deinit(&index);
}

static void strings_are_decoded_once(void **state)
{
	static const struct {
		const char *json, *text;
	} strings[] = {
		{ "[\"\"]", "" },
		{ "[\"a\\\"b\\\\c\\/d\\n\"]", "a\"b\\c/d\n" },
		{ "[\"\\u00e4\\u20AC\\ud83d\\ude00\"]", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80" },
		{ "[\"\\ud83dx\"]", "\xef\xbf\xbdx" },
		{ "[\"\\u12\"]", "?12" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
		struct json_index index;

		assert_int_equal(read_json(&index, strings[i].json), 0);
		for (int again = 0; again < 2; again++)
			assert_string_equal(json_string_at(&index, 1), strings[i].text);
		assert_null(json_string_at(&index, 0));
		json_index_deinit(&index);
	}
}

static void damaged_text_is_refused(void **state)
{
	static const char *const texts[] = {
		"",	      "{\"a\\",	 "[\"\\",    "{",	  "[1",	   "[1,",
		"[1 2]",      "{\"a\"}", "{\"a\":}", "{1:2}",	  "[\"a]", "[\"a\\\"]",
		"{\"a\":1,}", "[1]]",	 "[}",	     "{\"a\":1]", "[,1]",  "nonsense",
	};
	struct json_index index;
	char nested[200];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		int err = read_json(&index, texts[i]);

		if (err != -EBADMSG)
			fail_msg("'%s' is read as JSON", texts[i]);
		json_index_deinit(&index);
	}
	memset(nested, '[', sizeof(nested));
	nested[sizeof(nested) - 1] = '\0';
	assert_int_equal(read_json(&index, nested), -EBADMSG);
	json_index_deinit(&index);
}

static void too_many_values_are_refused(void **state)
{
	char text[4096] = "[";
	struct json_index index;

	(void)state;
	for (int i = 0; i < 1000; i++)
		strcat(text, "1,");
	strcat(text, "1]");
	assert_int_equal(read_json(&index, text), -E2BIG);
	json_index_deinit(&index);
	free(copy);
	copy = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_found),
		cmocka_unit_test(strings_are_decoded_once),
		cmocka_unit_test(damaged_text_is_refused),
		cmocka_unit_test(too_many_values_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
