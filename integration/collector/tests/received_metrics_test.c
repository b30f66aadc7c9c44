/* SPDX-License-Identifier: Apache-2.0 */
#include "integration/collector/received_metrics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "integration/collector/tests/message_builder.h"

enum { GAUGE_FIELD = 5, SUM_FIELD = 7, SUMMARY_FIELD = 11 };

/* A request with one metric of two points, which tests change. */
struct metrics_spec {
	const char *service;
	const char *scope;
	const char *name;
	const char *second_name;
	const char *unit;
	const char *description;
	int data_field;
	int temporality;
	bool is_monotonic;
	uint64_t start_ns;
	uint64_t time_ns;
	double number;
	bool has_no_number;
	const char *key;
	const char *values[2];
};

static const struct metrics_spec good = {
	.service = "allframes",
	.scope = "scope",
	.name = "allframes.ticks",
	.unit = "{tick}",
	.description = "ticks",
	.data_field = SUM_FIELD,
	.temporality = 2,
	.is_monotonic = true,
	.start_ns = TEST_START_NS,
	.time_ns = TEST_NOW_NS,
	.number = 7.5,
	.key = "class",
	.values = { "busy", "idle" },
};

static struct received_metrics received;
static struct message_bytes request;

static void put_double(struct message_bytes *message, unsigned int field, double number)
{
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	put_tag(message, field, 1);
	put_fixed64(message, bits);
}

static void put_attribute(struct message_bytes *message, unsigned int field, const char *key,
			  const char *text)
{
	static struct message_bytes value, key_value;

	put_text(&value, 1, text);
	if (*key)
		put_text(&key_value, 1, key);
	put_message(&key_value, 2, &value);
	put_message(message, field, &key_value);
}

static void put_metric(struct message_bytes *scope, const struct metrics_spec *spec,
		       const char *name)
{
	static struct message_bytes metric, data, point;

	put_text(&metric, 1, name);
	if (*spec->description)
		put_text(&metric, 2, spec->description);
	if (*spec->unit)
		put_text(&metric, 3, spec->unit);
	for (int i = 0; i < 2 && spec->values[i]; i++) {
		if (spec->start_ns) {
			put_tag(&point, 2, 1);
			put_fixed64(&point, spec->start_ns);
		}
		put_tag(&point, 3, 1);
		put_fixed64(&point, spec->time_ns);
		if (!spec->has_no_number)
			put_double(&point, 4, spec->number);
		put_attribute(&point, 7, spec->key, spec->values[i]);
		put_message(&data, 1, &point);
	}
	if (spec->data_field == SUM_FIELD) {
		put_number(&data, 2, (uint64_t)spec->temporality);
		put_number(&data, 3, spec->is_monotonic);
	}
	if (spec->data_field)
		put_message(&metric, (unsigned int)spec->data_field, &data);
	put_message(scope, 2, &metric);
}

static void build(const struct metrics_spec *spec)
{
	static struct message_bytes resource, name, scope, resource_metrics;

	request.count = 0;
	put_attribute(&resource, 1, "service.name", spec->service);
	put_message(&resource_metrics, 1, &resource);
	if (*spec->scope)
		put_text(&name, 1, spec->scope);
	put_message(&scope, 1, &name);
	if (spec->name)
		put_metric(&scope, spec, spec->name);
	if (spec->second_name)
		put_metric(&scope, spec, spec->second_name);
	put_message(&resource_metrics, 2, &scope);
	put_message(&request, 1, &resource_metrics);
}

static struct findings receive(const struct metrics_spec *spec)
{
	struct findings findings = { 0 };

	build(spec);
	assert_int_equal(received_metrics_add(&received, span_of_message(&request), TEST_NOW_NS,
					      true, &findings),
			 0);
	return findings;
}

static int tear_down(void **state)
{
	(void)state;
	received_metrics_deinit(&received);
	received = (struct received_metrics){ 0 };
	return 0;
}

/* A good request, and then @spec, which breaks @rule and no other. */
static void assert_breaks(const struct metrics_spec *spec, enum rule rule)
{
	struct findings findings;

	tear_down(NULL);
	findings = receive(&good);
	assert_int_equal(findings_count(&findings), 0);
	findings = receive(spec);
	if (!findings.rules[rule].count)
		fail_msg("rule %d is not broken", rule);
	for (int other = 0; other < RULE_COUNT; other++)
		if (other != (int)rule && findings.rules[other].count)
			fail_msg("rule %d is broken too: %s", other, findings.rules[other].example);
}

static void a_good_request_breaks_no_rule(void **state)
{
	struct findings findings = receive(&good);

	(void)state;
	assert_int_equal(findings_count(&findings), 0);
	assert_int_equal(received.requests, 1);
	assert_int_equal(received.taken, 1);
	assert_int_equal(received.taken_points, 2);
	assert_string_equal(received.resource, "service.name=allframes");
	assert_int_equal(received.series.count, 2);
	assert_string_equal(received.series.items[1].attributes, "class=idle");
	assert_string_equal(received.series.items[1].kind, "counter");
	assert_true(received.series.items[1].value == 7.5);
}

