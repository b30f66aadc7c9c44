/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the generated code contain the protocol's packages and are long: macros shorten them. */
#include "reporter/otlp_metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "build/proto/otlp_metrics.pb-c.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/text_builder.h"
#include "reporter/otlp_arena.h"
#include "reporter/otlp_encode.h"

#define MESSAGE(name) Opentelemetry__Proto__Metrics__V1__##name
#define DESCRIPTOR(name) (&opentelemetry__proto__metrics__v1__##name##__descriptor)
#define COMMON(name) Opentelemetry__Proto__Common__V1__##name
#define COMMON_DESCRIPTOR(name) (&opentelemetry__proto__common__v1__##name##__descriptor)
#define COMMON_VALUE(name) OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_##name##_VALUE
#define POINT_VALUE(name) OPENTELEMETRY__PROTO__METRICS__V1__NUMBER_DATA_POINT__VALUE_##name
#define METRIC_DATA(name) OPENTELEMETRY__PROTO__METRICS__V1__METRIC__DATA_##name
#define CUMULATIVE                                                                                 \
	OPENTELEMETRY__PROTO__METRICS__V1__AGGREGATION_TEMPORALITY__AGGREGATION_TEMPORALITY_CUMULATIVE
#define RESOURCE_DESCRIPTOR (&opentelemetry__proto__resource__v1__resource__descriptor)

#define MetricsDataMessage MESSAGE(MetricsData)
#define ResourceMetricsMessage MESSAGE(ResourceMetrics)
#define ScopeMetricsMessage MESSAGE(ScopeMetrics)
#define MetricMessage MESSAGE(Metric)
#define GaugeMessage MESSAGE(Gauge)
#define SumMessage MESSAGE(Sum)
#define PointMessage MESSAGE(NumberDataPoint)
#define AnyValueMessage COMMON(AnyValue)
#define KeyValueMessage COMMON(KeyValue)
#define ScopeMessage COMMON(InstrumentationScope)
#define ResourceMessage Opentelemetry__Proto__Resource__V1__Resource

enum { OWN_ATTRIBUTE_COUNT = 3 };

struct encoder {
	const struct metric_table *table;
	const struct otlp_options *options;
	const struct otlp_metrics_times *times;
	struct otlp_arena arena;
	uint64_t point_count;
};

/* --- attributes --- */

/* A copy of @text that is valid UTF-8; NULL after a failure. */
static char *clean_text(struct encoder *encoder, const char *text)
{
	_cleanup_(text_builder_deinit) struct text_builder clean = { 0 };
	char *copy;

	text_builder_append_name(&clean, text);
	encoder->arena.failed |= clean.failed;
	copy = otlp_arena_take(&encoder->arena, clean.length + 1);
	if (copy)
		memcpy(copy, text_builder_text(&clean), clean.length + 1);
	return copy;
}

static void set_text(struct encoder *encoder, KeyValueMessage *attribute, const char *key,
		     const char *value)
{
	attribute->key = (char *)key;
	attribute->value = otlp_arena_new_one(&encoder->arena, COMMON_DESCRIPTOR(any_value));
	if (!attribute->value)
		return;
	attribute->value->value_case = COMMON_VALUE(STRING);
	attribute->value->string_value = clean_text(encoder, value);
}

static void set_number(struct encoder *encoder, KeyValueMessage *attribute, const char *key,
		       int64_t value)
{
	attribute->key = (char *)key;
	attribute->value = otlp_arena_new_one(&encoder->arena, COMMON_DESCRIPTOR(any_value));
	if (!attribute->value)
		return;
	attribute->value->value_case = COMMON_VALUE(INT);
	attribute->value->int_value = value;
}

/* The value of @key; of equal keys the last wins. NULL if there is none. */
static const char *find_attribute(const struct otlp_options *options, const char *key)
{
	for (size_t i = options->attribute_count; i > 0; i--)
		if (!strcmp(options->attributes[i - 1].key, key))
			return options->attributes[i - 1].value;
	return NULL;
}

/* Stable over restarts, so that a restart begins no new series: the machine's id, or its name. */
static const char *instance_id(const struct otlp_options *options)
{
	const char *id = find_attribute(options, "host.id");

	return id ? id : find_attribute(options, "host.name");
}

/* Whether attribute @index is the last one with its key. */
static bool is_last(const struct otlp_options *options, size_t index)
{
	for (size_t i = index + 1; i < options->attribute_count; i++)
		if (!strcmp(options->attributes[i].key, options->attributes[index].key))
			return false;
	return true;
}

static void add_own(struct encoder *encoder, ResourceMessage *resource)
{
	const struct otlp_options *options = encoder->options;
	const struct otlp_attribute own[OWN_ATTRIBUTE_COUNT] = {
		{ "service.name", OTLP_METRICS_SERVICE },
		{ "service.version", options->agent_version },
		{ "service.instance.id", instance_id(options) },
	};

	for (size_t i = 0; i < OWN_ATTRIBUTE_COUNT; i++)
		if (own[i].value && !find_attribute(options, own[i].key))
			set_text(encoder, resource->attributes[resource->n_attributes++],
				 own[i].key, own[i].value);
	if (!find_attribute(options, "process.pid"))
		set_number(encoder, resource->attributes[resource->n_attributes++], "process.pid",
			   getpid());
}

static ResourceMessage *new_resource(struct encoder *encoder)
{
	const struct otlp_options *options = encoder->options;
	ResourceMessage *resource = otlp_arena_new_one(&encoder->arena, RESOURCE_DESCRIPTOR);

	if (!resource)
		return NULL;
	resource->attributes = otlp_arena_new(&encoder->arena, COMMON_DESCRIPTOR(key_value),
					      options->attribute_count + OWN_ATTRIBUTE_COUNT + 1);
	if (!resource->attributes)
		return NULL;
	for (size_t i = 0; i < options->attribute_count; i++)
		if (is_last(options, i))
			set_text(encoder, resource->attributes[resource->n_attributes++],
				 options->attributes[i].key, options->attributes[i].value);
	add_own(encoder, resource);
	return resource;
}

