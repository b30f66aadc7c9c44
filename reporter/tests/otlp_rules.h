/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Checks every rule that receivers have for a message, and has helpers to read messages. Include it
 * after cmocka.h.
 */
#ifndef REPORTER_TESTS_OTLP_RULES_H
#define REPORTER_TESTS_OTLP_RULES_H

#include <iconv.h>
#include <stdlib.h>
#include <string.h>

#include "build/proto/otlp_profiles.pb-c.h"
#include "lib/base/hash_map.h"
#include "lib/base/text_builder.h"
#include "reporter/otlp_profile.h"

#define PROFILES(name) Opentelemetry__Proto__Profiles__V1development__##name
#define COMMON(name) Opentelemetry__Proto__Common__V1__##name
#define Data PROFILES(ProfilesData)
#define Dictionary PROFILES(ProfilesDictionary)
#define Profile PROFILES(Profile)
#define ResourceProfiles PROFILES(ResourceProfiles)
#define Sample PROFILES(Sample)
#define Location PROFILES(Location)
#define Mapping PROFILES(Mapping)
#define AnyValue COMMON(AnyValue)
#define VALUE_CASE(name) OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_##name##_VALUE

enum { MAX_REQUESTS = 8192 };

/** The requests that otlp_build_requests() built. */
struct requests {
	struct otlp_request items[MAX_REQUESTS];
	Data *data[MAX_REQUESTS];
	size_t count;
};

static inline int take_request(void *context, struct otlp_request *request)
{
	struct requests *requests = context;

	assert_true(requests->count < MAX_REQUESTS);
	requests->data[requests->count] =
		opentelemetry__proto__profiles__v1development__profiles_data__unpack(
			NULL, request->byte_count, request->bytes);
	assert_non_null(requests->data[requests->count]);
	requests->items[requests->count++] = *request;
	return 0;
}

static inline void requests_free(struct requests *requests)
{
	for (size_t i = 0; i < requests->count; i++) {
		free(requests->items[i].bytes);
		opentelemetry__proto__profiles__v1development__profiles_data__free_unpacked(
			requests->data[i], NULL);
	}
	free(requests);
}

/* --- reading --- */

static inline const char *string_at(const Dictionary *tables, int32_t index)
{
	assert_in_range(index, 0, tables->n_string_table - 1);
	return tables->string_table[index];
}

/* The value of @key in a list of indices; NULL if it is not there. */
static inline const AnyValue *value_of(const Dictionary *tables, const int32_t *indices,
				       size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++) {
		assert_in_range(indices[i], 1, tables->n_attribute_table - 1);
		if (!strcmp(string_at(tables, tables->attribute_table[indices[i]]->key_strindex),
			    key))
			return tables->attribute_table[indices[i]]->value;
	}
	return NULL;
}

static inline const AnyValue *sample_value(const Dictionary *tables, const Sample *sample,
					   const char *key)
{
	return value_of(tables, sample->attribute_indices, sample->n_attribute_indices, key);
}

static inline const AnyValue *resource_value(const ResourceProfiles *resource, const char *key)
{
	for (size_t i = 0; i < resource->resource->n_attributes; i++) {
		if (!strcmp(resource->resource->attributes[i]->key, key))
			return resource->resource->attributes[i]->value;
	}
	return NULL;
}

static inline const char *value_text(const AnyValue *value)
{
	if (!value)
		return NULL;
	assert_int_equal(value->value_case, VALUE_CASE(STRING));
	return value->string_value;
}

static inline int64_t value_number(const AnyValue *value)
{
	assert_non_null(value);
	assert_int_equal(value->value_case, VALUE_CASE(INT));
	return value->int_value;
}

static inline const Location *location_at(const Dictionary *tables, const Sample *sample,
					  size_t index)
{
	assert_in_range(sample->stack_index, 0, tables->n_stack_table - 1);
	assert_true(index < tables->stack_table[sample->stack_index]->n_location_indices);
	return tables
		->location_table[tables->stack_table[sample->stack_index]->location_indices[index]];
}

static inline const char *frame_type_of(const Dictionary *tables, const Location *location)
{
	return value_text(value_of(tables, location->attribute_indices,
				   location->n_attribute_indices, "profile.frame.type"));
}

static inline const Profile *profile_of(const ResourceProfiles *resource)
{
	assert_int_equal(resource->n_scope_profiles, 1);
	assert_int_equal(resource->scope_profiles[0]->n_profiles, 1);
	return resource->scope_profiles[0]->profiles[0];
}

