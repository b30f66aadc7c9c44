/* SPDX-License-Identifier: Apache-2.0 */
/* check_dictionary() reports indices out of range; here such an element counts as missing. */

#include "integration/collector/check_profiles.h"

#include <inttypes.h>

#include "integration/collector/check_dictionary.h"
#include "integration/collector/check_frames.h"
#include "lib/base/clock.h"
#include "lib/base/hash_map.h"

/* Clocks of two hosts may differ a little. */
#define FUTURE_MAX_NS (60 * NS_PER_SECOND)

enum { MAX_SAMPLES_PER_SECOND = 10000 };

struct checker {
	const struct otlp_message *message;
	struct findings *findings;
	uint64_t now_ns;
	struct hash_map profile_ids;
	/* For each attribute: number + 1 of the last resource that has samples with it. */
	uint32_t *last_resources;
};

static const void *key_bytes(struct span span)
{
	return span.count ? (const void *)span.bytes : "";
}

/* True if the texts of a profile's sample_type or period_type are as given. */
static bool is_value_type(const struct otlp_message *message, const struct otlp_value_type *type,
			  const char *name, const char *unit)
{
	return type->is_present && span_is(otlp_message_string(message, type->type), name) &&
	       span_is(otlp_message_string(message, type->unit), unit);
}

/* True if @period, in nanoseconds, belongs to a whole number of samples per second. */
static bool is_period_of_rate(int64_t period)
{
	int64_t rate;

	if (period <= 0 || period > (int64_t)NS_PER_SECOND)
		return false;
	rate = ((int64_t)NS_PER_SECOND + period / 2) / period;
	return rate <= MAX_SAMPLES_PER_SECOND &&
	       (period == (int64_t)NS_PER_SECOND / rate ||
		period == ((int64_t)NS_PER_SECOND + rate / 2) / rate);
}

enum shape {
	SHAPE_ON_CPU,
	SHAPE_OFF_CPU,
	SHAPE_OTHER,
};

static enum shape check_shape(struct checker *checker, const struct otlp_profile *profile)
{
	const struct otlp_message *message = checker->message;
	struct span type = otlp_message_string(message, profile->sample_type.type);
	struct span period_type = otlp_message_string(message, profile->period_type.type);
	bool has_period_type = profile->period_type.type || profile->period_type.unit;

	if (span_is(type, "samples") || span_is(period_type, "cpu")) {
		if (!is_value_type(message, &profile->sample_type, "samples", "count") ||
		    !is_value_type(message, &profile->period_type, "cpu", "nanoseconds") ||
		    !is_period_of_rate(profile->period))
			findings_add(checker->findings, RULE_ON_CPU,
				     "%.*s, period_type %.*s, period %" PRId64, (int)type.count,
				     (const char *)type.bytes, (int)period_type.count,
				     (const char *)period_type.bytes, profile->period);
		return SHAPE_ON_CPU;
	}
	if (span_is(type, "off_cpu")) {
		if (!is_value_type(message, &profile->sample_type, "off_cpu", "nanoseconds") ||
		    !profile->period_type.is_present || has_period_type || profile->period)
			findings_add(checker->findings, RULE_OFF_CPU, "period %" PRId64,
				     profile->period);
		return SHAPE_OFF_CPU;
	}
	if (!type.count || !has_period_type || !profile->period)
		findings_add(checker->findings, RULE_OTHER_EVENTS,
			     "sample_type \"%.*s\", period %" PRId64, (int)type.count,
			     (const char *)type.bytes, profile->period);
	return SHAPE_OTHER;
}

static void check_interval(struct checker *checker, const struct otlp_profile *profile,
			   uint64_t *end)
{
	if (__builtin_add_overflow(profile->time_unix_nano, profile->duration_nano, end))
		*end = UINT64_MAX;
	if (!profile->time_unix_nano || !profile->duration_nano ||
	    *end > checker->now_ns + FUTURE_MAX_NS)
		findings_add(checker->findings, RULE_INTERVAL, "%" PRIu64 " + %" PRIu64 " ns",
			     profile->time_unix_nano, profile->duration_nano);
}

