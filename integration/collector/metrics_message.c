/* SPDX-License-Identifier: Apache-2.0 */
/* One function per message type; the field numbers are those of OTLP 1.10 (opentelemetry-proto, metrics v1). */
#include "integration/collector/metrics_message.h"

#include <string.h>

static WIRE_TYPE(request_type, "ExportMetricsServiceRequest",
		 { 1, WIRE_MESSAGE, WIRE_REPEATED, "resource_metrics" });
static WIRE_TYPE(resource_metrics_type, "ResourceMetrics", { 1, WIRE_MESSAGE, 0, "resource" },
		 { 2, WIRE_MESSAGE, WIRE_REPEATED, "scope_metrics" },
		 { 3, WIRE_STRING, 0, "schema_url" });
static WIRE_TYPE(scope_metrics_type, "ScopeMetrics", { 1, WIRE_MESSAGE, 0, "scope" },
		 { 2, WIRE_MESSAGE, WIRE_REPEATED, "metrics" },
		 { 3, WIRE_STRING, 0, "schema_url" });
static WIRE_TYPE(metric_type, "Metric", { 1, WIRE_STRING, 0, "name" },
		 { 2, WIRE_STRING, 0, "description" }, { 3, WIRE_STRING, 0, "unit" },
		 { 5, WIRE_MESSAGE, WIRE_PRESENCE, "gauge" },
		 { 7, WIRE_MESSAGE, WIRE_PRESENCE, "sum" },
		 { 9, WIRE_MESSAGE, WIRE_PRESENCE, "histogram" },
		 { 10, WIRE_MESSAGE, WIRE_PRESENCE, "exponential_histogram" },
		 { 11, WIRE_MESSAGE, WIRE_PRESENCE, "summary" },
		 { 12, WIRE_MESSAGE, WIRE_REPEATED, "metadata" });
static WIRE_TYPE(gauge_type, "Gauge", { 1, WIRE_MESSAGE, WIRE_REPEATED, "data_points" });
static WIRE_TYPE(sum_type, "Sum", { 1, WIRE_MESSAGE, WIRE_REPEATED, "data_points" },
		 { 2, WIRE_INT32, 0, "aggregation_temporality" },
		 { 3, WIRE_BOOL, 0, "is_monotonic" });
static WIRE_TYPE(point_type, "NumberDataPoint", { 2, WIRE_FIXED64, 0, "start_time_unix_nano" },
		 { 3, WIRE_FIXED64, 0, "time_unix_nano" },
		 { 4, WIRE_DOUBLE, WIRE_PRESENCE, "as_double" },
		 { 5, WIRE_MESSAGE, WIRE_REPEATED, "exemplars" },
		 { 6, WIRE_FIXED64, WIRE_PRESENCE, "as_int" },
		 { 7, WIRE_MESSAGE, WIRE_REPEATED, "attributes" }, { 8, WIRE_UINT32, 0, "flags" });

struct decoder {
	struct metrics_message *message;
	struct findings *findings;
	int err;
};

static struct wire_reader read_message(struct decoder *decoder, const struct wire_message *type,
				       struct span bytes)
{
	struct wire_reader reader;

	wire_reader_init(&reader, type, bytes, decoder->findings);
	return reader;
}

/* The first failure ends the decoding of the message in all the loops below. */
static bool next_field(const struct decoder *decoder, struct wire_reader *reader,
		       struct wire_value *value)
{
	return !decoder->err && wire_reader_next(reader, value);
}

static void add_attribute(struct decoder *decoder, struct span bytes)
{
	struct key_value attribute = key_value_decode(bytes, decoder->findings);

	decoder->err = key_value_vector_push(&decoder->message->key_values, attribute);
}

static void decode_point(struct decoder *decoder, struct span bytes)
{
	struct wire_reader reader = read_message(decoder, &point_type, bytes);
	struct key_value_vector *key_values = &decoder->message->key_values;
	struct otlp_point point = { .attributes.first = key_values->count };
	struct wire_value value;

	while (next_field(decoder, &reader, &value)) {
		switch (value.number) {
		case 2:
			point.start_ns = value.number_value;
			break;
		case 3:
			point.time_ns = value.number_value;
			break;
		case 4:
			point.has_number = true;
			memcpy(&point.number, &value.number_value, sizeof(point.number));
			break;
		case 6:
			point.has_number = true;
			point.number = (double)(int64_t)value.number_value;
			break;
		case 7:
			add_attribute(decoder, value.span);
			break;
		}
	}
	point.attributes.count = key_values->count - point.attributes.first;
	if (!decoder->err)
		decoder->err = point_vector_push(&decoder->message->points, point);
}

