/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes with one function per message type. The field numbers are those of OTLP 1.10
 * (opentelemetry-proto, profiles v1development); the structs are in the order of the message tree.
 */

#include "integration/collector/otlp_message.h"

#include <string.h>

enum { ANY_VALUE_MAX_DEPTH = 8 };

struct decoder {
	struct otlp_message *message;
	struct findings *findings;
	int err;
};

static WIRE_TYPE(request_type, "ExportProfilesServiceRequest",
		 { 1, WIRE_MESSAGE, WIRE_REPEATED, "resource_profiles" },
		 { 2, WIRE_MESSAGE, 0, "dictionary" });
static WIRE_TYPE(resource_profiles_type, "ResourceProfiles", { 1, WIRE_MESSAGE, 0, "resource" },
		 { 2, WIRE_MESSAGE, WIRE_REPEATED, "scope_profiles" },
		 { 3, WIRE_STRING, 0, "schema_url" });
static WIRE_TYPE(scope_profiles_type, "ScopeProfiles", { 1, WIRE_MESSAGE, 0, "scope" },
		 { 2, WIRE_MESSAGE, WIRE_REPEATED, "profiles" },
		 { 3, WIRE_STRING, 0, "schema_url" });
WIRE_TYPE(otlp_resource_type, "Resource", { 1, WIRE_MESSAGE, WIRE_REPEATED, "attributes" },
	  { 2, WIRE_UINT32, 0, "dropped_attributes_count" });
WIRE_TYPE(otlp_scope_type, "InstrumentationScope", { 1, WIRE_STRING, 0, "name" },
	  { 2, WIRE_STRING, 0, "version" }, { 3, WIRE_MESSAGE, WIRE_REPEATED, "attributes" },
	  { 4, WIRE_UINT32, 0, "dropped_attributes_count" });
static WIRE_TYPE(profile_type, "Profile", { 1, WIRE_MESSAGE, 0, "sample_type" },
		 { 2, WIRE_MESSAGE, WIRE_REPEATED, "samples" },
		 { 3, WIRE_FIXED64, 0, "time_unix_nano" }, { 4, WIRE_UINT64, 0, "duration_nano" },
		 { 5, WIRE_MESSAGE, 0, "period_type" }, { 6, WIRE_INT64, 0, "period" },
		 { 7, WIRE_BYTES, 0, "profile_id" },
		 { 8, WIRE_UINT32, 0, "dropped_attributes_count" },
		 { 9, WIRE_STRING, 0, "original_payload_format" },
		 { 10, WIRE_BYTES, 0, "original_payload" },
		 { 11, WIRE_INT32_LIST, 0, "attribute_indices" });
static WIRE_TYPE(sample_type, "Sample", { 1, WIRE_INT32, 0, "stack_index" },
		 { 2, WIRE_INT32_LIST, 0, "attribute_indices" }, { 3, WIRE_INT32, 0, "link_index" },
		 { 4, WIRE_INT64_LIST, 0, "values" },
		 { 5, WIRE_FIXED64_LIST, 0, "timestamps_unix_nano" });
static WIRE_TYPE(value_type_type, "ValueType", { 1, WIRE_INT32, 0, "type_strindex" },
		 { 2, WIRE_INT32, 0, "unit_strindex" });
static WIRE_TYPE(dictionary_type, "ProfilesDictionary",
		 { 1, WIRE_MESSAGE, WIRE_REPEATED, "mapping_table" },
		 { 2, WIRE_MESSAGE, WIRE_REPEATED, "location_table" },
		 { 3, WIRE_MESSAGE, WIRE_REPEATED, "function_table" },
		 { 4, WIRE_MESSAGE, WIRE_REPEATED, "link_table" },
		 { 5, WIRE_STRING, WIRE_REPEATED, "string_table" },
		 { 6, WIRE_MESSAGE, WIRE_REPEATED, "attribute_table" },
		 { 7, WIRE_MESSAGE, WIRE_REPEATED, "stack_table" });
static WIRE_TYPE(mapping_type, "Mapping", { 1, WIRE_UINT64, 0, "memory_start" },
		 { 2, WIRE_UINT64, 0, "memory_limit" }, { 3, WIRE_UINT64, 0, "file_offset" },
		 { 4, WIRE_INT32, 0, "filename_strindex" },
		 { 5, WIRE_INT32_LIST, 0, "attribute_indices" });
static WIRE_TYPE(location_type, "Location", { 1, WIRE_INT32, 0, "mapping_index" },
		 { 2, WIRE_UINT64, 0, "address" }, { 3, WIRE_MESSAGE, WIRE_REPEATED, "lines" },
		 { 4, WIRE_INT32_LIST, 0, "attribute_indices" });
