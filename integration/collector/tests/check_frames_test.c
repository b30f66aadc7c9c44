/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the good request and breaks each rule of stacks and frames once. */

#include "integration/collector/tests/rule_asserts.h"

static void samples_have_stacks_of_locations(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	profile_of(spec)->samples[2].stack = 0;
	assert_breaks_only(spec, RULE_STACKS);
	spec = good_request();
	spec->stacks[2].items[0] = 0;
	assert_breaks_only(spec, RULE_STACKS);
	spec = good_request();
	spec->stacks[2].count = 0;
	assert_breaks(spec, RULE_STACKS);
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

static void an_abort_marker_has_a_number_and_no_mapping(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	spec->locations[LOCATION_ERROR].mapping = 1;
	assert_breaks(spec, RULE_ABORT_MARKER);
	spec = good_request();
	spec->locations[LOCATION_ERROR].address = 0;
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
	spec->locations[LOCATION_KERNEL].functions = (struct spec_numbers)NUMBERS(0);
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
	spec->attributes[ATTRIBUTE_APP_GNU].text = "";
	assert_breaks_only(spec, RULE_GNU_BUILD_ID);
}

static void mappings_hold_their_locations(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	spec->locations[LOCATION_APP].address = 0x3000;
	assert_breaks_only(spec, RULE_MAPPING_RANGE);
	spec->locations[LOCATION_APP].address = 0xfff;
	assert_breaks_only(spec, RULE_MAPPING_RANGE);
	spec->locations[LOCATION_APP].address = 0x1000;
	spec->mappings[2].limit = 0;
	assert_breaks_only(spec, RULE_MAPPING_RANGE);
	spec = good_request();
	spec->mappings[1].limit = 0x1000;
	assert_breaks(spec, RULE_MAPPING_RANGE);
	spec = good_request();
	spec->mappings[1].offset = 0x10;
	assert_breaks_only(spec, RULE_MEMORY_START);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_have_stacks_of_locations),
		cmocka_unit_test(locations_have_a_frame_type),
		cmocka_unit_test(an_abort_marker_has_a_number_and_no_mapping),
		cmocka_unit_test(a_native_location_has_a_mapping),
		cmocka_unit_test(kernel_locations_are_named),
		cmocka_unit_test(lines_have_functions_with_names),
		cmocka_unit_test(mappings_carry_their_build_ids),
		cmocka_unit_test(mappings_hold_their_locations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
