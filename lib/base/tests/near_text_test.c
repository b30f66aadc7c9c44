/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/near_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static const char *const names[] = { "nginx",	   "node",	 "python3.11",
				     "postgres",   "postmaster", "samples-per-second",
				     "with-lines", "pid",	 "top",
				     NULL };

/* The name that @text means; "" if none. */
static const char *nearest(const char *text)
{
	struct near_text near;
	const char *found = "";

	near_text_init(&near, text, strlen(text));
	for (size_t i = 0; names[i]; i++) {
		if (near_text_improves(&near, names[i]))
			found = names[i];
	}
	return found;
}

static void one_character_in_four_may_be_wrong(void **state)
{
	(void)state;
	assert_string_equal(nearest("nginx"), "nginx");
	assert_string_equal(nearest("ngnix"), "nginx");
	assert_string_equal(nearest("ngin"), "nginx");
	assert_string_equal(nearest("Nginx"), "nginx");
	assert_string_equal(nearest("ngnxi"), "");
	assert_string_equal(nearest("posgres"), "postgres");
	assert_string_equal(nearest("with-limes"), "with-lines");
	assert_string_equal(nearest("nod"), "node");
	assert_string_equal(nearest("no"), "");
	assert_string_equal(nearest(""), "");
}

static void a_name_may_be_abbreviated(void **state)
{
	(void)state;
	assert_string_equal(nearest("python"), "python3.11");
	assert_string_equal(nearest("samples"), "samples-per-second");
	assert_string_equal(nearest("pos"), "postgres");
	assert_string_equal(nearest("po"), "");
}

static void one_of_three_characters_may_be_wrong(void **state)
{
	(void)state;
	assert_string_equal(nearest("pdi"), "pid");
	assert_string_equal(nearest("pids"), "pid");
	assert_string_equal(nearest("pip"), "pid");
	assert_string_equal(nearest("tpo"), "top");
	assert_string_equal(nearest("dpi"), "");
	assert_string_equal(nearest("pd"), "");
	assert_string_equal(nearest("tot"), "top");
	/* An abbreviation is nearer than another name. */
	assert_string_equal(nearest("pos"), "postgres");
	assert_string_equal(nearest("nod"), "node");
}

static void an_abbreviation_may_have_errors(void **state)
{
	(void)state;
	assert_string_equal(nearest("smaples"), "samples-per-second");
	assert_string_equal(nearest("pyhton"), "python3.11");
	assert_string_equal(nearest("smap"), "");
	assert_string_equal(nearest("service-host"), "");
}

static void long_texts_are_like_none(void **state)
{
	char text[200];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_string_equal(nearest(text), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_character_in_four_may_be_wrong),
		cmocka_unit_test(a_name_may_be_abbreviated),
		cmocka_unit_test(one_of_three_characters_may_be_wrong),
		cmocka_unit_test(an_abbreviation_may_have_errors),
		cmocka_unit_test(long_texts_are_like_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
