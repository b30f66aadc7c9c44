/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/error.h"
#include "viewer/name_pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool matches(const char *text, const char *name)
{
	struct name_pattern *pattern;
	bool is_match;

	if (name_pattern_create(text, &pattern))
		print_error("%s: %s\n", text, error_text());
	is_match = name_pattern_matches(pattern, name);
	name_pattern_destroy(pattern);
	return is_match;
}

static void assert_refused(const char *text, const char *why)
{
	struct name_pattern *pattern = NULL;

	assert_int_equal(name_pattern_create(text, &pattern), -EINVAL);
	assert_string_equal(error_text(), why);
	assert_null(pattern);
}

static void a_text_is_found_anywhere_in_any_case(void **state)
{
	(void)state;
	assert_true(matches("aLLoc", "x_MAlloc_y"));
	assert_false(matches("alloc.", "malloc"));
	assert_true(matches("/", "net/http"));
	assert_true(matches("//", "a//b"));
	assert_false(matches("free", "malloc"));
}

static void an_expression_is_searched_for(void **state)
{
	static const struct {
		const char *expression;
		const char *name;
		bool is_match;
	} cases[] = {
		{ "/^mall/", "malloc", true },
		{ "/^alloc/", "malloc", false },
		{ "/alloc$/", "MALLOC", true },
		{ "/^ma.{3}c$/", "malloc", true },
		{ "/^ma.{2}c$/", "malloc", false },
		{ "/^(m|c|re)alloc$/", "realloc", true },
		{ "/^(m|c|re)alloc$/", "calloc", true },
		{ "/^(m|c|re)alloc$/", "alloc", false },
		{ "/^(?:ab|cd)*$/", "abcdab", true },
		{ "/^(?:ab|cd)*$/", "abcda", false },
		{ "/^(?:ab|cd)+?$/", "", false },
		{ "/x|y|z/", "buzz", true },
		{ "/^(a|)b$/", "b", true },
		{ "/^[a-c]{2,}$/", "ABBA", true },
		{ "/^[a-c]{2,3}$/", "abab", false },
		{ "/^[^a-c]+$/", "xyz", true },
		{ "/^[^a-c]+$/", "xyB", false },
		{ "/^[]-]?$/", "-", false },
		{ "/^[\\]\\-a]+$/", "a-]", true },
		{ "/^\\w+::\\w+\\(\\)$/", "std::sort()", true },
		{ "/\\d\\s\\S\\D\\W/", "7 a-)", true },
		{ "/^[\\d_]+$/", "1_2", true },
		{ "/^[^\\D]$/", "7", true },
		{ "/\\bread\\b/", "vfs_read", false },
		{ "/\\bread\\b/", "file.read(int)", true },
		{ "/\\Bread\\B/", "threads", true },
		{ "/^\\t?x\\.y\\/z$/", "x.y/z", true },
		/* One character of several bytes. */
		{ "/^gr.n$/", "gr\303\274n", true },
		{ "/^gr[\303\274]n$/", "gr\303\274n", true },
		{ "/^gr[\303\274]n$/", "gr\303\244n", false },
		{ "/^.$/", "\303", true },
		{ "/^(a?){30}a{30}$/", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", true },
		{ "/^()*$/", "", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (matches(cases[i].expression, cases[i].name) != cases[i].is_match)
			print_error("%s and %s\n", cases[i].expression, cases[i].name);
		assert_int_equal(matches(cases[i].expression, cases[i].name), cases[i].is_match);
	}
}

static void what_is_wrong_is_said_with_its_character(void **state)
{
	char text[NAME_PATTERN_MAX_BYTES + 2];

	(void)state;
	assert_refused("/ab(c/",
		       "character 3 of the expression: the group has no closing parenthesis )");
	assert_refused("/a)b/", "character 2 of the expression: no group is open here");
	assert_refused("/a[b/", "character 2 of the expression: the set has no closing bracket ]");
	assert_refused("/\303\274\303\274*+/",
		       "character 4 of the expression: nothing before it can be repeated");
	assert_refused("/^*/", "character 2 of the expression: nothing before it can be repeated");
	assert_refused("/a{2/",
		       "character 2 of the expression: a repetition is {n}, {n,} or {n,m}");
	assert_refused("/a{3,2}/",
		       "character 2 of the expression: the repetition ends before its start");
	assert_refused("/a{101}/",
		       "character 2 of the expression: this repeats more than 100 times");
	assert_refused(
		"/{/",
		"character 1 of the expression: write \\{ for a brace that is not a repetition");
	assert_refused("/[z-a]/", "character 2 of the expression: the range ends before its start");
	assert_refused("/[a-\\d]/", "character 2 of the expression: the range has no end");
	assert_refused("/a\\/", "character 2 of the expression: nothing follows the backslash");
	assert_refused("/\\1/", "character 1 of the expression: this escape is not known here");
	assert_refused("/a(?=b)/",
		       "character 2 of the expression: this kind of group is not known here");
	assert_refused("/a{100}b{100}c{100}/",
		       "character 19 of the expression: up to here it is too long");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_refused(text, "the text to search for is too long");
}

static void random_append(char *text, const char *const *parts, size_t count)
{
	strcat(text, parts[(size_t)rand() % count]);
}

/* POSIX's expressions have the same meaning where these parts are concerned. */
static void random_expressions_match_what_posix_says(void **state)
{
	static const char *const atoms[] = { "a",    "b",      ".",	 "[ab]",
					     "[^a]", "(a|bc)", "(ab?c)", "(b|c)" };
	static const char *const repeats[] = { "", "", "*", "+", "?", "{2}", "{1,3}", "{0,2}" };
	static const char *const letters[] = { "a", "b", "c" };
	size_t matched = 0;

	(void)state;
	srand(21);
	for (int i = 0; i < 3000; i++) {
		char expression[128] = "", text[160], name[16] = "";
		regex_t posix;

		if (rand() % 2)
			strcat(expression, "^");
		for (int part = rand() % 4; part >= 0; part--) {
			random_append(expression, atoms, sizeof(atoms) / sizeof(atoms[0]));
			random_append(expression, repeats, sizeof(repeats) / sizeof(repeats[0]));
			if (part && rand() % 5 == 0)
				strcat(expression, "|");
		}
		if (rand() % 2)
			strcat(expression, "$");
		for (int letter = rand() % 8; letter > 0; letter--)
			random_append(name, letters, 3);
		snprintf(text, sizeof(text), "/%s/", expression);
		assert_int_equal(regcomp(&posix, expression, REG_EXTENDED | REG_NOSUB), 0);
		if (matches(text, name) != !regexec(&posix, name, 0, NULL, 0))
			print_error("%s and %s\n", text, name);
		assert_int_equal(matches(text, name), !regexec(&posix, name, 0, NULL, 0));
		matched += matches(text, name);
		regfree(&posix);
	}
	assert_in_range(matched, 300, 2700);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_is_found_anywhere_in_any_case),
		cmocka_unit_test(an_expression_is_searched_for),
		cmocka_unit_test(what_is_wrong_is_said_with_its_character),
		cmocka_unit_test(random_expressions_match_what_posix_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