static void names_and_units_are_those_of_instruments(void **state)
{
	static const char *const names[] = { "", "7up", "a b", "a:b", "\xc3\xa4" };
	struct metrics_spec spec;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		spec = good;
		spec.name = names[i];
		tear_down(NULL);
		assert_true(receive(&spec).rules[RULE_METRIC_NAME].count == 1);
	}
	spec = good;
	spec.second_name = spec.name;
	assert_true(receive(&spec).rules[RULE_METRIC_NAME].count == 1);
	spec = good;
	spec.name = "other";
	spec.unit = "two words";
	assert_breaks(&spec, RULE_METRIC_UNIT);
	spec.unit = "";
	assert_breaks(&spec, RULE_METRIC_UNIT);
	spec = good;
	spec.description = "";
	assert_breaks(&spec, RULE_METRIC_UNIT);
}

static void only_gauges_and_cumulative_sums_are_sent(void **state)
{
	struct metrics_spec spec = good;

	(void)state;
	spec.name = "other";
	spec.data_field = SUMMARY_FIELD;
	assert_breaks(&spec, RULE_METRIC_DATA);
	spec.data_field = SUM_FIELD;
	spec.values[0] = NULL;
	assert_breaks(&spec, RULE_METRIC_DATA);
	spec = good;
	spec.temporality = 1;
	assert_breaks(&spec, RULE_SUM);
	spec = good;
	spec.start_ns = 0;
	assert_breaks(&spec, RULE_SUM);
	spec.start_ns = spec.time_ns + 1;
	assert_breaks(&spec, RULE_SUM);
}

static void points_have_a_number_a_time_and_attributes_of_their_own(void **state)
{
	struct metrics_spec spec = good;

	(void)state;
	spec.name = "other";
	spec.has_no_number = true;
	assert_breaks(&spec, RULE_POINT);
	spec.has_no_number = false;
	spec.number = (double)INFINITY;
	assert_breaks(&spec, RULE_POINT);
	spec = good;
	spec.time_ns += 3600 * 1000000000ULL;
	assert_breaks(&spec, RULE_POINT);
	spec = good;
	spec.values[1] = "busy";
	assert_breaks(&spec, RULE_POINTS_ONCE);
	spec = good;
	spec.key = "";
	assert_breaks(&spec, RULE_ATTRIBUTES);
}

static void a_series_goes_on_as_it_began(void **state)
{
	struct metrics_spec spec = good;

	(void)state;
	spec.number = 7.25;
	assert_breaks(&spec, RULE_FALLS);
	/* With a new start it may. */
	spec.start_ns++;
	assert_int_equal(receive(&spec).rules[RULE_FALLS].count, 0);
	spec = good;
	spec.name = "other";
	spec.number = -1;
	assert_breaks(&spec, RULE_FALLS);
	spec = good;
	spec.time_ns--;
	assert_breaks(&spec, RULE_ORDER);
	spec = good;
	spec.is_monotonic = false;
	assert_breaks(&spec, RULE_KEEPS_KIND);
	spec = good;
	spec.unit = "s";
	assert_breaks(&spec, RULE_KEEPS_KIND);
}

static void resource_and_scope_are_there(void **state)
{
	struct metrics_spec spec = good;

	(void)state;
	spec.service = "";
	assert_breaks(&spec, RULE_SERVICE_NAME);
	spec = good;
	spec.scope = "";
	assert_breaks(&spec, RULE_PRESENT);
	spec = good;
	spec.name = NULL;
	assert_breaks(&spec, RULE_EMPTY);
}

static void the_report_has_each_series(void **state)
{
	struct metrics_spec spec = good;
	char text[4096] = "";
	FILE *file = fmemopen(text, sizeof(text), "w");

	(void)state;
	receive(&spec);
	spec.data_field = GAUGE_FIELD;
	spec.name = "age";
	spec.values[0] = "\"";
	spec.values[1] = NULL;
	receive(&spec);
	received_metrics_write_report(&received, file);
	fclose(file);
	assert_non_null(strstr(text, "{\"requests\": 2, \"taken\": 2, \"taken_points\": 3, "));
	assert_non_null(strstr(text, "{\"name\": \"age\", \"unit\": \"{tick}\", \"attributes\": "
				     "\"class=\\\"\", \"kind\": \"gauge\", "));
	assert_non_null(strstr(text, "\"points\": 1, \"value\": 7.5}"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_good_request_breaks_no_rule, tear_down),
		cmocka_unit_test_teardown(names_and_units_are_those_of_instruments, tear_down),
		cmocka_unit_test_teardown(only_gauges_and_cumulative_sums_are_sent, tear_down),
		cmocka_unit_test_teardown(points_have_a_number_a_time_and_attributes_of_their_own,
					  tear_down),
		cmocka_unit_test_teardown(a_series_goes_on_as_it_began, tear_down),
		cmocka_unit_test_teardown(resource_and_scope_are_there, tear_down),
		cmocka_unit_test_teardown(the_report_has_each_series, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