static void check_times(struct checker *checker, const struct otlp_profile *profile,
			const struct otlp_sample *sample, enum shape shape, uint64_t end)
{
	bool is_right = shape == SHAPE_ON_CPU ?
				!sample->value_count && sample->times.count :
				sample->value_count &&
					(sample->value_count == sample->times.count ||
					 (shape == SHAPE_OTHER && !sample->times.count));

	if (!is_right)
		findings_add(checker->findings, RULE_VALUES, "%zu times, %zu values",
			     sample->times.count, sample->value_count);
	for (size_t i = 0; i < sample->times.count; i++) {
		uint64_t time = checker->message->times.items[sample->times.first + i];

		if (time < profile->time_unix_nano || time > end)
			findings_add(checker->findings, RULE_TIMES,
				     "%" PRIu64 " in %" PRIu64 " + %" PRIu64, time,
				     profile->time_unix_nano, profile->duration_nano);
	}
}

static int compare_numbers(const void *a, const void *b)
{
	int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;

	return (left > right) - (left < right);
}

/* Appends the identity of @sample to @key: stack, link and its sorted attributes. */
static int identity_of(const struct otlp_message *message, const struct otlp_sample *sample,
		       struct index_vector *key)
{
	int err;

	key->count = 0;
	err = index_vector_reserve(key, sample->attributes.count + 2);
	if (err)
		return err;
	for (size_t i = 0; i < sample->attributes.count; i++)
		index_vector_push(key, message->numbers.items[sample->attributes.first + i]);
	qsort(key->items, key->count, sizeof(key->items[0]), compare_numbers);
	index_vector_push(key, sample->stack);
	return index_vector_push(key, sample->link);
}

static int check_samples_once(struct checker *checker, const struct otlp_profile *profile)
{
	const struct otlp_message *message = checker->message;
	struct hash_map known = { 0 };
	struct index_vector key = { 0 };
	int err = 0;

	for (size_t i = 0; i < profile->samples.count && !err; i++) {
		const struct otlp_sample *sample =
			&message->samples.items[profile->samples.first + i];
		size_t bytes;

		err = identity_of(message, sample, &key);
		if (err)
			break;
		bytes = key.count * sizeof(key.items[0]);
		if (hash_map_find_bytes(&known, key.items, bytes, NULL))
			findings_add(checker->findings, RULE_SAMPLES_ONCE, "stack %d",
				     sample->stack);
		else
			err = hash_map_set_bytes(&known, key.items, bytes, i);
	}
	index_vector_deinit(&key);
	hash_map_deinit(&known);
	return err;
}

static int check_profile_id(struct checker *checker, struct span id)
{
	bool is_zero = true;

	for (size_t i = 0; i < id.count; i++)
		is_zero = is_zero && !id.bytes[i];
	if (id.count != PROFILE_ID_BYTES || is_zero)
		findings_add(checker->findings, RULE_PROFILE_ID, "%zu bytes%s", id.count,
			     id.count && is_zero ? " of zero" : "");
	if (!id.count)
		return 0;
	if (hash_map_find_bytes(&checker->profile_ids, id.bytes, id.count, NULL))
		findings_add(checker->findings, RULE_PROFILE_ID_ONCE, "twice in a request");
	return hash_map_set_bytes(&checker->profile_ids, id.bytes, id.count, 0);
}

static int check_profile(struct checker *checker, const struct otlp_profile *profile)
{
	enum shape shape = check_shape(checker, profile);
	uint64_t end;
	int err;

	if (!profile->samples.count)
		findings_add(checker->findings, RULE_EMPTY, "a profile has no samples");
	check_interval(checker, profile, &end);
	for (size_t i = 0; i < profile->samples.count; i++)
		check_times(checker, profile,
			    &checker->message->samples.items[profile->samples.first + i], shape,
			    end);
	err = check_profile_id(checker, profile->profile_id);
	return err ? err : check_samples_once(checker, profile);
}

/* Checks that no key of @sample's attributes is in @keys, the keys of resource @number. */
static void check_one_owner(struct checker *checker, const struct otlp_sample *sample,
			    const struct hash_map *keys, uint32_t number)
{
	const struct otlp_message *message = checker->message;

	for (size_t i = 0; i < sample->attributes.count; i++) {
		int32_t index = message->numbers.items[sample->attributes.first + i];
		struct span key;

		if (index <= 0 || (size_t)index >= message->attributes.count ||
		    checker->last_resources[index] == number + 1)
			continue;
		checker->last_resources[index] = number + 1;
		key = otlp_message_string(message, message->attributes.items[index].key);
		if (hash_map_find_bytes(keys, key_bytes(key), key.count, NULL))
			findings_add(checker->findings, RULE_ONE_OWNER, "%.*s", (int)key.count,
				     (const char *)key.bytes);
	}
}

