/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/otlp_metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "build/proto/otlp_metrics.pb-c.h"

#define METRICS_(name) opentelemetry__proto__metrics__v1__##name

typedef Opentelemetry__Proto__Metrics__V1__MetricsData metrics_message;
typedef Opentelemetry__Proto__Metrics__V1__ResourceMetrics resource_message;
typedef Opentelemetry__Proto__Metrics__V1__Metric metric_message;
typedef Opentelemetry__Proto__Metrics__V1__NumberDataPoint point_message;
typedef Opentelemetry__Proto__Common__V1__KeyValue key_value_message;

enum { POINT_COUNT = 5 };

static const struct otlp_metrics_times times = { 1000, 2000 };

static struct metric_family families[] = {
	{ .name = "allframes.oldest_sample_age",
	  .unit = "s",
	  .meaning = "age",
	  .kind = FAMILY_GAUGE,
	  .row_count = 1 },
	{ .name = "allframes.ticks",
	  .unit = "{tick}",
	  .meaning = "ticks",
	  .first_row = 1,
	  .row_count = 2 },
	{ .prometheus_name = "allframes_build_info", .unit = "", .first_row = 3, .row_count = 1 },
	{ .name = "allframes.processes",
	  .unit = "{process}",
	  .meaning = "processes",
	  .kind = FAMILY_UP_DOWN_COUNTER,
	  .first_row = 4,
	  .row_count = 2 },
};

static struct metric_row rows[] = {
	{ .is_fraction = true, .fraction = 1.25 },
	{ .labels = { { "class", "busy" } }, .label_count = 1, .number = UINT64_MAX },
	{ .labels = { { "class", "id\xffle" } }, .label_count = 1, .number = 0 },
	{ .number = 1 },
	{ .labels = { { "pid", "7" }, { "comm", "a\nb" } }, .label_count = 2, .number = 9 },
	{ .number = 3 },
};

static const struct metric_table table = {
	.families = { families, sizeof(families) / sizeof(families[0]) },
	.rows = { rows, sizeof(rows) / sizeof(rows[0]) },
};

static const struct otlp_attribute attributes[] = {
	{ "host.name", "box" },
	{ "host.id", "1234" },
	{ "env", "test" },
	{ "host.name", "renamed" },
};

static metrics_message *encode(const struct otlp_attribute *list, size_t count)
{
	const struct otlp_options options = {
		.agent_version = "v1",
		.attributes = list,
		.attribute_count = count,
	};
	struct otlp_request request;
	metrics_message *message;

	assert_int_equal(otlp_metrics_encode(&table, &options, &times, &request), 0);
	assert_int_equal(request.sample_count, POINT_COUNT);
	message = METRICS_(metrics_data__unpack)(NULL, request.byte_count, request.bytes);
	free(request.bytes);
	assert_non_null(message);
	assert_int_equal(message->n_resource_metrics, 1);
	assert_int_equal(message->resource_metrics[0]->n_scope_metrics, 1);
	return message;
}

/* The value of @key, which is there once or not at all. */
static const char *text_of(key_value_message *const *list, size_t count, const char *key)
{
	const char *found = NULL;

	for (size_t i = 0; i < count; i++) {
		if (strcmp(list[i]->key, key) != 0)
			continue;
		assert_null(found);
		found = list[i]->value->string_value;
	}
	return found;
}

static const char *resource_text(const metrics_message *message, const char *key)
{
	const resource_message *resource = message->resource_metrics[0];

	return text_of(resource->resource->attributes, resource->resource->n_attributes, key);
}

static void the_resource_is_the_agent_on_its_host(void **state)
{
	metrics_message *message = encode(attributes, 4);
	const resource_message *resource = message->resource_metrics[0];
	int64_t pid = 0;

	(void)state;
	assert_string_equal(resource_text(message, "service.name"), "allframes");
	assert_string_equal(resource_text(message, "service.version"), "v1");
	assert_string_equal(resource_text(message, "service.instance.id"), "1234");
	assert_string_equal(resource_text(message, "host.name"), "renamed");
	assert_string_equal(resource_text(message, "env"), "test");
	for (size_t i = 0; i < resource->resource->n_attributes; i++)
		if (!strcmp(resource->resource->attributes[i]->key, "process.pid"))
			pid = resource->resource->attributes[i]->value->int_value;
	assert_int_equal(pid, getpid());
	assert_string_equal(resource->scope_metrics[0]->scope->name, "allframes-agent");
	METRICS_(metrics_data__free_unpacked)(message, NULL);
}

static void tags_replace_attributes_of_the_agent(void **state)
{
	static const struct otlp_attribute tags[] = { { "service.name", "mine" },
						      { "host.name", "box" } };
	metrics_message *message = encode(tags, 2);

	(void)state;
	assert_string_equal(resource_text(message, "service.name"), "mine");
	assert_string_equal(resource_text(message, "service.instance.id"), "box");
	METRICS_(metrics_data__free_unpacked)(message, NULL);
}

static void each_family_but_those_of_prometheus_alone_is_a_metric(void **state)
{
	metrics_message *message = encode(attributes, 4);
	metric_message **metrics = message->resource_metrics[0]->scope_metrics[0]->metrics;
	point_message **points;

	(void)state;
	assert_int_equal(message->resource_metrics[0]->scope_metrics[0]->n_metrics, 3);
	assert_string_equal(metrics[0]->name, "allframes.oldest_sample_age");
	assert_string_equal(metrics[0]->unit, "s");
	assert_string_equal(metrics[0]->description, "age");
	assert_non_null(metrics[0]->gauge);
	points = metrics[0]->gauge->data_points;
	assert_true(points[0]->as_double == 1.25);
	assert_int_equal(points[0]->start_time_unix_nano, 0);
	assert_int_equal(points[0]->time_unix_nano, 2000);
	assert_non_null(metrics[1]->sum);
	assert_true(metrics[1]->sum->is_monotonic);
	assert_int_equal(metrics[1]->sum->aggregation_temporality, 2);
	assert_int_equal(metrics[1]->sum->n_data_points, 2);
	points = metrics[1]->sum->data_points;
	assert_int_equal(points[0]->start_time_unix_nano, 1000);
	assert_true(points[0]->as_int == INT64_MAX);
	/* A value of 0 is there too, and text is UTF-8. */
	assert_int_equal(points[1]->value_case,
			 OPENTELEMETRY__PROTO__METRICS__V1__NUMBER_DATA_POINT__VALUE_AS_INT);
	assert_int_equal(points[1]->as_int, 0);
	assert_string_equal(text_of(points[1]->attributes, 1, "class"), "id?le");
	assert_false(metrics[2]->sum->is_monotonic);
	points = metrics[2]->sum->data_points;
	assert_string_equal(text_of(points[0]->attributes, 2, "pid"), "7");
	assert_string_equal(text_of(points[0]->attributes, 2, "comm"), "a b");
	assert_int_equal(points[1]->n_attributes, 0);
	assert_int_equal(points[1]->as_int, 3);
	METRICS_(metrics_data__free_unpacked)(message, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_resource_is_the_agent_on_its_host),
		cmocka_unit_test(tags_replace_attributes_of_the_agent),
		cmocka_unit_test(each_family_but_those_of_prometheus_alone_is_a_metric),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
