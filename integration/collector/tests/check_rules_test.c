/* SPDX-License-Identifier: Apache-2.0 */
/* A good request, and one for each rule of messages that breaks it. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "integration/collector/check_profiles.h"
#include "integration/collector/tests/message_builder.h"

static struct message_bytes message;

static void check_bytes(struct findings *findings)
{
	struct otlp_message decoded = { 0 };

	memset(findings, 0, sizeof(*findings));
	assert_int_equal(otlp_message_decode(&decoded, span_of_message(&message), findings), 0);
	assert_int_equal(check_message(&decoded, TEST_NOW_NS, findings), 0);
	otlp_message_deinit(&decoded);
}

/* @rule is broken; others may be by the same change. */
static void assert_breaks(const struct spec *spec, enum rule rule)
{
	struct findings findings;

	build_request(&message, spec);
	check_bytes(&findings);
	if (!findings.rules[rule].count)
		print_error("rule %d is not reported: %s\n", rule, rule_text(rule));
	assert_true(findings.rules[rule].count);
	assert_true(*findings.rules[rule].example);
}

/* Only @rule is broken, once. */
static void assert_breaks_only(const struct spec *spec, enum rule rule)
{
	struct findings findings;

	assert_breaks(spec, rule);
	check_bytes(&findings);
	for (int i = 0; i < RULE_COUNT; i++) {
		if (findings.rules[i].count != (i == (int)rule))
			print_error("rule %d, %s: %d times: %s\n", i, rule_text(i),
				    (int)findings.rules[i].count, findings.rules[i].example);
		assert_int_equal(findings.rules[i].count, i == (int)rule);
	}
}

/* Expects @rule of the good request with @bytes behind it. */
static void assert_bytes_break(enum rule rule, const char *bytes, size_t count)
{
	struct findings findings;

	build_request(&message, good_request());
	for (size_t i = 0; i < count; i++)
		put_byte(&message, bytes[i]);
	check_bytes(&findings);
	assert_true(findings.rules[rule].count);
}

static struct spec_profile *profile_of(struct spec *spec)
{
	return &spec->resources[0].profiles[0];
}

static void a_good_request_breaks_no_rule(void **state)
{
	struct findings findings;

	(void)state;
	build_request(&message, good_request());
	check_bytes(&findings);
	for (int rule = 0; rule < RULE_COUNT; rule++) {
		if (findings.rules[rule].count)
			print_error("rule %d: %s\n", rule, findings.rules[rule].example);
	}
	assert_int_equal(findings_count(&findings), 0);
}

static void what_is_no_message_breaks_the_wire_format(void **state)
{
	(void)state;
	/* Cut off; a tag of no field; groups; field 0 is known by nobody. */
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
	/* Both values of a oneof. */
	assert_bytes_break(RULE_ONCE, "\x12\x08\x32\x06\x12\x04\x10\x01\x18\x01", 10);
}

