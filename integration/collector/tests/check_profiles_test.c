/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that the good request breaks no rule, and then breaks each rule of profiles once. */

#include "integration/collector/tests/rule_asserts.h"

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

static void resource_and_scope_are_present(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	spec->resources[0].has_scope = false;
	assert_breaks_only(spec, RULE_PRESENT);
	spec = good_request();
	spec->resources[0].scope_name = "";
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

static void a_key_has_one_owner(void **state)
{
	struct spec *spec = good_request();

	(void)state;
	spec->resources[0].attributes[1].key = "thread.name";
	assert_breaks(spec, RULE_ONE_OWNER);
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
	spec = good_request();
	spec->strings[STRING_CPU] = "wall";
	assert_breaks_only(spec, RULE_ON_CPU);
	spec = good_request();
	spec->strings[STRING_SAMPLES] = "sample";
	assert_breaks_only(spec, RULE_ON_CPU);
}

/* The good request, changed into one of the time that threads wait. */

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
	/* Counts without times are allowed here. */
	profile_of(spec)->samples[1].times.count = 0;
	build_request(&message, spec);
	check_bytes(&findings);
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
	/* The order of attributes does not matter. */
	spec = good_request();
	profile_of(spec)->samples[3] = profile_of(spec)->samples[0];
	profile_of(spec)->samples[0].attributes =
		(struct spec_numbers)NUMBERS(ATTRIBUTE_THREAD_A, ATTRIBUTE_APP_GNU);
	profile_of(spec)->samples[3].attributes =
		(struct spec_numbers)NUMBERS(ATTRIBUTE_APP_GNU, ATTRIBUTE_THREAD_A);
	profile_of(spec)->sample_count = 4;
	assert_breaks(spec, RULE_SAMPLES_ONCE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_request_breaks_no_rule),
		cmocka_unit_test(resource_and_scope_are_present),
		cmocka_unit_test(nothing_is_empty),
		cmocka_unit_test(resources_have_a_service_name),
		cmocka_unit_test(a_key_has_one_owner),
		cmocka_unit_test(resources_are_not_doubled),
		cmocka_unit_test(profile_ids_have_16_bytes_and_are_unique),
		cmocka_unit_test(on_cpu_profiles_have_their_shape),
		cmocka_unit_test(off_cpu_profiles_have_their_shape),
		cmocka_unit_test(other_events_have_a_period),
		cmocka_unit_test(samples_have_times_and_no_values),
		cmocka_unit_test(times_lie_inside_the_interval),
		cmocka_unit_test(the_interval_is_set_and_not_in_the_future),
		cmocka_unit_test(samples_are_not_doubled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
