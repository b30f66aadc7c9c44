/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/model/profile_facts.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void a_type_is_added_once(void **state)
{
	struct profile_facts facts = { 0 };
	uint32_t first, second, again;

	(void)state;
	assert_int_equal(profile_facts_add_type(&facts, "cpu", "nanoseconds", &first), 0);
	assert_int_equal(profile_facts_add_type(&facts, "cpu", "count", &second), 0);
	assert_int_equal(profile_facts_add_type(&facts, "cpu", "nanoseconds", &again), 0);
	assert_int_equal(facts.type_count, 2);
	assert_int_equal(again, first);
	assert_int_equal(profile_facts_find_type(&facts, "cpu/count", &again), 0);
	assert_int_equal(again, second);
	assert_int_equal(profile_facts_find_type(&facts, "cpu", &again), 0);
	assert_int_equal(again, first);
	assert_int_equal(profile_facts_find_type(&facts, "cpus", &again), -ENOENT);
	assert_int_equal(profile_facts_find_type(&facts, "cp", &again), -ENOENT);
	profile_facts_deinit(&facts);
}

static void more_types_are_refused(void **state)
{
	struct profile_facts facts = { 0 };
	uint32_t index = 0;
	char name[16];

	(void)state;
	for (int i = 0; i < PROFILE_TYPES_MAX; i++) {
		snprintf(name, sizeof(name), "%d", i);
		assert_int_equal(profile_facts_add_type(&facts, name, "", &index), 0);
	}
	assert_int_equal(profile_facts_add_type(&facts, "one more", "", &index), -E2BIG);
	profile_facts_deinit(&facts);
}

/* A unit with decimals reads as it was written, and other units stay as they are. */
static void units_have_decimals(void **state)
{
	static const struct {
		const char *unit, *plain;
		uint8_t decimals;
	} units[] = {
		{ "count", "count", 0 },
		{ "1/10 count", "count", 1 },
		{ "1/1000 s", "s", 3 },
		{ "1/1 count", "1/1 count", 0 },
		{ "1/20 count", "1/20 count", 0 },
		{ "1/10000000000 s", "1/10000000000 s", 0 },
		{ "1/10count", "1/10count", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		struct profile_facts facts = { 0 };
		struct text_builder text = { 0 };
		uint32_t index;

		assert_int_equal(profile_facts_add_type(&facts, "x", units[i].unit, &index), 0);
		assert_string_equal(facts.types[0].unit, units[i].plain);
		assert_int_equal(facts.types[0].decimals, units[i].decimals);
		value_type_append_unit(&text, &facts.types[0]);
		assert_string_equal(text_builder_text(&text), units[i].unit);
		text_builder_deinit(&text);
		profile_facts_deinit(&facts);
	}
}

static void values_are_written_exactly(void **state)
{
	static const struct {
		uint8_t decimals;
		int64_t value;
		const char *text;
	} values[] = {
		{ 0, 0, "0" },		 { 0, -7, "-7" },
		{ 1, 35, "3.5" },	 { 2, -305, "-3.05" },
		{ 3, 3500, "3.5" },	 { 3, 2000, "2" },
		{ 9, 1, "0.000000001" }, { 0, INT64_MIN, "-9223372036854775808" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		const struct value_type type = { .decimals = values[i].decimals };
		struct text_builder text = { 0 };

		value_type_append_value(&text, &type, values[i].value);
		assert_string_equal(text_builder_text(&text), values[i].text);
		text_builder_deinit(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_type_is_added_once),
		cmocka_unit_test(more_types_are_refused),
		cmocka_unit_test(units_have_decimals),
		cmocka_unit_test(values_are_written_exactly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