/* --- rules --- */

/* Uses glibc's decoder as the reference. */
static inline void check_utf8(const char *text)
{
	iconv_t decoder = iconv_open("UCS-4LE", "UTF-8");
	size_t in_bytes = strlen(text), out_bytes = in_bytes * 4 + 4;
	char *in = (char *)text, *buffer = malloc(out_bytes), *out = buffer;

	assert_true(decoder != (iconv_t)-1);
	assert_int_equal(iconv(decoder, &in, &in_bytes, &out, &out_bytes), 0);
	free(buffer);
	iconv_close(decoder);
}

/* Asserts that @key is not in @seen, and adds it. */
static inline void check_new(struct hash_map *seen, const void *key, size_t bytes)
{
	assert_false(hash_map_find_bytes(seen, key, bytes, NULL));
	assert_int_equal(hash_map_set_bytes(seen, key, bytes, 1), 0);
}

static inline void check_table(void *table, size_t count)
{
	ProtobufCMessage **messages = table;
	struct hash_map seen = { 0 };

	assert_true(count >= 1);
	for (size_t i = 0; i < count; i++) {
		size_t bytes = protobuf_c_message_get_packed_size(messages[i]);
		uint8_t *packed = malloc(bytes + 1);

		assert_int_equal(protobuf_c_message_pack(messages[i], packed), bytes);
		if (!i)
			assert_int_equal(bytes, 0);
		check_new(&seen, packed, bytes);
		free(packed);
	}
	hash_map_deinit(&seen);
}

static inline void check_strings(const Dictionary *tables)
{
	struct hash_map seen = { 0 };

	assert_true(tables->n_string_table >= 1);
	assert_string_equal(tables->string_table[0], "");
	for (size_t i = 0; i < tables->n_string_table; i++) {
		check_utf8(tables->string_table[i]);
		check_new(&seen, tables->string_table[i], strlen(tables->string_table[i]));
	}
	hash_map_deinit(&seen);
}

/* How often each entry is referenced. */
struct heat {
	uint32_t *strings, *attributes, *mappings, *functions, *locations, *stacks;
};

static inline void refer(uint32_t *counts, size_t table_count, int32_t index)
{
	assert_in_range(index, 0, table_count - 1);
	counts[index]++;
}

static inline void refer_attributes(const Dictionary *tables, struct heat *heat,
				    const int32_t *indices, size_t count)
{
	struct hash_map seen = { 0 };

	for (size_t i = 0; i < count; i++) {
		assert_in_range(indices[i], 1, tables->n_attribute_table - 1);
		heat->attributes[indices[i]]++;
		check_new(&seen, &tables->attribute_table[indices[i]]->key_strindex,
			  sizeof(int32_t));
	}
	hash_map_deinit(&seen);
}

static inline void refer_from_tables(const Dictionary *tables, struct heat *heat)
{
	for (size_t i = 1; i < tables->n_attribute_table; i++) {
		const AnyValue *value = tables->attribute_table[i]->value;

		assert_int_not_equal(tables->attribute_table[i]->key_strindex, 0);
		refer(heat->strings, tables->n_string_table,
		      tables->attribute_table[i]->key_strindex);
		assert_non_null(value);
		if (value->value_case == VALUE_CASE(STRING))
			check_utf8(value->string_value);
		else
			assert_true(value->value_case == VALUE_CASE(INT) ||
				    value->value_case == VALUE_CASE(BOOL) ||
				    value->value_case == VALUE_CASE(ARRAY));
	}
	for (size_t i = 1; i < tables->n_mapping_table; i++) {
		const Mapping *mapping = tables->mapping_table[i];

		refer(heat->strings, tables->n_string_table, mapping->filename_strindex);
		refer_attributes(tables, heat, mapping->attribute_indices,
				 mapping->n_attribute_indices);
	}
	for (size_t i = 1; i < tables->n_function_table; i++) {
		refer(heat->strings, tables->n_string_table,
		      tables->function_table[i]->name_strindex);
		refer(heat->strings, tables->n_string_table,
		      tables->function_table[i]->filename_strindex);
		assert_int_not_equal(tables->function_table[i]->name_strindex, 0);
	}
	for (size_t i = 1; i < tables->n_location_table; i++) {
		const Location *location = tables->location_table[i];

		refer(heat->mappings, tables->n_mapping_table, location->mapping_index);
		refer_attributes(tables, heat, location->attribute_indices,
				 location->n_attribute_indices);
		for (size_t j = 0; j < location->n_lines; j++)
			refer(heat->functions, tables->n_function_table,
			      location->lines[j]->function_index);
	}
	for (size_t i = 1; i < tables->n_stack_table; i++) {
		for (size_t j = 0; j < tables->stack_table[i]->n_location_indices; j++)
			refer(heat->locations, tables->n_location_table,
			      tables->stack_table[i]->location_indices[j]);
	}
}

