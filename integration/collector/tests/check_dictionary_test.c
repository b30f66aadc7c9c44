/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the good request and breaks each rule of the dictionary once. */

#include "integration/collector/tests/rule_asserts.h"

static void all_tables_are_there(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	spec->link_count = 0;
	assert_breaks_only(spec, RULE_TABLES);
	spec = good_request();
	spec->has_dictionary = false;
	assert_breaks(spec, RULE_TABLES);
}

static void element_0_is_zero(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	spec->links[0][0] = 16;
	spec->links[0][1] = 8;
	assert_breaks_only(spec, RULE_ZERO);
	spec = good_request();
	spec->mappings[0].limit = 1;
	assert_breaks_only(spec, RULE_ZERO);
}

static void links_have_whole_ids(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	spec->link_count = 2;
	spec->links[1][0] = 16;
	spec->links[1][1] = 7;
	profile_of(spec)->samples[0].link = 1;
	assert_breaks_only(spec, RULE_LINK_IDS);
	spec->links[1][0] = 15;
	spec->links[1][1] = 8;
	assert_breaks_only(spec, RULE_LINK_IDS);
	/* Appended to the good request: a link whose span id is zero. */
	assert_bytes_break(RULE_LINK_IDS,
			   "\x12\x1e\x22\x1c\x0a\x10"
			   "0123456789abcdef\x12\x08\0\0\0\0\0\0\0\0",
			   32);
}

static void elements_are_not_doubled(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	spec->locations[LOCATION_MAIN].functions.count = 0;
	spec->locations[LOCATION_MAIN].address = 0x1200;
	assert_breaks(spec, RULE_DUPLICATES);
	spec = good_request();
	spec->strings[STRING_GNU] = spec->strings[STRING_HTLHASH];
	assert_breaks(spec, RULE_DUPLICATES);
}

static void every_element_is_used(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	spec->strings[spec->string_count++] = "orphan";
	assert_breaks_only(spec, RULE_ORPHANS);
	spec = good_request();
	spec->stacks[spec->stack_count++] = (struct spec_numbers)NUMBERS(LOCATION_APP);
	assert_breaks_only(spec, RULE_ORPHANS);
}

static void indices_lie_in_their_tables(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	profile_of(spec)->samples[2].stack = 3;
	assert_breaks_only(spec, RULE_RANGE);
	spec = good_request();
	spec->stacks[2].items[1] = -4;
	assert_breaks(spec, RULE_RANGE);
	spec = good_request();
	spec->locations[LOCATION_MAIN].functions.items[0] = 1000;
	assert_breaks(spec, RULE_RANGE);
	spec = good_request();
	spec->locations[LOCATION_APP].mapping = spec->mapping_count;
	assert_breaks(spec, RULE_RANGE);
	for (int key = -1; key <= STRING_END; key += STRING_END + 1) {
		spec = good_request();
		spec->attributes[ATTRIBUTE_THREAD_A].key = key;
		assert_breaks(spec, RULE_RANGE);
	}
	for (int index = -1; index <= ATTRIBUTE_END; index += ATTRIBUTE_END + 1) {
		spec = good_request();
		profile_of(spec)->samples[0].attributes.items[0] = index;
		assert_breaks(spec, RULE_RANGE);
	}
}

static void no_key_stands_twice(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	profile_of(spec)->samples[2].attributes =
		(struct spec_numbers)NUMBERS(ATTRIBUTE_THREAD_A, ATTRIBUTE_THREAD_B);
	assert_breaks(spec, RULE_KEYS_ONCE);
	spec = good_request();
	spec->resources[0].attributes[1].key = "service.name";
	assert_breaks_only(spec, RULE_KEYS_ONCE);
}

static void keys_and_values_are_literal(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	spec->resources[0].attributes[1].has_key_index = true;
	assert_breaks_only(spec, RULE_LITERALS);
	spec = good_request();
	spec->attributes[ATTRIBUTE_THREAD_B].is_index = true;
	assert_breaks_only(spec, RULE_LITERALS);
}

static void attributes_have_key_and_value(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	spec->attributes[ATTRIBUTE_THREAD_B].text = NULL;
	assert_breaks_only(spec, RULE_ATTRIBUTES);
	spec = good_request();
	profile_of(spec)->samples[2].attributes.items[0] = 0;
	assert_breaks(spec, RULE_ATTRIBUTES);
	spec = good_request();
	spec->resources[0].attributes[1].text = NULL;
	assert_breaks_only(spec, RULE_ATTRIBUTES);
}

static void the_hottest_comes_first(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	profile_of(spec)->samples[0].stack = 2;
	profile_of(spec)->samples[1].stack = 1;
	profile_of(spec)->samples[2].stack = 2;
	assert_breaks_only(spec, RULE_HOTTEST_FIRST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_tables_are_there),
		cmocka_unit_test(element_0_is_zero),
		cmocka_unit_test(links_have_whole_ids),
		cmocka_unit_test(elements_are_not_doubled),
		cmocka_unit_test(every_element_is_used),
		cmocka_unit_test(indices_lie_in_their_tables),
		cmocka_unit_test(no_key_stands_twice),
		cmocka_unit_test(keys_and_values_are_literal),
		cmocka_unit_test(attributes_have_key_and_value),
		cmocka_unit_test(the_hottest_comes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
