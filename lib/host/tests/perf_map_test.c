/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/host/perf_map.h"

static const char *find_name(const struct code_names *names, uint64_t address)
{
	const struct code_function *function = code_names_find(names, address);

	return function ? code_names_text(names, function) : NULL;
}

static void add(struct code_names *map, const char *text)
{
	size_t used = 0;

	assert_int_equal(perf_map_add(map, text, strlen(text), &used), 0);
	assert_int_equal(used, strlen(text));
}

static void addresses_have_the_name_of_their_function(void **state)
{
	struct code_names map = { 0 };

	(void)state;
	assert_null(find_name(&map, 0x1000));
	add(&map, "2000 10 second\n1000 20 first of all\n0x3000 0xFf  third\r\n");
	assert_string_equal(find_name(&map, 0x1000), "first of all");
	assert_string_equal(find_name(&map, 0x101f), "first of all");
	assert_string_equal(find_name(&map, 0x2008), "second");
	assert_string_equal(find_name(&map, 0x30fe), "third");
	assert_null(find_name(&map, 0xfff));
	assert_null(find_name(&map, 0x1020));
	assert_null(find_name(&map, 0x30ff));
	code_names_deinit(&map);
}

static void lines_without_sense_are_left_out(void **state)
{
	struct code_names map = { 0 };
	size_t used = 99;

	(void)state;
	add(&map, "\n \nhello\n1000\n1000 \n1000 10\n1000 10 \nx000 10 name\n1000 0 empty\n"
		  "1000 100000000 too long\nfffffffffffffff0 20 beyond the end\n"
		  "10000000000001000 10 too many digits\n1000 10\tname\n");
	assert_int_equal(map.functions.count, 0);
	assert_int_equal(perf_map_add(&map, "1000 10 cut off", 15, &used), 0);
	assert_int_equal(used, 0);
	assert_int_equal(perf_map_add(&map, "1000 10 a\n2000 1", 16, &used), 0);
	assert_int_equal(used, 10);
	/* A NUL ends the name, and a long name is cut. */
	assert_int_equal(perf_map_add(&map, "3000 10 a\0b\n", 12, &used), 0);
	assert_string_equal(find_name(&map, 0x3000), "a");
	code_names_deinit(&map);
}

static void a_later_line_replaces_all_that_it_overlaps(void **state)
{
	struct code_names map = { 0 };

	(void)state;
	add(&map, "1000 10 a\n1010 10 b\n1020 10 c\n1030 10 d\n");
	/* In another batch: over the end of b, all of c, and not d. */
	add(&map, "1018 18 new\n");
	assert_string_equal(find_name(&map, 0x1000), "a");
	assert_null(find_name(&map, 0x1010));
	assert_string_equal(find_name(&map, 0x1018), "new");
	assert_string_equal(find_name(&map, 0x102f), "new");
	assert_string_equal(find_name(&map, 0x1030), "d");
	/* In the same batch, in either order of addresses. */
	add(&map,
	    "5000 100 outer\n5010 10 inner\n6010 10 inner\n6000 100 outer\n7000 1 x\n7000 1 y\n");
	assert_null(find_name(&map, 0x5000));
	assert_string_equal(find_name(&map, 0x5010), "inner");
	assert_string_equal(find_name(&map, 0x6010), "outer");
	assert_string_equal(find_name(&map, 0x7000), "y");
	code_names_deinit(&map);
}

/* A table whose functions are replaced repeatedly stays as small as its content. */
static void names_of_functions_that_are_gone_make_room(void **state)
{
	struct code_names map = { 0 };
	char line[600];

	(void)state;
	add(&map, "10 8 stays\n");
	for (int i = 0; i < 50000; i++) {
		snprintf(line, sizeof(line), "%x 10 %0500d\n", 0x1000 + i % 4 * 16, i);
		add(&map, line);
	}
	assert_int_equal(map.functions.count, 5);
	assert_true(code_names_bytes(&map) < 64 << 10);
	assert_string_equal(find_name(&map, 0x10), "stays");
	snprintf(line, sizeof(line), "%0500d", 49999);
	assert_string_equal(find_name(&map, 0x1000 + 49999 % 4 * 16), line);
	code_names_deinit(&map);
}