static inline void check_locations(const Dictionary *tables)
{
	for (size_t i = 1; i < tables->n_location_table; i++) {
		const Location *location = tables->location_table[i];
		const char *type = frame_type_of(tables, location);
		const Mapping *mapping = tables->mapping_table[location->mapping_index];

		assert_non_null(type);
		if (!strcmp(type, "abort-marker") || !strcmp(type, "cpython")) {
			assert_int_equal(location->mapping_index, 0);
			assert_int_equal(location->n_lines, 1);
			continue;
		}
		if (!strcmp(type, "jvm")) {
			assert_int_equal(location->mapping_index, 0);
			assert_true(location->n_lines > 0);
			continue;
		}
		if (!strcmp(type, "go"))
			assert_true(location->n_lines > 0);
		else
			assert_true(!strcmp(type, "native") || !strcmp(type, "kernel"));
		assert_int_not_equal(location->mapping_index, 0);
		if (mapping->memory_limit)
			assert_in_range(location->address, mapping->memory_start,
					mapping->memory_limit - 1);
	}
}

static inline void check_sample(const Dictionary *tables, struct heat *heat, const Profile *profile,
				const Sample *sample)
{
	refer(heat->stacks, tables->n_stack_table, sample->stack_index);
	refer_attributes(tables, heat, sample->attribute_indices, sample->n_attribute_indices);
	assert_int_equal(sample->link_index, 0);
	assert_int_equal(sample->n_values, 0);
	assert_true(sample->n_timestamps_unix_nano > 0);
	for (size_t i = 0; i < sample->n_timestamps_unix_nano; i++) {
		uint64_t time = sample->timestamps_unix_nano[i];

		assert_in_range(time, profile->time_unix_nano,
				profile->time_unix_nano + profile->duration_nano);
		assert_int_equal(time % 1000000, 0);
		assert_true(!i || sample->timestamps_unix_nano[i - 1] <= time);
	}
}

static inline void check_profile(const Dictionary *tables, struct heat *heat,
				 const Profile *profile, uint32_t rate)
{
	struct hash_map seen = { 0 };
	int32_t identity[64];

	assert_string_equal(string_at(tables, profile->sample_type->type_strindex), "samples");
	assert_string_equal(string_at(tables, profile->sample_type->unit_strindex), "count");
	assert_string_equal(string_at(tables, profile->period_type->type_strindex), "cpu");
	assert_string_equal(string_at(tables, profile->period_type->unit_strindex), "nanoseconds");
	heat->strings[profile->sample_type->type_strindex]++;
	heat->strings[profile->sample_type->unit_strindex]++;
	heat->strings[profile->period_type->type_strindex]++;
	heat->strings[profile->period_type->unit_strindex]++;
	assert_in_range(profile->period, 1000000000 / rate, 1000000000 / rate + 1);
	assert_int_equal(profile->profile_id.len, 16);
	assert_true(profile->n_samples > 0);
	refer_attributes(tables, heat, profile->attribute_indices, profile->n_attribute_indices);
	for (size_t i = 0; i < profile->n_samples; i++) {
		const Sample *sample = profile->samples[i];
		size_t count = sample->n_attribute_indices;

		check_sample(tables, heat, profile, sample);
		assert_true(count < 64);
		identity[0] = sample->stack_index;
		memcpy(identity + 1, sample->attribute_indices, count * sizeof(*identity));
		check_new(&seen, identity, (count + 1) * sizeof(*identity));
	}
	hash_map_deinit(&seen);
}

static inline void check_resource(const ResourceProfiles *resource, struct hash_map *resources)
{
	struct hash_map seen = { 0 };
	size_t bytes;
	uint8_t *packed;

	assert_non_null(resource->resource);
	assert_non_null(resource_value(resource, "service.name"));
	for (size_t i = 0; i < resource->resource->n_attributes; i++) {
		const COMMON(KeyValue) *attribute = resource->resource->attributes[i];

		assert_true(*attribute->key);
		check_utf8(attribute->key);
		check_new(&seen, attribute->key, strlen(attribute->key));
		if (attribute->value->value_case == VALUE_CASE(STRING))
			check_utf8(attribute->value->string_value);
	}
	assert_non_null(resource->scope_profiles[0]->scope);
	assert_string_equal(resource->scope_profiles[0]->scope->name, "allframes-agent");
	hash_map_deinit(&seen);
	/* Each resource occurs once. */
	bytes = protobuf_c_message_get_packed_size(&resource->resource->base);
	packed = malloc(bytes + 1);
	protobuf_c_message_pack(&resource->resource->base, packed);
	check_new(resources, packed, bytes);
	free(packed);
}

