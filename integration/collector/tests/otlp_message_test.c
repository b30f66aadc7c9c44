/* SPDX-License-Identifier: Apache-2.0 */
/* Requests whose bytes violate the rules of the wire format. */

#include "integration/collector/tests/rule_asserts.h"

static void what_is_no_message_breaks_the_wire_format(void **state)
{
	(void)state;
	/* A truncated message; a tag without a field; groups; field 0, which does not exist. */
	assert_bytes_break(RULE_WIRE, "\x0a\x05\x00", 3);
	assert_bytes_break(RULE_WIRE, "\x0a", 1);
	assert_bytes_break(RULE_WIRE, "\x0b\x0c", 2);
	assert_bytes_break(RULE_WIRE, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
	assert_bytes_break(RULE_WIRE, "\x19\x00", 2);
	assert_bytes_break(RULE_FIELDS, "\x18\x00", 2);
	assert_bytes_break(RULE_FIELDS, "\x1d\x00\x00\x00\x00", 5);
	assert_bytes_break(RULE_FIELDS, "\x02\x00", 2);
}

static void fields_have_their_wire_types(void **state)
{
	(void)state;
	assert_bytes_break(RULE_TYPES, "\x08\x01", 2);
	/* Dictionary, stack_table, location_indices that are not packed. */
	assert_bytes_break(RULE_TYPES, "\x12\x04\x3a\x02\x08\x01", 6);
}

static void fields_stand_there_once(void **state)
{
	(void)state;
	assert_bytes_break(RULE_ONCE, "\x12\x00", 2);
	/* Both values of a oneof, in an attribute of a resource. */
	assert_bytes_break(RULE_ONCE, "\x0a\x0a\x0a\x08\x0a\x06\x12\x04\x10\x01\x18\x01", 12);
}

static void defaults_are_not_written(void **state)
{
	(void)state;
	/*
	 * Location.address = 0; Mapping.attribute_indices = []; but AnyValue may have the value 0.
	 */
	assert_bytes_break(RULE_DEFAULTS, "\x12\x04\x12\x02\x10\x00", 6);
	assert_bytes_break(RULE_DEFAULTS, "\x12\x04\x0a\x02\x2a\x00", 6);
}

static void numbers_are_minimal_and_fit(void **state)
{
	(void)state;
	assert_bytes_break(RULE_VARINTS, "\x8a\x00\x00", 3);
	/* Location.mapping_index = 2^32. */
	assert_bytes_break(RULE_VARINTS, "\x12\x08\x12\x06\x08\x80\x80\x80\x80\x10", 10);
}

static void strings_are_utf8(void **state)
{
	struct findings findings;
	struct spec *spec = good_request();

	(void)state;
	spec->strings[STRING_MAIN] = "ma\xffin";
	assert_breaks_only(spec, RULE_UTF8);
	spec = good_request();
	spec->resources[0].attributes[1].text = "\xed\xa0\x80";
	assert_breaks_only(spec, RULE_UTF8);
	spec = good_request();
	spec->strings[STRING_MAIN] = "m\xc3\xa4in \xe2\x82\xac \xf0\x9f\x98\x80";
	build_request(&message, spec);
	check_bytes(&findings);
	assert_int_equal(findings_count(&findings), 0);
}

/* The good request and a resource with one attribute, whose value is nested arrays. */
static void put_nested(unsigned int depth)
{
	static struct message_bytes inner, outer;

	inner.count = 0;
	put_number(&inner, 2, 1);
	for (unsigned int i = 0; i < depth; i++) {
		put_message(&outer, 1, &inner);
		put_message(&inner, 5, &outer);
	}
	put_message(&outer, 2, &inner);
	put_message(&inner, 1, &outer);
	put_message(&outer, 1, &inner);
	build_request(&message, good_request());
	put_message(&message, 1, &outer);
}

static void values_nest_only_so_deep(void **state)
{
	struct findings findings;

	(void)state;
	put_nested(8);
	check_bytes(&findings);
	assert_int_equal(findings.rules[RULE_WIRE].count, 0);
	put_nested(9);
	check_bytes(&findings);
	assert_int_equal(findings.rules[RULE_WIRE].count, 1);
	put_nested(5000);
	check_bytes(&findings);
	assert_int_equal(findings.rules[RULE_WIRE].count, 1);
}

static void every_rule_has_a_number_and_a_text(void **state)
{
	(void)state;
	for (int rule = 1; rule < RULE_COUNT; rule++)
		assert_true(*rule_text(rule));
	assert_string_equal(rule_text(0), "");
	assert_string_equal(rule_text(RULE_COUNT), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_message_breaks_the_wire_format),
		cmocka_unit_test(fields_have_their_wire_types),
		cmocka_unit_test(fields_stand_there_once),
		cmocka_unit_test(defaults_are_not_written),
		cmocka_unit_test(numbers_are_minimal_and_fit),
		cmocka_unit_test(strings_are_utf8),
		cmocka_unit_test(values_nest_only_so_deep),
		cmocka_unit_test(every_rule_has_a_number_and_a_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
