/* SPDX-License-Identifier: Apache-2.0 */
#include "integration/collector/received_metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "integration/collector/value_text.h"
#include "lib/base/clock.h"
#include "lib/base/text_builder.h"

/* Clocks of two hosts may differ a little. */
#define FUTURE_MAX_NS (60 * NS_PER_SECOND)

enum { CUMULATIVE = 2, NAME_MAX_BYTES = 255, UNIT_MAX_BYTES = 63 };

struct checker {
	struct received_metrics *received;
	const struct metrics_message *message;
	struct findings *findings;
	uint64_t now_ns;
};

void received_metrics_deinit(struct received_metrics *received)
{
	metric_series_vector_deinit(&received->series);
	hash_map_deinit(&received->indices);
}

static void cut_text(char to[METRIC_TEXT_BYTES], const void *bytes, size_t count)
{
	if (count >= METRIC_TEXT_BYTES)
		count = METRIC_TEXT_BYTES - 1;
	if (count)
		memcpy(to, bytes, count);
	to[count] = '\0';
}

/* --- metrics --- */

static bool is_letter(uint8_t byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

/* opentelemetry.io/docs/specs/otel/metrics/api, "Instrument name syntax". */
static bool is_instrument_name(struct span name)
{
	if (!name.count || name.count > NAME_MAX_BYTES || !is_letter(name.bytes[0]))
		return false;
	for (size_t i = 1; i < name.count; i++) {
		uint8_t byte = name.bytes[i];

		if (!is_letter(byte) && !(byte >= '0' && byte <= '9') &&
		    !(byte && strchr("_.-/", byte)))
			return false;
	}
	return true;
}

static bool is_unit(struct span unit)
{
	for (size_t i = 0; i < unit.count; i++)
		if (unit.bytes[i] <= ' ' || unit.bytes[i] > '~')
			return false;
	return unit.count && unit.count <= UNIT_MAX_BYTES;
}

static void check_metric(struct checker *checker, const struct otlp_metric *metric)
{
	int length = metric->name.count > NAME_MAX_BYTES ? NAME_MAX_BYTES : (int)metric->name.count;
	const char *name = length ? (const char *)metric->name.bytes : "";

	if (!is_instrument_name(metric->name))
		findings_add(checker->findings, RULE_METRIC_NAME, "\"%.*s\"", length, name);
	if (!is_unit(metric->unit) || !metric->description.count)
		findings_add(checker->findings, RULE_METRIC_UNIT, "%.*s has no %s", length, name,
			     metric->description.count ? "such unit" : "description");
	if ((metric->kind != METRIC_GAUGE && metric->kind != METRIC_SUM) || !metric->points.count)
		findings_add(checker->findings, RULE_METRIC_DATA, "%.*s is %s", length, name,
			     metric->points.count ? "of another kind" : "without points");
	if (metric->kind == METRIC_SUM && metric->temporality != CUMULATIVE)
		findings_add(checker->findings, RULE_SUM, "%.*s: temporality %" PRIu64, length,
			     name, metric->temporality);
}

static void check_point(struct checker *checker, const struct otlp_metric *metric,
			const struct otlp_point *point)
{
	const char *name = metric->name.count ? (const char *)metric->name.bytes : "";
	int length = metric->name.count > NAME_MAX_BYTES ? NAME_MAX_BYTES : (int)metric->name.count;

	if (metric->kind == METRIC_SUM && (!point->start_ns || point->start_ns > point->time_ns))
		findings_add(checker->findings, RULE_SUM, "%.*s: from %" PRIu64 " to %" PRIu64,
			     length, name, point->start_ns, point->time_ns);
	if (!point->has_number || !isfinite(point->number))
		findings_add(checker->findings, RULE_POINT, "%.*s has no number", length, name);
	if (!point->time_ns || point->time_ns > checker->now_ns + FUTURE_MAX_NS)
		findings_add(checker->findings, RULE_POINT, "%.*s: time %" PRIu64, length, name,
			     point->time_ns);
	if (metric->is_monotonic && point->number < 0)
		findings_add(checker->findings, RULE_FALLS, "%.*s: %g", length, name,
			     point->number);
}

/* --- attributes --- */

static int compare_attributes(const void *a, const void *b)
{
	const struct key_value *one = *(const struct key_value *const *)a;
	const struct key_value *other = *(const struct key_value *const *)b;
	size_t count = one->key.count < other->key.count ? one->key.count : other->key.count;
	int order = count ? memcmp(one->key.bytes, other->key.bytes, count) : 0;

	return order ? order :
		       (one->key.count > other->key.count) - (one->key.count < other->key.count);
}

/* Appends the attributes by key, and checks them. 0 or -ENOMEM. */
static int append_attributes(struct checker *checker, struct range range, const char *owner,
			     struct text_builder *text)
{
	const struct key_value **sorted = calloc(range.count + 1, sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < range.count; i++)
		sorted[i] = &checker->message->key_values.items[range.first + i];
	qsort(sorted, range.count, sizeof(*sorted), compare_attributes);
	for (size_t i = 0; i < range.count; i++) {
		const struct key_value *one = sorted[i];

		if (i && span_equal(one->key, sorted[i - 1]->key))
			findings_add(checker->findings, RULE_KEYS_ONCE, "%s: %.*s", owner,
				     (int)one->key.count, (const char *)one->key.bytes);
		if (one->has_key_index || one->value.kind == VALUE_STRING_INDEX)
			findings_add(checker->findings, RULE_LITERALS, "%s", owner);
		if (!one->key.count || !one->value.kind)
			findings_add(checker->findings, RULE_ATTRIBUTES, "%s: no %s", owner,
				     one->key.count ? "value" : "key");
		text_builder_append(text, i ? " " : "");
		text_builder_append_bytes(text, (const char *)one->key.bytes, one->key.count);
		text_builder_append(text, "=");
		append_value_text(text, &one->value);
	}
	free(sorted);
	return text->failed ? -ENOMEM : 0;
}

/* --- series --- */

static const char *kind_name(const struct otlp_metric *metric)
{
	if (metric->kind != METRIC_SUM)
		return "gauge";
	return metric->is_monotonic ? "counter" : "up_down_counter";
}

static void check_series(struct checker *checker, const struct metric_series *series,
			 const struct metric_series *next)
{
	if (series->kind != next->kind || strcmp(series->unit, next->unit) != 0)
		findings_add(checker->findings, RULE_KEEPS_KIND, "%s: %s in %s, %s in %s",
			     next->name, series->kind, series->unit, next->kind, next->unit);
	if (next->time_ns < series->time_ns)
		findings_add(checker->findings, RULE_ORDER, "%s: %" PRIu64 " after %" PRIu64,
			     next->name, next->time_ns, series->time_ns);
	else if (!strcmp(next->kind, "counter") && next->start_ns == series->start_ns &&
		 next->value < series->value)
		findings_add(checker->findings, RULE_FALLS, "%s %s: %.17g after %.17g", next->name,
			     next->attributes, next->value, series->value);
}

/* Adds the point to its series. 0 or -ENOMEM. */
static int add_point(struct checker *checker, const struct metric_series *next)
{
	struct received_metrics *received = checker->received;
	char key[2 * METRIC_TEXT_BYTES + 2];
	int length = snprintf(key, sizeof(key), "%s %s", next->name, next->attributes);
	uint64_t index;
	int err;

	if (hash_map_find_bytes(&received->indices, key, length, &index)) {
		struct metric_series *series = &received->series.items[index];
		uint64_t points = series->points + 1;

		check_series(checker, series, next);
		*series = *next;
		series->points = points;
		return 0;
	}
	if (received->series.count == METRIC_SERIES_MAX)
		return 0;
	err = hash_map_set_bytes(&received->indices, key, length, received->series.count);
	return err ? err : metric_series_vector_push(&received->series, *next);
}

static int add_metric(struct checker *checker, const struct otlp_metric *metric,
		      struct hash_map *names)
{
	const void *name = metric->name.count ? (const void *)metric->name.bytes : "";
	struct metric_series next = { .kind = kind_name(metric), .points = 1 };
	struct hash_map known = { 0 };
	struct text_builder text = { 0 };
	int err;

	check_metric(checker, metric);
	cut_text(next.name, metric->name.bytes, metric->name.count);
	cut_text(next.unit, metric->unit.bytes, metric->unit.count);
	if (hash_map_find_bytes(names, name, metric->name.count, NULL))
		findings_add(checker->findings, RULE_METRIC_NAME, "%s twice", next.name);
	err = hash_map_set_bytes(names, name, metric->name.count, 0);
	for (size_t i = 0; i < metric->points.count && !err; i++) {
		const struct otlp_point *point =
			&checker->message->points.items[metric->points.first + i];

		check_point(checker, metric, point);
		text_builder_clear(&text);
		err = append_attributes(checker, point->attributes, next.name, &text);
		if (err)
			break;
		if (hash_map_find_bytes(&known, text_builder_text(&text), text.length, NULL))
			findings_add(checker->findings, RULE_POINTS_ONCE, "%s %s", next.name,
				     text_builder_text(&text));
		err = hash_map_set_bytes(&known, text_builder_text(&text), text.length, 0);
		cut_text(next.attributes, text_builder_text(&text), text.length);
		next.start_ns = point->start_ns;
		next.time_ns = point->time_ns;
		next.value = point->number;
		if (!err)
			err = add_point(checker, &next);
	}
	text_builder_deinit(&text);
	hash_map_deinit(&known);
	return err;
}

static int add_scope(struct checker *checker, const struct metrics_scope *scope,
		     struct hash_map *names)
{
	int err = 0;

	if (!scope->has_scope || !scope->name.count)
		findings_add(checker->findings, RULE_PRESENT, "scope of metrics");
	if (!scope->metrics.count)
		findings_add(checker->findings, RULE_EMPTY, "a scope has no metrics");
	for (size_t i = 0; i < scope->metrics.count && !err; i++)
		err = add_metric(checker,
				 &checker->message->metrics.items[scope->metrics.first + i], names);
	return err;
}

static bool has_service_name(const struct metrics_message *message, struct range range)
{
	for (size_t i = 0; i < range.count; i++) {
		const struct key_value *one = &message->key_values.items[range.first + i];

		if (span_is(one->key, "service.name"))
			return one->value.kind == VALUE_STRING && one->value.bytes.count;
	}
	return false;
}

static int add_resource(struct checker *checker, const struct metrics_resource *resource)
{
	struct text_builder text = { 0 };
	struct hash_map names = { 0 };
	int err = append_attributes(checker, resource->attributes, "resource", &text);

	if (!resource->has_resource)
		findings_add(checker->findings, RULE_PRESENT, "resource of metrics");
	if (!has_service_name(checker->message, resource->attributes))
		findings_add(checker->findings, RULE_SERVICE_NAME, "resource of metrics");
	if (!resource->scopes.count)
		findings_add(checker->findings, RULE_EMPTY, "a resource has no scopes");
	for (size_t i = 0; i < resource->scopes.count && !err; i++)
		err = add_scope(checker,
				&checker->message->scopes.items[resource->scopes.first + i],
				&names);
	if (!err)
		cut_text(checker->received->resource, text_builder_text(&text), text.length);
	text_builder_deinit(&text);
	hash_map_deinit(&names);
	return err;
}

int received_metrics_add(struct received_metrics *received, struct span bytes, uint64_t now_ns,
			 bool is_taken, struct findings *findings)
{
	struct metrics_message message = { 0 };
	struct checker checker = { received, &message, findings, now_ns };
	int err = metrics_message_decode(&message, bytes, findings);

	if (!message.resources.count)
		findings_add(findings, RULE_EMPTY, "the request has no resources");
	for (size_t i = 0; i < message.resources.count && !err; i++)
		err = add_resource(&checker, &message.resources.items[i]);
	received->requests++;
	if (is_taken) {
		received->taken++;
		received->taken_points += message.points.count;
	}
	metrics_message_deinit(&message);
	return err;
}

void received_metrics_write_report(const struct received_metrics *received, FILE *out)
{
	fprintf(out,
		"\"metrics\": {\"requests\": %" PRIu64 ", \"taken\": %" PRIu64
		", \"taken_points\": %" PRIu64 ", \"resource\": ",
		received->requests, received->taken, received->taken_points);
	write_json_text(out, received->resource);
	fprintf(out, ", \"series\": [");
	for (size_t i = 0; i < received->series.count; i++) {
		const struct metric_series *series = &received->series.items[i];

		fprintf(out, "%s\n{\"name\": ", i ? "," : "");
		write_json_text(out, series->name);
		fprintf(out, ", \"unit\": ");
		write_json_text(out, series->unit);
		fprintf(out, ", \"attributes\": ");
		write_json_text(out, series->attributes);
		fprintf(out,
			", \"kind\": \"%s\", \"start_ns\": %" PRIu64 ", \"time_ns\": %" PRIu64
			", \"points\": %" PRIu64 ", \"value\": %.17g}",
			series->kind, series->start_ns, series->time_ns, series->points,
			isfinite(series->value) ? series->value : 0);
	}
	fprintf(out, "]},\n");
}