static WIRE_TYPE(line_type, "Line", { 1, WIRE_INT32, 0, "function_index" },
		 { 2, WIRE_INT64, 0, "line" }, { 3, WIRE_INT64, 0, "column" });
static WIRE_TYPE(function_type, "Function", { 1, WIRE_INT32, 0, "name_strindex" },
		 { 2, WIRE_INT32, 0, "system_name_strindex" },
		 { 3, WIRE_INT32, 0, "filename_strindex" }, { 4, WIRE_INT64, 0, "start_line" });
static WIRE_TYPE(link_type, "Link", { 1, WIRE_BYTES, 0, "trace_id" },
		 { 2, WIRE_BYTES, 0, "span_id" });
static WIRE_TYPE(stack_type, "Stack", { 1, WIRE_INT32_LIST, 0, "location_indices" });
static WIRE_TYPE(attribute_type, "KeyValueAndUnit", { 1, WIRE_INT32, 0, "key_strindex" },
		 { 2, WIRE_MESSAGE, 0, "value" }, { 3, WIRE_INT32, 0, "unit_strindex" });
static WIRE_TYPE(key_value_type, "KeyValue", { 1, WIRE_STRING, 0, "key" },
		 { 2, WIRE_MESSAGE, 0, "value" }, { 3, WIRE_INT32, 0, "key_strindex" });
static WIRE_TYPE(any_value_type, "AnyValue", { 1, WIRE_STRING, WIRE_PRESENCE, "string_value" },
		 { 2, WIRE_BOOL, WIRE_PRESENCE, "bool_value" },
		 { 3, WIRE_INT64, WIRE_PRESENCE, "int_value" },
		 { 4, WIRE_DOUBLE, WIRE_PRESENCE, "double_value" },
		 { 5, WIRE_MESSAGE, WIRE_PRESENCE, "array_value" },
		 { 6, WIRE_MESSAGE, WIRE_PRESENCE, "kvlist_value" },
		 { 7, WIRE_BYTES, WIRE_PRESENCE, "bytes_value" },
		 { 8, WIRE_INT32, WIRE_PRESENCE, "string_value_strindex" });
static WIRE_TYPE(array_type, "ArrayValue", { 1, WIRE_MESSAGE, WIRE_REPEATED, "values" });
static WIRE_TYPE(map_type, "KeyValueList", { 1, WIRE_MESSAGE, WIRE_REPEATED, "values" });

/* The first failure ends the decoding of the message in all the loops below. */
#define next_field(decoder, reader, value) (!(decoder)->err && wire_reader_next((reader), (value)))