/* Checks the attributes of a resource or a scope, and adds their keys to @keys. */
static int check_key_values(struct checker *checker, struct range range, struct hash_map *keys)
{
	int err = 0;

	for (size_t i = 0; i < range.count && !err; i++) {
		const struct key_value *one = &checker->message->key_values.items[range.first + i];

		if (one->has_key_index || one->value.kind == VALUE_STRING_INDEX)
			findings_add(checker->findings, RULE_LITERALS, "%.*s", (int)one->key.count,
				     (const char *)one->key.bytes);
		if (!one->key.count || !one->value.kind)
			findings_add(checker->findings, RULE_ATTRIBUTES, "\"%.*s\" has no %s",
				     (int)one->key.count, (const char *)one->key.bytes,
				     one->key.count ? "value" : "key");
		if (hash_map_find_bytes(keys, key_bytes(one->key), one->key.count, NULL))
			findings_add(checker->findings, RULE_KEYS_ONCE, "resource: %.*s",
				     (int)one->key.count, (const char *)one->key.bytes);
		err = hash_map_set_bytes(keys, key_bytes(one->key), one->key.count, i);
	}
	return err;
}

static bool has_service_name(const struct otlp_message *message, struct range attributes)
{
	for (size_t i = 0; i < attributes.count; i++) {
		const struct key_value *one = &message->key_values.items[attributes.first + i];

		if (span_is(one->key, "service.name"))
			return one->value.kind == VALUE_STRING && one->value.bytes.count;
	}
	return false;
}

static int check_scope(struct checker *checker, const struct otlp_scope *scope,
		       const struct hash_map *resource_keys, uint32_t resource_number)
{
	struct hash_map keys = { 0 };
	int err = check_key_values(checker, scope->attributes, &keys);

	hash_map_deinit(&keys);
	if (!scope->has_scope || !scope->name.count)
		findings_add(checker->findings, RULE_PRESENT, "scope %s",
			     scope->has_scope ? "without a name" : "is missing");
	if (!scope->profiles.count)
		findings_add(checker->findings, RULE_EMPTY, "a scope has no profiles");
	for (size_t i = 0; i < scope->profiles.count && !err; i++) {
		const struct otlp_profile *profile =
			&checker->message->profiles.items[scope->profiles.first + i];

		err = check_profile(checker, profile);
		for (size_t j = 0; j < profile->samples.count; j++)
			check_one_owner(
				checker,
				&checker->message->samples.items[profile->samples.first + j],
				resource_keys, resource_number);
	}
	return err;
}

static int check_resource(struct checker *checker, size_t number, struct hash_map *resources)
{
	const struct otlp_resource *resource = &checker->message->resources.items[number];
	struct hash_map keys = { 0 };
	int err = check_key_values(checker, resource->attributes, &keys);

	if (!resource->has_resource)
		findings_add(checker->findings, RULE_PRESENT, "resource is missing");
	if (!has_service_name(checker->message, resource->attributes))
		findings_add(checker->findings, RULE_SERVICE_NAME, "resource %zu", number);
	if (!resource->scopes.count)
		findings_add(checker->findings, RULE_EMPTY, "a resource has no scopes");
	if (hash_map_find_bytes(resources, key_bytes(resource->bytes), resource->bytes.count, NULL))
		findings_add(checker->findings, RULE_RESOURCES_ONCE, "resource %zu", number);
	if (!err)
		err = hash_map_set_bytes(resources, key_bytes(resource->bytes),
					 resource->bytes.count, number);
	for (size_t i = 0; i < resource->scopes.count && !err; i++)
		err = check_scope(checker,
				  &checker->message->scopes.items[resource->scopes.first + i],
				  &keys, number);
	hash_map_deinit(&keys);
	return err;
}

int check_profiles(const struct otlp_message *message, uint64_t now_ns, struct findings *findings)
{
	struct checker checker = { .message = message, .findings = findings, .now_ns = now_ns };
	struct hash_map resources = { 0 };
	int err = 0;

	checker.last_resources = calloc(message->attributes.count + 1, sizeof(uint32_t));
	if (!checker.last_resources)
		return -ENOMEM;
	if (!message->resources.count)
		findings_add(findings, RULE_EMPTY, "the request has no resources");
	for (size_t i = 0; i < message->resources.count && !err; i++)
		err = check_resource(&checker, i, &resources);
	hash_map_deinit(&resources);
	hash_map_deinit(&checker.profile_ids);
	free(checker.last_resources);
	return err;
}

int check_message(const struct otlp_message *message, uint64_t now_ns, struct findings *findings)
{
	int err = check_dictionary(message, findings);

	if (err)
		return err;
	check_frames(message, findings);
	return check_profiles(message, now_ns, findings);
}