static inline void check_heat(const uint32_t *counts, size_t table_count)
{
	for (size_t i = 1; i < table_count; i++) {
		/* Every entry is referenced, and the most used ones are first. */
		assert_int_not_equal(counts[i], 0);
		assert_true(i == 1 || counts[i] <= counts[i - 1]);
	}
}

static inline uint32_t *new_counts(size_t count)
{
	return calloc(count + 1, sizeof(uint32_t));
}

static inline void check_message(const Data *data, uint32_t rate, struct hash_map *profile_ids)
{
	const Dictionary *tables = data->dictionary;
	struct hash_map resources = { 0 };
	struct heat heat;

	assert_non_null(tables);
	heat = (struct heat){
		.strings = new_counts(tables->n_string_table),
		.attributes = new_counts(tables->n_attribute_table),
		.mappings = new_counts(tables->n_mapping_table),
		.functions = new_counts(tables->n_function_table),
		.locations = new_counts(tables->n_location_table),
		.stacks = new_counts(tables->n_stack_table),
	};
	check_strings(tables);
	check_table(tables->attribute_table, tables->n_attribute_table);
	check_table(tables->mapping_table, tables->n_mapping_table);
	check_table(tables->function_table, tables->n_function_table);
	check_table(tables->location_table, tables->n_location_table);
	check_table(tables->stack_table, tables->n_stack_table);
	check_table(tables->link_table, tables->n_link_table);
	assert_int_equal(tables->n_link_table, 1);
	check_locations(tables);
	refer_from_tables(tables, &heat);
	assert_true(data->n_resource_profiles > 0);
	for (size_t i = 0; i < data->n_resource_profiles; i++) {
		const Profile *profile = profile_of(data->resource_profiles[i]);

		check_resource(data->resource_profiles[i], &resources);
		check_profile(tables, &heat, profile, rate);
		check_new(profile_ids, profile->profile_id.data, profile->profile_id.len);
	}
	check_heat(heat.strings, tables->n_string_table);
	check_heat(heat.attributes, tables->n_attribute_table);
	check_heat(heat.mappings, tables->n_mapping_table);
	check_heat(heat.functions, tables->n_function_table);
	check_heat(heat.locations, tables->n_location_table);
	check_heat(heat.stacks, tables->n_stack_table);
	free(heat.strings);
	free(heat.attributes);
	free(heat.mappings);
	free(heat.functions);
	free(heat.locations);
	free(heat.stacks);
	hash_map_deinit(&resources);
}

static inline uint64_t count_times(const Data *data)
{
	uint64_t count = 0;

	for (size_t i = 0; i < data->n_resource_profiles; i++) {
		const Profile *profile = profile_of(data->resource_profiles[i]);

		for (size_t j = 0; j < profile->n_samples; j++)
			count += profile->samples[j]->n_timestamps_unix_nano;
	}
	return count;
}

/** All requests for @snapshot, checked; the caller frees them (requests_free()). */
static inline struct requests *build_checked(const struct sample_snapshot *snapshot,
					     const struct otlp_window *window,
					     const struct otlp_options *options)
{
	struct requests *requests = calloc(1, sizeof(*requests));
	struct hash_map profile_ids = { 0 };
	uint64_t wanted = 0, sum = 0;

	assert_int_equal(otlp_build_requests(snapshot, window, options, take_request, requests), 0);
	for (size_t i = 0; i < snapshot->count; i++)
		wanted += snapshot->samples[i].count;
	for (size_t i = 0; i < requests->count; i++) {
		check_message(requests->data[i], options->samples_per_second, &profile_ids);
		assert_int_equal(count_times(requests->data[i]), requests->items[i].sample_count);
		assert_true(requests->items[i].byte_count <= options->max_request_bytes);
		sum += requests->items[i].sample_count;
	}
	assert_int_equal(sum, wanted);
	hash_map_deinit(&profile_ids);
	return requests;
}

#endif
