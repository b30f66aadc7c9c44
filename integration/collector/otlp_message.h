/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A decoded ExportProfilesServiceRequest of OTLP 1.10. Only the wire format is checked: indices may
 * be out of range. Repeated messages of one kind are in one array for the whole request; their
 * owners have ranges of the array.
 */
#ifndef INTEGRATION_COLLECTOR_OTLP_MESSAGE_H
#define INTEGRATION_COLLECTOR_OTLP_MESSAGE_H

#include "integration/collector/wire_reader.h"
#include "lib/base/vector.h"

/** Items @first to @first + @count - 1 of an array. */
struct range {
	size_t first;
	size_t count;
};

enum value_kind {
	VALUE_NONE,
	VALUE_STRING,
	VALUE_BOOL,
	VALUE_INT,
	VALUE_DOUBLE,
	VALUE_ARRAY,
	VALUE_MAP,
	VALUE_BYTES,
	/** The receive-only field string_value_strindex. */
	VALUE_STRING_INDEX,
};

struct any_value {
	enum value_kind kind;
	/** The value of strings and bytes; for other kinds the encoded value. */
	struct span bytes;
	uint64_t number;
};

struct key_value {
	struct span key;
	struct any_value value;
	/** True if the receive-only field key_strindex is present. */
	bool has_key_index;
};

/** In the following structs, bytes is the encoded message. */
struct otlp_attribute_entry {
	struct span bytes;
	int32_t key;
	int32_t unit;
	struct any_value value;
};

struct otlp_mapping {
	struct span bytes;
	uint64_t memory_start;
	uint64_t memory_limit;
	uint64_t file_offset;
	int32_t filename;
	/** Range in numbers; the numbers are indices into attributes. */
	struct range attributes;
};

struct otlp_line {
	int32_t function;
	int64_t line;
	int64_t column;
};

struct otlp_location {
	struct span bytes;
	int32_t mapping;
	uint64_t address;
	struct range lines;
	struct range attributes;
};

struct otlp_function {
	struct span bytes;
	int32_t name;
	int32_t system_name;
	int32_t filename;
	int64_t start_line;
};

struct otlp_link {
	struct span bytes;
	struct span trace_id;
	struct span span_id;
};

struct otlp_stack {
	struct span bytes;
	/** Range in numbers: locations, leaf first. */
	struct range locations;
};

struct otlp_sample {
	int32_t stack;
	int32_t link;
	struct range attributes;
	/** Range in times. */
	struct range times;
	size_t value_count;
};

struct otlp_value_type {
	bool is_present;
	int32_t type;
	int32_t unit;
};

struct otlp_profile {
	struct otlp_value_type sample_type;
	struct otlp_value_type period_type;
	int64_t period;
	uint64_t time_unix_nano;
	uint64_t duration_nano;
	struct span profile_id;
	struct range samples;
	struct range attributes;
};

struct otlp_scope {
	bool has_scope;
	struct span name;
	/** Range in key_values. */
	struct range attributes;
	struct range profiles;
};

struct otlp_resource {
	bool has_resource;
	/** The encoded resource, without its schema. */
	struct span bytes;
	/** Range in key_values. */
	struct range attributes;
	struct range scopes;
};

VECTOR_DEFINE(index_vector, int32_t)
VECTOR_DEFINE(time_vector, uint64_t)
VECTOR_DEFINE(span_vector, struct span)
VECTOR_DEFINE(key_value_vector, struct key_value)
VECTOR_DEFINE(attribute_vector, struct otlp_attribute_entry)
VECTOR_DEFINE(mapping_vector, struct otlp_mapping)
VECTOR_DEFINE(line_vector, struct otlp_line)
VECTOR_DEFINE(location_vector, struct otlp_location)
VECTOR_DEFINE(function_vector, struct otlp_function)
VECTOR_DEFINE(link_vector, struct otlp_link)
VECTOR_DEFINE(stack_vector, struct otlp_stack)
VECTOR_DEFINE(sample_vector, struct otlp_sample)
VECTOR_DEFINE(profile_vector, struct otlp_profile)
VECTOR_DEFINE(scope_vector, struct otlp_scope)
VECTOR_DEFINE(resource_vector, struct otlp_resource)

/** Borrows the bytes that it was decoded from. Initialize with zeros. */
struct otlp_message {
	bool has_dictionary;
	struct span_vector strings;
	struct mapping_vector mappings;
	struct location_vector locations;
	struct function_vector functions;
	struct link_vector links;
	struct attribute_vector attributes;
	struct stack_vector stacks;
	struct resource_vector resources;
	struct scope_vector scopes;
	struct profile_vector profiles;
	struct sample_vector samples;
	struct line_vector lines;
	struct key_value_vector key_values;
	struct index_vector numbers;
	struct time_vector times;
};

/**
 * Decodes @bytes into a zeroed @message as far as possible; malformed parts are reported in
 * @findings. 0 or -ENOMEM. Needs at most some 100 times the memory of the bytes.
 */
int otlp_message_decode(struct otlp_message *message, struct span bytes, struct findings *findings);
void otlp_message_deinit(struct otlp_message *message);

/** Decodes a KeyValue, as in resources, scopes and data points; malformed parts are reported in @findings. */
struct key_value key_value_decode(struct span bytes, struct findings *findings);

/** Text @index of the string table; empty if there is none. */
struct span otlp_message_string(const struct otlp_message *message, int32_t index);

/** The attribute with @key among those in @range of numbers; NULL if there is none. */
const struct otlp_attribute_entry *otlp_message_attribute(const struct otlp_message *message,
							  struct range range, const char *key);

bool span_equal(struct span a, struct span b);
bool span_is(struct span text, const char *string);

/** Message types that requests of all kinds have. */
extern const struct wire_message otlp_resource_type;
extern const struct wire_message otlp_scope_type;

#endif