static void decode_data(struct decoder *decoder, const struct wire_message *type, struct span bytes,
			struct otlp_metric *metric)
{
	struct wire_reader reader = read_message(decoder, type, bytes);
	struct wire_value value;

	while (next_field(decoder, &reader, &value)) {
		if (value.number == 1)
			decode_point(decoder, value.span);
		else if (value.number == 2)
			metric->temporality = value.number_value;
		else
			metric->is_monotonic = value.number_value;
	}
}

static void decode_metric(struct decoder *decoder, struct span bytes)
{
	struct wire_reader reader = read_message(decoder, &metric_type, bytes);
	struct point_vector *points = &decoder->message->points;
	struct otlp_metric metric = { .points.first = points->count };
	struct wire_value value;

	while (next_field(decoder, &reader, &value)) {
		switch (value.number) {
		case 1:
			metric.name = value.span;
			break;
		case 2:
			metric.description = value.span;
			break;
		case 3:
			metric.unit = value.span;
			break;
		case 5:
			metric.kind = METRIC_GAUGE;
			decode_data(decoder, &gauge_type, value.span, &metric);
			break;
		case 7:
			metric.kind = METRIC_SUM;
			decode_data(decoder, &sum_type, value.span, &metric);
			break;
		case 12:
			break;
		default:
			metric.kind = METRIC_OTHER;
		}
	}
	metric.points.count = points->count - metric.points.first;
	if (!decoder->err)
		decoder->err = metric_vector_push(&decoder->message->metrics, metric);
}

static void decode_scope(struct decoder *decoder, struct span bytes, struct metrics_scope *scope)
{
	struct wire_reader reader = read_message(decoder, &otlp_scope_type, bytes);
	struct wire_value value;

	scope->has_scope = true;
	while (next_field(decoder, &reader, &value)) {
		if (value.number == 1)
			scope->name = value.span;
		else if (value.number == 3)
			key_value_decode(value.span, decoder->findings);
	}
}

static void decode_scope_metrics(struct decoder *decoder, struct span bytes)
{
	struct wire_reader reader = read_message(decoder, &scope_metrics_type, bytes);
	struct metric_vector *metrics = &decoder->message->metrics;
	struct metrics_scope scope = { .metrics.first = metrics->count };
	struct wire_value value;

	while (next_field(decoder, &reader, &value)) {
		if (value.number == 1)
			decode_scope(decoder, value.span, &scope);
		else if (value.number == 2)
			decode_metric(decoder, value.span);
	}
	scope.metrics.count = metrics->count - scope.metrics.first;
	if (!decoder->err)
		decoder->err = metrics_scope_vector_push(&decoder->message->scopes, scope);
}

static void decode_resource(struct decoder *decoder, struct span bytes,
			    struct metrics_resource *resource)
{
	struct wire_reader reader = read_message(decoder, &otlp_resource_type, bytes);
	struct key_value_vector *key_values = &decoder->message->key_values;
	struct wire_value value;

	resource->has_resource = true;
	resource->attributes.first = key_values->count;
	while (next_field(decoder, &reader, &value))
		if (value.number == 1)
			add_attribute(decoder, value.span);
	resource->attributes.count = key_values->count - resource->attributes.first;
}

static void decode_resource_metrics(struct decoder *decoder, struct span bytes)
{
	struct wire_reader reader = read_message(decoder, &resource_metrics_type, bytes);
	struct metrics_scope_vector *scopes = &decoder->message->scopes;
	struct metrics_resource resource = { .scopes.first = scopes->count };
	struct wire_value value;

	while (next_field(decoder, &reader, &value)) {
		if (value.number == 1)
			decode_resource(decoder, value.span, &resource);
		else if (value.number == 2)
			decode_scope_metrics(decoder, value.span);
	}
	resource.scopes.count = scopes->count - resource.scopes.first;
	if (!decoder->err)
		decoder->err = metrics_resource_vector_push(&decoder->message->resources, resource);
}

int metrics_message_decode(struct metrics_message *message, struct span bytes,
			   struct findings *findings)
{
	struct decoder decoder = { .message = message, .findings = findings };
	struct wire_reader reader = read_message(&decoder, &request_type, bytes);
	struct wire_value value;

	while (next_field(&decoder, &reader, &value))
		decode_resource_metrics(&decoder, value.span);
	return decoder.err;
}

void metrics_message_deinit(struct metrics_message *message)
{
	metrics_resource_vector_deinit(&message->resources);
	metrics_scope_vector_deinit(&message->scopes);
	metric_vector_deinit(&message->metrics);
	point_vector_deinit(&message->points);
	key_value_vector_deinit(&message->key_values);
}