/* --- metrics --- */

/* The clock may have been set back since the row began. */
static uint64_t start_of(const struct otlp_metrics_times *times, const struct metric_row *row)
{
	uint64_t start = row->start_ns ? row->start_ns : times->start;

	return start < times->now ? start : times->now;
}

static void fill_point(struct encoder *encoder, const struct metric_row *row, bool is_sum,
		       PointMessage *point)
{
	point->start_time_unix_nano = is_sum ? start_of(encoder->times, row) : 0;
	point->time_unix_nano = encoder->times->now;
	if (row->is_fraction) {
		point->value_case = POINT_VALUE(AS_DOUBLE);
		point->as_double = row->fraction;
	} else {
		point->value_case = POINT_VALUE(AS_INT);
		point->as_int = row->number > INT64_MAX ? INT64_MAX : (int64_t)row->number;
	}
	if (!row->label_count)
		return;
	point->attributes =
		otlp_arena_new(&encoder->arena, COMMON_DESCRIPTOR(key_value), row->label_count);
	if (!point->attributes)
		return;
	point->n_attributes = row->label_count;
	for (uint32_t i = 0; i < row->label_count; i++)
		set_text(encoder, point->attributes[i], row->labels[i].key, row->labels[i].value);
}

/* A point for each row of the family. */
static PointMessage **new_points(struct encoder *encoder, const struct metric_family *family,
				 size_t *count)
{
	PointMessage **points =
		otlp_arena_new(&encoder->arena, DESCRIPTOR(number_data_point), family->row_count);

	*count = points ? family->row_count : 0;
	for (size_t i = 0; i < *count; i++)
		fill_point(encoder, &encoder->table->rows.items[family->first_row + i],
			   family->kind != FAMILY_GAUGE, points[i]);
	encoder->point_count += *count;
	return points;
}

static void fill_metric(struct encoder *encoder, const struct metric_family *family,
			MetricMessage *metric)
{
	metric->name = (char *)family->name;
	metric->description = (char *)family->meaning;
	metric->unit = (char *)family->unit;
	if (family->kind == FAMILY_GAUGE) {
		metric->data_case = METRIC_DATA(GAUGE);
		metric->gauge = otlp_arena_new_one(&encoder->arena, DESCRIPTOR(gauge));
		if (metric->gauge)
			metric->gauge->data_points =
				new_points(encoder, family, &metric->gauge->n_data_points);
		return;
	}
	metric->data_case = METRIC_DATA(SUM);
	metric->sum = otlp_arena_new_one(&encoder->arena, DESCRIPTOR(sum));
	if (!metric->sum)
		return;
	metric->sum->aggregation_temporality = CUMULATIVE;
	metric->sum->is_monotonic = family->kind == FAMILY_COUNTER;
	metric->sum->data_points = new_points(encoder, family, &metric->sum->n_data_points);
}

static void add_metrics(struct encoder *encoder, ScopeMetricsMessage *scope)
{
	const struct metric_family_vector *families = &encoder->table->families;

	scope->scope =
		otlp_arena_new_one(&encoder->arena, COMMON_DESCRIPTOR(instrumentation_scope));
	scope->metrics = otlp_arena_new(&encoder->arena, DESCRIPTOR(metric), families->count);
	if (!scope->scope || !scope->metrics)
		return;
	scope->scope->name = OTLP_SCOPE_NAME;
	scope->scope->version = (char *)encoder->options->agent_version;
	for (size_t i = 0; i < families->count; i++)
		if (families->items[i].name[0] && families->items[i].row_count)
			fill_metric(encoder, &families->items[i],
				    scope->metrics[scope->n_metrics++]);
}

/* Missing memory leaves parts out; the arena's `failed` records it. */
static void build_message(struct encoder *encoder, MetricsDataMessage *data)
{
	ResourceMetricsMessage *resource;

	data->resource_metrics = otlp_arena_new(&encoder->arena, DESCRIPTOR(resource_metrics), 1);
	if (!data->resource_metrics)
		return;
	data->n_resource_metrics = 1;
	resource = data->resource_metrics[0];
	resource->resource = new_resource(encoder);
	resource->scope_metrics = otlp_arena_new(&encoder->arena, DESCRIPTOR(scope_metrics), 1);
	if (!resource->scope_metrics)
		return;
	resource->n_scope_metrics = 1;
	add_metrics(encoder, resource->scope_metrics[0]);
}

int otlp_metrics_encode(const struct metric_table *table, const struct otlp_options *options,
			const struct otlp_metrics_times *times, struct otlp_request *request)
{
	struct encoder encoder = { .table = table, .options = options, .times = times };
	MetricsDataMessage data;
	uint8_t *bytes = NULL;
	size_t byte_count = 0;

	protobuf_c_message_init(DESCRIPTOR(metrics_data), &data);
	build_message(&encoder, &data);
	if (!encoder.arena.failed && !table->failed) {
		byte_count = protobuf_c_message_get_packed_size(&data.base);
		bytes = malloc(byte_count);
	}
	if (bytes)
		protobuf_c_message_pack(&data.base, bytes);
	otlp_arena_deinit(&encoder.arena);
	if (!bytes)
		return fail(-ENOMEM, "no memory for a request with metrics");
	*request = (struct otlp_request){
		.bytes = bytes,
		.byte_count = byte_count,
		.sample_count = encoder.point_count,
	};
	return 0;
}