static void defaults_are_not_written(void **state)
{
	(void)state;
	/* Location.address = 0; Mapping.attribute_indices = []; but a value of 0 is one. */
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

static void samples_have_stacks_of_locations(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	profile_of(spec)->samples[2].stack = 0;
	assert_breaks_only(spec, RULE_STACKS);
	spec = good_request();
	spec->stacks[2].items[0] = 0;
	assert_breaks_only(spec, RULE_STACKS);
}

static void locations_have_a_frame_type(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	spec->locations[LOCATION_APP].attributes.count = 0;
	assert_breaks(spec, RULE_FRAME_TYPE);
	spec = good_request();
	spec->attributes[ATTRIBUTE_NATIVE].text = "nativ";
	assert_breaks(spec, RULE_KNOWN_FRAME_TYPE);
}

static void an_abort_marker_has_no_mapping(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	spec->locations[LOCATION_ERROR].mapping = 1;
	assert_breaks(spec, RULE_ABORT_MARKER);
	spec = good_request();
	spec->locations[LOCATION_ERROR].functions.count = 0;
	assert_breaks(spec, RULE_ABORT_MARKER);
}

static void a_native_location_has_a_mapping(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	spec->locations[LOCATION_MAIN].mapping = 0;
	assert_breaks_only(spec, RULE_NATIVE_MAPPING);
}

static void kernel_locations_are_named(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	spec->locations[LOCATION_KERNEL].functions.count = 0;
	assert_breaks(spec, RULE_NAMED);
	spec = good_request();
	spec->attributes[ATTRIBUTE_NATIVE].text = "cpython";
	assert_breaks_only(spec, RULE_NAMED);
}

static void lines_have_functions_with_names(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	spec->functions[1] = 0;
	assert_breaks(spec, RULE_FUNCTIONS);
	spec = good_request();
	spec->locations[LOCATION_MAIN].functions = (struct spec_numbers)NUMBERS(1, 0);
	assert_breaks_only(spec, RULE_FUNCTIONS);
}

static void mappings_carry_their_build_ids(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	spec->attributes[ATTRIBUTE_APP_HTLHASH].text = "0123456789ABCDEF0123456789abcdef";
	assert_breaks_only(spec, RULE_HTLHASH);
	spec = good_request();
	spec->mappings[2].attributes.count = 0;
	assert_breaks(spec, RULE_HTLHASH);
	spec = good_request();
	spec->attributes[ATTRIBUTE_APP_GNU].text = "0ff";
	assert_breaks_only(spec, RULE_GNU_BUILD_ID);
}

static void mappings_hold_their_locations(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	spec->locations[LOCATION_APP].address = 0x3000;
	assert_breaks_only(spec, RULE_MAPPING_RANGE);
	spec = good_request();
	spec->mappings[1].limit = 0x1000;
	assert_breaks(spec, RULE_MAPPING_RANGE);
	spec = good_request();
	spec->mappings[1].offset = 0x10;
	assert_breaks_only(spec, RULE_MEMORY_START);
}

static void resource_and_scope_are_present(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	spec->resources[0].has_scope = false;
	assert_breaks_only(spec, RULE_PRESENT);
	spec = good_request();
	spec->resources[0].has_resource = false;
	assert_breaks(spec, RULE_PRESENT);
}

static void nothing_is_empty(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	spec->resources[0].profiles[1] = spec->resources[0].profiles[0];
	spec->resources[0].profiles[1].sample_count = 0;
	spec->resources[0].profiles[1].id = "another one 1234";
	spec->resources[0].profile_count = 2;
	assert_breaks(spec, RULE_EMPTY);
	spec = good_request();
	spec->resources[0].profile_count = 0;
	assert_breaks(spec, RULE_EMPTY);
	spec = good_request();
	spec->resources[0].scope_count = 0;
	assert_breaks(spec, RULE_EMPTY);
	spec = good_request();
	spec->resource_count = 0;
	assert_breaks(spec, RULE_EMPTY);
}

static void resources_have_a_service_name(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	spec->resources[0].attributes[0].key = "service";
	assert_breaks_only(spec, RULE_SERVICE_NAME);
	spec = good_request();
	spec->resources[0].attributes[0].text = "";
	assert_breaks_only(spec, RULE_SERVICE_NAME);
}

static void a_key_has_one_place(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	spec->resources[0].attributes[1].key = "thread.name";
	assert_breaks(spec, RULE_ONE_PLACE);
}

static void resources_are_not_doubled(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	spec->resource_count = 2;
	spec->resources[1] = spec->resources[0];
	spec->resources[1].profiles[0].id = "another one 1234";
	assert_breaks(spec, RULE_RESOURCES_ONCE);
}

static void profile_ids_have_16_bytes_and_are_unique(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	profile_of(spec)->id_bytes = 15;
	assert_breaks_only(spec, RULE_PROFILE_ID);
	profile_of(spec)->id_bytes = 0;
	assert_breaks_only(spec, RULE_PROFILE_ID);
	profile_of(spec)->id_bytes = 16;
	profile_of(spec)->id = "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
	assert_breaks_only(spec, RULE_PROFILE_ID);
	spec = good_request();
	spec->resources[0].profiles[1] = spec->resources[0].profiles[0];
	spec->resources[0].profile_count = 2;
	assert_breaks(spec, RULE_PROFILE_ID_ONCE);
}

static void on_cpu_profiles_have_their_shape(void **state)
{
	static const int64_t bad_periods[] = { 0, -1, 52631500, 99999 };
	static const int64_t good_periods[] = { 1000000000, 52631578, 52631579, 10309278, 100000 };
	struct findings findings;
	struct spec *spec = good_request();

	(void)state;
	for (size_t i = 0; i < sizeof(bad_periods) / sizeof(bad_periods[0]); i++) {
		profile_of(spec)->period = bad_periods[i];
		assert_breaks_only(spec, RULE_ON_CPU);
	}
	for (size_t i = 0; i < sizeof(good_periods) / sizeof(good_periods[0]); i++) {
		profile_of(spec)->period = good_periods[i];
		build_request(&message, spec);
		check_bytes(&findings);
		assert_int_equal(findings_count(&findings), 0);
	}
	spec = good_request();
	spec->strings[STRING_NANOSECONDS] = "seconds";
	assert_breaks_only(spec, RULE_ON_CPU);
	spec = good_request();
	spec->strings[STRING_COUNT] = "counts";
	assert_breaks_only(spec, RULE_ON_CPU);
}

/* The good request, made into one of the time that threads wait. */
static struct spec *good_off_cpu_request(void)
{
	struct spec *spec = good_request();

	spec->strings[STRING_SAMPLES] = "off_cpu";
	spec->strings[STRING_COUNT] = "nanoseconds";
	spec->string_count = STRING_CPU;
	profile_of(spec)->period_type[0] = 0;
	profile_of(spec)->period_type[1] = 0;
	profile_of(spec)->period = 0;
	for (int i = 0; i < 3; i++)
		profile_of(spec)->samples[i].values = profile_of(spec)->samples[i].times;
	profile_of(spec)->samples[0].values.items[0] = 1;
	return spec;
}

static void off_cpu_profiles_have_their_shape(void **state)
{
	struct findings findings;
	struct spec *spec = good_off_cpu_request();

	(void)state;
	build_request(&message, spec);
	check_bytes(&findings);
	assert_int_equal(findings_count(&findings), 0);
	profile_of(spec)->period = 1;
	assert_breaks_only(spec, RULE_OFF_CPU);
	spec = good_off_cpu_request();
	profile_of(spec)->period_type[0] = -1;
	assert_breaks_only(spec, RULE_OFF_CPU);
}

static void other_events_have_a_period(void **state)
{
	struct findings findings;
	struct spec *spec = good_off_cpu_request();

	(void)state;
	spec->strings[STRING_SAMPLES] = "faults";
	spec->strings[STRING_COUNT] = "ours";
	profile_of(spec)->period_type[0] = STRING_SAMPLES;
	profile_of(spec)->period_type[1] = STRING_COUNT;
	profile_of(spec)->period = 7;
	build_request(&message, spec);
	check_bytes(&findings);
	assert_int_equal(findings.rules[RULE_OTHER_EVENTS].count, 0);
	assert_int_equal(findings.rules[RULE_VALUES].count, 0);
	profile_of(spec)->period = 0;
	assert_breaks(spec, RULE_OTHER_EVENTS);
}

static void samples_have_times_and_no_values(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	profile_of(spec)->samples[1].values = (struct spec_numbers)NUMBERS(1);
	assert_breaks_only(spec, RULE_VALUES);
	spec = good_request();
	profile_of(spec)->samples[1].times.count = 0;
	assert_breaks_only(spec, RULE_VALUES);
	spec = good_off_cpu_request();
	profile_of(spec)->samples[0].values.count = 1;
	assert_breaks_only(spec, RULE_VALUES);
}

static void times_lie_inside_the_interval(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	profile_of(spec)->samples[0].times.items[1] = TEST_DURATION_NS + 1;
	assert_breaks_only(spec, RULE_TIMES);
	profile_of(spec)->samples[0].times.items[1] = -1;
	assert_breaks_only(spec, RULE_TIMES);
}

static void the_interval_is_set_and_not_in_the_future(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	profile_of(spec)->duration = 0;
	assert_breaks(spec, RULE_INTERVAL);
	spec = good_request();
	profile_of(spec)->start = 0;
	assert_breaks(spec, RULE_INTERVAL);
	spec = good_request();
	profile_of(spec)->duration = 3600000000000;
	assert_breaks_only(spec, RULE_INTERVAL);
	profile_of(spec)->duration = UINT64_MAX;
	assert_breaks_only(spec, RULE_INTERVAL);
}

static void samples_are_not_doubled(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	profile_of(spec)->samples[3] = profile_of(spec)->samples[0];
	profile_of(spec)->sample_count = 4;
	assert_breaks(spec, RULE_SAMPLES_ONCE);
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
		cmocka_unit_test(a_good_request_breaks_no_rule),
		cmocka_unit_test(what_is_no_message_breaks_the_wire_format),
		cmocka_unit_test(fields_have_their_wire_types),
		cmocka_unit_test(fields_stand_there_once),
		cmocka_unit_test(defaults_are_not_written),
		cmocka_unit_test(numbers_are_minimal_and_fit),
		cmocka_unit_test(strings_are_utf8),
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
		cmocka_unit_test(samples_have_stacks_of_locations),
		cmocka_unit_test(locations_have_a_frame_type),
		cmocka_unit_test(an_abort_marker_has_no_mapping),
		cmocka_unit_test(a_native_location_has_a_mapping),
		cmocka_unit_test(kernel_locations_are_named),
		cmocka_unit_test(lines_have_functions_with_names),
		cmocka_unit_test(mappings_carry_their_build_ids),
		cmocka_unit_test(mappings_hold_their_locations),
		cmocka_unit_test(resource_and_scope_are_present),
		cmocka_unit_test(nothing_is_empty),
		cmocka_unit_test(resources_have_a_service_name),
		cmocka_unit_test(a_key_has_one_place),
		cmocka_unit_test(resources_are_not_doubled),
		cmocka_unit_test(profile_ids_have_16_bytes_and_are_unique),
		cmocka_unit_test(on_cpu_profiles_have_their_shape),
		cmocka_unit_test(off_cpu_profiles_have_their_shape),
		cmocka_unit_test(other_events_have_a_period),
		cmocka_unit_test(samples_have_times_and_no_values),
		cmocka_unit_test(times_lie_inside_the_interval),
		cmocka_unit_test(the_interval_is_set_and_not_in_the_future),
		cmocka_unit_test(samples_are_not_doubled),
		cmocka_unit_test(every_rule_has_a_number_and_a_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