#define push(decoder, vector, type, item)                                                          \
	do {                                                                                       \
		if (type##_push((vector), (item)))                                                 \
			(decoder)->err = -ENOMEM;                                                  \
	} while (0)

static struct wire_reader read_message(struct decoder *decoder, const struct wire_message *type,
				       struct span bytes)
{
	struct wire_reader reader;

	wire_reader_init(&reader, type, bytes, decoder->findings);
	return reader;
}

static struct range decode_indices(struct decoder *decoder, struct wire_value value,
				   const char *name)
{
	struct index_vector *numbers = &decoder->message->numbers;
	struct range range = { numbers->count, 0 };
	uint64_t number;

	while (!decoder->err && wire_numbers_next(&value, name, decoder->findings, &number))
		push(decoder, numbers, index_vector, (int32_t)number);
	range.count = numbers->count - range.first;
	return range;
}

static struct key_value decode_key_value(struct decoder *decoder, struct span bytes,
					 unsigned int depth);

/* Only the wire format of arrays and maps is checked. */
static struct any_value decode_any_value(struct decoder *decoder, struct span bytes,
					 unsigned int depth)
{
	static const enum value_kind kinds[] = { VALUE_NONE, VALUE_STRING, VALUE_BOOL,
						 VALUE_INT,  VALUE_DOUBLE, VALUE_ARRAY,
						 VALUE_MAP,  VALUE_BYTES,  VALUE_STRING_INDEX };
	struct wire_reader reader = read_message(decoder, &any_value_type, bytes);
	struct any_value any = { .bytes = bytes };
	struct wire_value value;

	while (next_field(decoder, &reader, &value)) {
		if (any.kind)
			findings_add(decoder->findings, RULE_ONCE,
				     "AnyValue has two values of its oneof");
		any.kind = kinds[value.number];
		any.number = value.number_value;
		if (any.kind == VALUE_STRING || any.kind == VALUE_BYTES)
			any.bytes = value.span;
		if (any.kind != VALUE_ARRAY && any.kind != VALUE_MAP)
			continue;
		if (depth == ANY_VALUE_MAX_DEPTH) {
			findings_add(decoder->findings, RULE_WIRE, "AnyValue: %u levels deep",
				     depth);
			continue;
		}
		struct wire_reader inner = read_message(
			decoder, any.kind == VALUE_ARRAY ? &array_type : &map_type, value.span);
		struct wire_value item;

		while (next_field(decoder, &inner, &item)) {
			if (any.kind == VALUE_ARRAY)
				decode_any_value(decoder, item.span, depth + 1);
			else
				decode_key_value(decoder, item.span, depth + 1);
		}
	}
	return any;
}

static struct key_value decode_key_value(struct decoder *decoder, struct span bytes,
					 unsigned int depth)
{
	struct wire_reader reader = read_message(decoder, &key_value_type, bytes);
	struct key_value key_value = { 0 };
	struct wire_value value;

	while (next_field(decoder, &reader, &value)) {
		if (value.number == 1)
			key_value.key = value.span;
		else if (value.number == 2)
			key_value.value = decode_any_value(decoder, value.span, depth);
		else
			key_value.has_key_index = true;
	}
	return key_value;
}

struct key_value key_value_decode(struct span bytes, struct findings *findings)
{
	struct decoder decoder = { .findings = findings };

	return decode_key_value(&decoder, bytes, 0);
}

/* Decodes the attributes, field @wanted, of a resource or a scope. */
static void decode_attributes(struct decoder *decoder, struct wire_reader *reader,
			      unsigned int wanted, struct span *name, struct range *attributes)
{
	struct key_value_vector *all = &decoder->message->key_values;
	struct wire_value value;

	attributes->first = all->count;
	while (next_field(decoder, reader, &value)) {
		if (value.number == wanted)
			push(decoder, all, key_value_vector,
			     decode_key_value(decoder, value.span, 0));
		else if (value.number == 1)
			*name = value.span;
	}
	attributes->count = all->count - attributes->first;
}

static struct otlp_value_type decode_value_type(struct decoder *decoder, struct span bytes)
{
	struct wire_reader reader = read_message(decoder, &value_type_type, bytes);
	struct otlp_value_type type = { .is_present = true };
	struct wire_value value;

	while (next_field(decoder, &reader, &value)) {
		if (value.number == 1)
			type.type = (int32_t)value.number_value;
		else
			type.unit = (int32_t)value.number_value;
	}
	return type;
}

static void decode_sample(struct decoder *decoder, struct span bytes)
{
	struct wire_reader reader = read_message(decoder, &sample_type, bytes);
	struct time_vector *times = &decoder->message->times;
	struct otlp_sample sample = { 0 };
	struct wire_value value;
	uint64_t number;

	while (next_field(decoder, &reader, &value)) {
		switch (value.number) {
		case 1:
			sample.stack = (int32_t)value.number_value;
			break;
		case 2:
			sample.attributes =
				decode_indices(decoder, value, "Sample.attribute_indices");
			break;
		case 3:
			sample.link = (int32_t)value.number_value;
			break;
		case 4:
			while (wire_numbers_next(&value, "Sample.values", decoder->findings,
						 &number))
				sample.value_count++;
			break;
		default:
			sample.times.first = times->count;
			while (!decoder->err &&
			       wire_numbers_next(&value, "Sample.timestamps_unix_nano",
						 decoder->findings, &number))
				push(decoder, times, time_vector, number);
			sample.times.count = times->count - sample.times.first;
		}
	}
	push(decoder, &decoder->message->samples, sample_vector, sample);
}

static void decode_profile(struct decoder *decoder, struct span bytes)
{
	struct wire_reader reader = read_message(decoder, &profile_type, bytes);
	struct sample_vector *samples = &decoder->message->samples;
	struct otlp_profile profile = { .samples.first = samples->count };
	struct wire_value value;

	while (next_field(decoder, &reader, &value)) {
		switch (value.number) {
		case 1:
			profile.sample_type = decode_value_type(decoder, value.span);
			break;
		case 2:
			decode_sample(decoder, value.span);
			break;
		case 3:
			profile.time_unix_nano = value.number_value;
			break;
		case 4:
			profile.duration_nano = value.number_value;
			break;
		case 5:
			profile.period_type = decode_value_type(decoder, value.span);
			break;
		case 6:
			profile.period = (int64_t)value.number_value;
			break;
		case 7:
			profile.profile_id = value.span;
			break;
		case 11:
			profile.attributes =
				decode_indices(decoder, value, "Profile.attribute_indices");
			break;
		}
	}
	profile.samples.count = samples->count - profile.samples.first;
	push(decoder, &decoder->message->profiles, profile_vector, profile);
}

static void decode_scope_profiles(struct decoder *decoder, struct span bytes)
{
	struct wire_reader reader = read_message(decoder, &scope_profiles_type, bytes);
	struct profile_vector *profiles = &decoder->message->profiles;
	struct otlp_scope scope = { .profiles.first = profiles->count };
	struct wire_value value;

	while (next_field(decoder, &reader, &value)) {
		if (value.number == 1) {
			struct wire_reader inner =
				read_message(decoder, &otlp_scope_type, value.span);

			scope.has_scope = true;
			decode_attributes(decoder, &inner, 3, &scope.name, &scope.attributes);
		} else if (value.number == 2) {
			decode_profile(decoder, value.span);
		}
	}
	scope.profiles.count = profiles->count - scope.profiles.first;
	push(decoder, &decoder->message->scopes, scope_vector, scope);
}

static void decode_resource_profiles(struct decoder *decoder, struct span bytes)
{
	struct wire_reader reader = read_message(decoder, &resource_profiles_type, bytes);
	struct scope_vector *scopes = &decoder->message->scopes;
	struct otlp_resource resource = { .scopes.first = scopes->count };
	struct wire_value value;
	struct span no_name;

	while (next_field(decoder, &reader, &value)) {
		if (value.number == 1) {
			struct wire_reader inner =
				read_message(decoder, &otlp_resource_type, value.span);

			resource.has_resource = true;
			resource.bytes = value.span;
			decode_attributes(decoder, &inner, 1, &no_name, &resource.attributes);
		} else if (value.number == 2) {
			decode_scope_profiles(decoder, value.span);
		}
	}
	resource.scopes.count = scopes->count - resource.scopes.first;
	push(decoder, &decoder->message->resources, resource_vector, resource);
}

static void decode_mapping(struct decoder *decoder, struct span bytes)
{
	struct wire_reader reader = read_message(decoder, &mapping_type, bytes);
	struct otlp_mapping mapping = { .bytes = bytes };
	struct wire_value value;

	while (next_field(decoder, &reader, &value)) {
		if (value.number == 1)
			mapping.memory_start = value.number_value;
		else if (value.number == 2)
			mapping.memory_limit = value.number_value;
		else if (value.number == 3)
			mapping.file_offset = value.number_value;
		else if (value.number == 4)
			mapping.filename = (int32_t)value.number_value;
		else
			mapping.attributes =
				decode_indices(decoder, value, "Mapping.attribute_indices");
	}
	push(decoder, &decoder->message->mappings, mapping_vector, mapping);
}

static void decode_line(struct decoder *decoder, struct span bytes)
{
	struct wire_reader reader = read_message(decoder, &line_type, bytes);
	struct otlp_line line = { 0 };
	struct wire_value value;

	while (next_field(decoder, &reader, &value)) {
		if (value.number == 1)
			line.function = (int32_t)value.number_value;
		else if (value.number == 2)
			line.line = (int64_t)value.number_value;
		else
			line.column = (int64_t)value.number_value;
	}
	push(decoder, &decoder->message->lines, line_vector, line);
}

static void decode_location(struct decoder *decoder, struct span bytes)
{
	struct wire_reader reader = read_message(decoder, &location_type, bytes);
	struct line_vector *lines = &decoder->message->lines;
	struct otlp_location location = { .bytes = bytes, .lines.first = lines->count };
	struct wire_value value;

	while (next_field(decoder, &reader, &value)) {
		if (value.number == 1)
			location.mapping = (int32_t)value.number_value;
		else if (value.number == 2)
			location.address = value.number_value;
		else if (value.number == 3)
			decode_line(decoder, value.span);
		else
			location.attributes =
				decode_indices(decoder, value, "Location.attribute_indices");
	}
	location.lines.count = lines->count - location.lines.first;
	push(decoder, &decoder->message->locations, location_vector, location);
}

static void decode_function(struct decoder *decoder, struct span bytes)
{
	struct wire_reader reader = read_message(decoder, &function_type, bytes);
	struct otlp_function function = { .bytes = bytes };
	struct wire_value value;

	while (next_field(decoder, &reader, &value)) {
		if (value.number == 1)
			function.name = (int32_t)value.number_value;
		else if (value.number == 2)
			function.system_name = (int32_t)value.number_value;
		else if (value.number == 3)
			function.filename = (int32_t)value.number_value;
		else
			function.start_line = (int64_t)value.number_value;
	}
	push(decoder, &decoder->message->functions, function_vector, function);
}

static void decode_link(struct decoder *decoder, struct span bytes)
{
	struct wire_reader reader = read_message(decoder, &link_type, bytes);
	struct otlp_link link = { .bytes = bytes };
	struct wire_value value;

	while (next_field(decoder, &reader, &value)) {
		if (value.number == 1)
			link.trace_id = value.span;
		else
			link.span_id = value.span;
	}
	push(decoder, &decoder->message->links, link_vector, link);
}

static void decode_attribute(struct decoder *decoder, struct span bytes)
{
	struct wire_reader reader = read_message(decoder, &attribute_type, bytes);
	struct otlp_attribute_entry attribute = { .bytes = bytes };
	struct wire_value value;

	while (next_field(decoder, &reader, &value)) {
		if (value.number == 1)
			attribute.key = (int32_t)value.number_value;
		else if (value.number == 2)
			attribute.value = decode_any_value(decoder, value.span, 0);
		else
			attribute.unit = (int32_t)value.number_value;
	}
	push(decoder, &decoder->message->attributes, attribute_vector, attribute);
}

static void decode_stack(struct decoder *decoder, struct span bytes)
{
	struct wire_reader reader = read_message(decoder, &stack_type, bytes);
	struct otlp_stack stack = { .bytes = bytes };
	struct wire_value value;

	while (next_field(decoder, &reader, &value))
		stack.locations = decode_indices(decoder, value, "Stack.location_indices");
	push(decoder, &decoder->message->stacks, stack_vector, stack);
}

static void decode_dictionary(struct decoder *decoder, struct span bytes)
{
	static void (*const decode[])(struct decoder *, struct span) = {
		[1] = decode_mapping, [2] = decode_location,  [3] = decode_function,
		[4] = decode_link,    [6] = decode_attribute, [7] = decode_stack,
	};
	struct wire_reader reader = read_message(decoder, &dictionary_type, bytes);
	struct wire_value value;

	decoder->message->has_dictionary = true;
	while (next_field(decoder, &reader, &value)) {
		if (value.number == 5)
			push(decoder, &decoder->message->strings, span_vector, value.span);
		else
			decode[value.number](decoder, value.span);
	}
}

int otlp_message_decode(struct otlp_message *message, struct span bytes, struct findings *findings)
{
	struct decoder decoder = { .message = message, .findings = findings };
	struct wire_reader reader = read_message(&decoder, &request_type, bytes);
	struct wire_value value;

	while (next_field(&decoder, &reader, &value)) {
		if (value.number == 1)
			decode_resource_profiles(&decoder, value.span);
		else
			decode_dictionary(&decoder, value.span);
	}
	return decoder.err;
}

void otlp_message_deinit(struct otlp_message *message)
{
	span_vector_deinit(&message->strings);
	mapping_vector_deinit(&message->mappings);
	location_vector_deinit(&message->locations);
	function_vector_deinit(&message->functions);
	link_vector_deinit(&message->links);
	attribute_vector_deinit(&message->attributes);
	stack_vector_deinit(&message->stacks);
	resource_vector_deinit(&message->resources);
	scope_vector_deinit(&message->scopes);
	profile_vector_deinit(&message->profiles);
	sample_vector_deinit(&message->samples);
	line_vector_deinit(&message->lines);
	key_value_vector_deinit(&message->key_values);
	index_vector_deinit(&message->numbers);
	time_vector_deinit(&message->times);
}

struct span otlp_message_string(const struct otlp_message *message, int32_t index)
{
	if (index < 0 || (size_t)index >= message->strings.count)
		return (struct span){ NULL, 0 };
	return message->strings.items[index];
}

const struct otlp_attribute_entry *otlp_message_attribute(const struct otlp_message *message,
							  struct range range, const char *key)
{
	for (size_t i = 0; i < range.count; i++) {
		int32_t index = message->numbers.items[range.first + i];
		const struct otlp_attribute_entry *attribute;

		if (index <= 0 || (size_t)index >= message->attributes.count)
			continue;
		attribute = &message->attributes.items[index];
		if (span_is(otlp_message_string(message, attribute->key), key))
			return attribute;
	}
	return NULL;
}

bool span_equal(struct span a, struct span b)
{
	return a.count == b.count && (!a.count || !memcmp(a.bytes, b.bytes, a.count));
}

bool span_is(struct span text, const char *string)
{
	return span_equal(text, (struct span){ (const uint8_t *)string, strlen(string) });
}