static void a_full_map_keeps_what_it_has_and_forgets_what_is_overlapped(void **state)
{
	enum { LINES = CODE_NAMES_MAX_FUNCTIONS + 8192 };
	struct code_names map = { 0 };
	size_t length = 0, used;
	char *text = malloc((size_t)LINES * 16);

	(void)state;
	assert_non_null(text);
	for (uint32_t i = 0; i < LINES; i++)
		length += sprintf(text + length, "%x 1 a\n", i * 16);
	assert_int_equal(perf_map_add(&map, text, length, &used), 0);
	assert_int_equal(used, length);
	assert_int_equal(map.functions.count, CODE_NAMES_MAX_FUNCTIONS);
	assert_int_equal(map.left_out_count, 8192);
	assert_non_null(find_name(&map, 0));
	assert_null(find_name(&map, (LINES - 1) * 16));
	/* A function that replaces two makes room for one more, but not before. */
	add(&map, "0 20 b\n");
	assert_string_equal(find_name(&map, 0), "b");
	assert_int_equal(map.functions.count, CODE_NAMES_MAX_FUNCTIONS - 1);
	add(&map, "7f000000 10 c\n7e000000 10 d\n");
	assert_string_equal(find_name(&map, 0x7f000000), "c");
	assert_null(find_name(&map, 0x7e000000));
	code_names_deinit(&map);
	free(text);
}

static void names_without_room_take_away_what_they_overlap_and_come_again_later(void **state)
{
	enum { LINES = CODE_NAMES_MAX_TEXT_BYTES / 400 };
	struct code_names map = { 0 };
	size_t length = 0, used;
	char *text = malloc((size_t)LINES * 600);
	char line[600];

	(void)state;
	assert_non_null(text);
	for (uint32_t i = 0; i < LINES; i++)
		length += sprintf(text + length, "%x 1 %0500u\n", i * 16, i);
	assert_int_equal(perf_map_add(&map, text, length, &used), 0);
	assert_true(map.left_out_count > 0);
	assert_true(code_names_bytes(&map) < 3 * CODE_NAMES_MAX_TEXT_BYTES);
	assert_non_null(find_name(&map, 0));
	snprintf(line, sizeof(line), "0 1 %0500u\n", 1);
	add(&map, line);
	assert_null(find_name(&map, 0));
	/* One name that covers a quarter of them lets the others in. */
	snprintf(line, sizeof(line), "0 %x short\n", LINES / 4 * 16);
	add(&map, line);
	add(&map, line);
	assert_string_equal(find_name(&map, 0), "short");
	snprintf(line, sizeof(line), "7f000000 1 %0500u\n", 2);
	add(&map, line);
	assert_non_null(find_name(&map, 0x7f000000));
	code_names_deinit(&map);
	free(text);
}

/* Against the rule: a line stays if no later one overlaps it, however they fall into batches. */
static void it_agrees_with_the_rule_over_many_random_lines(void **state)
{
	enum { SPACE = 4096, LINES = 3000 };
	static struct {
		uint32_t start, size;
	} lines[LINES];
	struct code_names single = { 0 }, whole = { 0 };
	char *text = malloc(LINES * 32), *at = text;
	uint32_t random = 3;

	(void)state;
	assert_non_null(text);
	for (int i = 0; i < LINES; i++) {
		char *line = at;

		random = random * 1664525 + 1013904223;
		lines[i].start = random >> 8 & (SPACE - 1);
		lines[i].size = 1 + (random >> 24) % 64;
		at += sprintf(at, "%x %x %d\n", lines[i].start, lines[i].size, i);
		add(&single, line);
	}
	add(&whole, text);
	for (int i = 0; i < LINES; i++) {
		bool stays = true;
		const char *name;

		for (int k = i + 1; stays && k < LINES; k++)
			stays = lines[k].start >= lines[i].start + lines[i].size ||
				lines[i].start >= lines[k].start + lines[k].size;
		name = find_name(&single, lines[i].start);
		assert_int_equal(name && atoi(name) == i, stays);
		name = find_name(&whole, lines[i].start);
		assert_int_equal(name && atoi(name) == i, stays);
	}
	code_names_deinit(&single);
	code_names_deinit(&whole);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_have_the_name_of_their_function),
		cmocka_unit_test(lines_without_sense_are_left_out),
		cmocka_unit_test(a_later_line_replaces_all_that_it_overlaps),
		cmocka_unit_test(names_of_functions_that_are_gone_make_room),
		cmocka_unit_test(a_full_map_keeps_what_it_has_and_forgets_what_is_overlapped),
		cmocka_unit_test(
			names_without_room_take_away_what_they_overlap_and_come_again_later),
		cmocka_unit_test(it_agrees_with_the_rule_over_many_random_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
