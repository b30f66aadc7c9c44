/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Requests for tests: a description that tests can change, and its encoding. good_request() breaks
 * no rule.
 */
#ifndef INTEGRATION_COLLECTOR_TESTS_MESSAGE_BUILDER_H
#define INTEGRATION_COLLECTOR_TESTS_MESSAGE_BUILDER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "integration/collector/wire_reader.h"

#define TEST_NOW_NS 1700000010000000000ULL
#define TEST_START_NS 1700000000000000000ULL
#define TEST_DURATION_NS 5000000000ULL

enum { MESSAGE_MAX_BYTES = 1 << 16 };

/** A growing buffer; nested messages are appended to their outer message when they are complete. */
struct message_bytes {
	uint8_t bytes[MESSAGE_MAX_BYTES];
	size_t count;
};

static inline void put_byte(struct message_bytes *message, uint8_t byte)
{
	if (message->count < MESSAGE_MAX_BYTES)
		message->bytes[message->count++] = byte;
}

static inline void put_varint(struct message_bytes *message, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put_byte(message, value | 0x80);
	put_byte(message, value);
}

static inline void put_fixed64(struct message_bytes *message, uint64_t value)
{
	for (int i = 0; i < 8; i++)
		put_byte(message, value >> (8 * i));
}

static inline void put_tag(struct message_bytes *message, unsigned int field, unsigned int type)
{
	put_varint(message, field << 3 | type);
}

/** Appends a number, but not 0. */
static inline void put_number(struct message_bytes *message, unsigned int field, uint64_t value)
{
	if (!value)
		return;
	put_tag(message, field, 0);
	put_varint(message, value);
}

static inline void put_span(struct message_bytes *message, unsigned int field, const void *bytes,
			    size_t count)
{
	put_tag(message, field, 2);
	put_varint(message, count);
	for (size_t i = 0; i < count; i++)
		put_byte(message, ((const uint8_t *)bytes)[i]);
}

static inline void put_text(struct message_bytes *message, unsigned int field, const char *text)
{
	put_span(message, field, text, strlen(text));
}

/** Appends @inner to @message as a field, and empties @inner. */
static inline void put_message(struct message_bytes *message, unsigned int field,
			       struct message_bytes *inner)
{
	put_span(message, field, inner->bytes, inner->count);
	inner->count = 0;
}

static inline struct span span_of_message(const struct message_bytes *message)
{
	return (struct span){ message->bytes, message->count };
}

enum { SPEC_MAX = 16 };

struct spec_numbers {
	size_t count;
	int64_t items[SPEC_MAX];
};

#define NUMBERS(...)                                                                               \
	{                                                                                          \
		sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t),                              \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}

struct spec_attribute {
	int key;
	/** NULL: no value. */
	const char *text;
	/** The value is an index instead of the text. */
	bool is_index;
	/** The value is true instead of the text. */
	bool is_true;
};

struct spec_mapping {
	uint64_t start, limit, offset;
	int filename;
	struct spec_numbers attributes;
};

struct spec_location {
	int mapping;
	uint64_t address;
	/** The function of each line. */
	struct spec_numbers functions;
	struct spec_numbers attributes;
};

struct spec_sample {
	int stack;
	struct spec_numbers attributes;
	int link;
	struct spec_numbers values;
	/** Relative to TEST_START_NS. */
	struct spec_numbers times;
};

struct spec_key_value {
	const char *key;
	const char *text;
	bool has_key_index;
};

struct spec_profile {
	int sample_type[2];
	/** -1: the field is missing. */
	int period_type[2];
	int64_t period;
	uint64_t start, duration;
	const char *id;
	size_t id_bytes;
	size_t sample_count;
	struct spec_sample samples[SPEC_MAX];
	struct spec_numbers attributes;
};

struct spec_resource {
	bool has_resource, has_scope;
	const char *scope_name;
	size_t attribute_count;
	struct spec_key_value attributes[SPEC_MAX];
	size_t scope_count;
	size_t profile_count;
	struct spec_profile profiles[2];
};

/** Includes element 0 of each table. */
struct spec {
	bool has_dictionary;
	size_t string_count, attribute_count, mapping_count, location_count, function_count,
		stack_count, link_count, resource_count;
	const char *strings[32];
	struct spec_attribute attributes[SPEC_MAX];
	struct spec_mapping mappings[SPEC_MAX];
	struct spec_location locations[SPEC_MAX];
	int functions[SPEC_MAX];
	struct spec_numbers stacks[SPEC_MAX];
	/** Number of bytes of the trace id and of the span id. */
	size_t links[SPEC_MAX][2];
	struct spec_resource resources[2];
};

static inline void put_numbers(struct message_bytes *message, unsigned int field,
			       const struct spec_numbers *numbers)
{
	static struct message_bytes list;

	if (!numbers->count)
		return;
	for (size_t i = 0; i < numbers->count; i++)
		put_varint(&list, numbers->items[i]);
	put_message(message, field, &list);
}

static inline void put_any_value(struct message_bytes *message, unsigned int field,
				 const char *text)
{
	static struct message_bytes value;

	if (!text)
		return;
	put_text(&value, 1, text);
	put_message(message, field, &value);
}

static inline void put_dictionary(struct message_bytes *dictionary, const struct spec *spec)
{
	static struct message_bytes one, line;

	for (size_t i = 0; i < spec->mapping_count; i++) {
		put_number(&one, 1, spec->mappings[i].start);
		put_number(&one, 2, spec->mappings[i].limit);
		put_number(&one, 3, spec->mappings[i].offset);
		put_number(&one, 4, spec->mappings[i].filename);
		put_numbers(&one, 5, &spec->mappings[i].attributes);
		put_message(dictionary, 1, &one);
	}
	for (size_t i = 0; i < spec->location_count; i++) {
		put_number(&one, 1, spec->locations[i].mapping);
		put_number(&one, 2, spec->locations[i].address);
		for (size_t j = 0; j < spec->locations[i].functions.count; j++) {
			put_number(&line, 1, spec->locations[i].functions.items[j]);
			put_message(&one, 3, &line);
		}
		put_numbers(&one, 4, &spec->locations[i].attributes);
		put_message(dictionary, 2, &one);
	}
	for (size_t i = 0; i < spec->function_count; i++) {
		put_number(&one, 1, spec->functions[i]);
		put_message(dictionary, 3, &one);
	}
	for (size_t i = 0; i < spec->link_count; i++) {
		if (spec->links[i][0])
			put_span(&one, 1, "0123456789abcdef0", spec->links[i][0]);
		if (spec->links[i][1])
			put_span(&one, 2, "0123456789abcdef0", spec->links[i][1]);
		put_message(dictionary, 4, &one);
	}
	for (size_t i = 0; i < spec->string_count; i++)
		put_text(dictionary, 5, spec->strings[i]);
	for (size_t i = 0; i < spec->attribute_count; i++) {
		put_number(&one, 1, spec->attributes[i].key);
		if (spec->attributes[i].is_index || spec->attributes[i].is_true) {
			put_number(&line, spec->attributes[i].is_true ? 2 : 8, 1);
			put_message(&one, 2, &line);
		} else {
			put_any_value(&one, 2, spec->attributes[i].text);
		}
		put_message(dictionary, 6, &one);
	}
	for (size_t i = 0; i < spec->stack_count; i++) {
		put_numbers(&one, 1, &spec->stacks[i]);
		put_message(dictionary, 7, &one);
	}
}

static inline void put_value_type(struct message_bytes *message, unsigned int field,
				  const int *indices)
{
	static struct message_bytes type;

	if (indices[0] < 0)
		return;
	put_number(&type, 1, indices[0]);
	put_number(&type, 2, indices[1]);
	put_message(message, field, &type);
}

static inline void put_sample(struct message_bytes *message, const struct spec_sample *sample)
{
	static struct message_bytes list;

	put_number(message, 1, sample->stack);
	put_numbers(message, 2, &sample->attributes);
	put_number(message, 3, sample->link);
	put_numbers(message, 4, &sample->values);
	if (!sample->times.count)
		return;
	for (size_t i = 0; i < sample->times.count; i++)
		put_fixed64(&list, TEST_START_NS + sample->times.items[i]);
	put_message(message, 5, &list);
}

static inline void put_profile(struct message_bytes *message, const struct spec_profile *profile)
{
	static struct message_bytes sample;

	put_value_type(message, 1, profile->sample_type);
	for (size_t i = 0; i < profile->sample_count; i++) {
		put_sample(&sample, &profile->samples[i]);
		put_message(message, 2, &sample);
	}
	if (profile->start) {
		put_tag(message, 3, 1);
		put_fixed64(message, profile->start);
	}
	put_number(message, 4, profile->duration);
	put_value_type(message, 5, profile->period_type);
	put_number(message, 6, profile->period);
	if (profile->id_bytes)
		put_span(message, 7, profile->id, profile->id_bytes);
	put_numbers(message, 11, &profile->attributes);
}

static inline void put_resource(struct message_bytes *message, const struct spec_resource *spec)
{
	static struct message_bytes one, attribute, scope;

	for (size_t i = 0; i < spec->attribute_count; i++) {
		if (*spec->attributes[i].key)
			put_text(&attribute, 1, spec->attributes[i].key);
		put_any_value(&attribute, 2, spec->attributes[i].text);
		put_number(&attribute, 3, spec->attributes[i].has_key_index);
		put_message(&one, 1, &attribute);
	}
	if (spec->has_resource)
		put_message(message, 1, &one);
	one.count = 0;
	for (size_t i = 0; i < spec->scope_count; i++) {
		if (*spec->scope_name)
			put_text(&one, 1, spec->scope_name);
		if (spec->has_scope)
			put_message(&scope, 1, &one);
		one.count = 0;
		for (size_t j = 0; j < spec->profile_count; j++) {
			put_profile(&one, &spec->profiles[j]);
			put_message(&scope, 2, &one);
		}
		put_message(message, 2, &scope);
	}
}

/** Encodes @spec into *@message, which is emptied first. */
static inline void build_request(struct message_bytes *message, const struct spec *spec)
{
	static struct message_bytes one;

	message->count = 0;
	for (size_t i = 0; i < spec->resource_count; i++) {
		put_resource(&one, &spec->resources[i]);
		put_message(message, 1, &one);
	}
	put_dictionary(&one, spec);
	if (spec->has_dictionary)
		put_message(message, 2, &one);
	one.count = 0;
}

/** Indexes in the tables of good_request(). */
enum {
	STRING_FRAME_TYPE = 1,
	STRING_THREAD_NAME,
	STRING_HTLHASH,
	STRING_GNU,
	STRING_APP,
	STRING_VMLINUX,
	STRING_MAIN,
	STRING_DO_WORK,
	STRING_ERROR,
	STRING_SAMPLES,
	STRING_COUNT,
	STRING_CPU,
	STRING_NANOSECONDS,
	STRING_END,
};

enum {
	ATTRIBUTE_NATIVE = 1,
	ATTRIBUTE_THREAD_A,
	ATTRIBUTE_KERNEL,
	ATTRIBUTE_ABORT,
	ATTRIBUTE_THREAD_B,
	ATTRIBUTE_APP_HTLHASH,
	ATTRIBUTE_APP_GNU,
	ATTRIBUTE_VMLINUX_HTLHASH,
	ATTRIBUTE_END,
};

enum {
	LOCATION_APP = 1,
	LOCATION_MAIN,
	LOCATION_KERNEL,
	LOCATION_ERROR,
	LOCATION_END,
};

/** Two stacks, `main;app+0x1200;do_work_[k]` 3 times and `[error: ...];app+0x1200` once. */
static inline struct spec *good_request(void)
{
	static const struct spec good = {
		.has_dictionary = true,
		.string_count = STRING_END,
		.strings = { "", "profile.frame.type", "thread.name",
			     "process.executable.build_id.htlhash",
			     "process.executable.build_id.gnu", "/usr/bin/app", "vmlinux", "main",
			     "do_work", "[error: stack unreadable]", "samples", "count", "cpu",
			     "nanoseconds" },
		.attribute_count = ATTRIBUTE_END,
		.attributes = { { 0 },
				{ STRING_FRAME_TYPE, "native", false },
				{ STRING_THREAD_NAME, "a", false },
				{ STRING_FRAME_TYPE, "kernel", false },
				{ STRING_FRAME_TYPE, "abort-marker", false },
				{ STRING_THREAD_NAME, "b", false },
				{ STRING_HTLHASH, "0123456789abcdef0123456789abcdef", false },
				{ STRING_GNU, "00ff", false },
				{ STRING_HTLHASH, "ffffffffffffffffffffffffffffffff", false } },
		.mapping_count = 3,
		.mappings = { { 0 },
			      { 0x1000, 0x3000, 0x1000, STRING_APP,
				NUMBERS(ATTRIBUTE_APP_HTLHASH, ATTRIBUTE_APP_GNU) },
			      { 0xffffffff81000000, 0xffffffff82000000, 0, STRING_VMLINUX,
				NUMBERS(ATTRIBUTE_VMLINUX_HTLHASH) } },
		.function_count = 4,
		.functions = { 0, STRING_MAIN, STRING_DO_WORK, STRING_ERROR },
		.location_count = LOCATION_END,
		.locations = { { 0 },
			       { 1, 0x1200, { 0 }, NUMBERS(ATTRIBUTE_NATIVE) },
			       { 1, 0x1100, NUMBERS(1), NUMBERS(ATTRIBUTE_NATIVE) },
			       { 2, 0xffffffff81000100, NUMBERS(2), NUMBERS(ATTRIBUTE_KERNEL) },
			       { 0, 4007, NUMBERS(3), NUMBERS(ATTRIBUTE_ABORT) } },
		.stack_count = 3,
		.stacks = { { 0 },
			    NUMBERS(LOCATION_KERNEL, LOCATION_APP, LOCATION_MAIN),
			    NUMBERS(LOCATION_APP, LOCATION_ERROR) },
		.link_count = 1,
		.resource_count = 1,
		.resources = { {
			.has_resource = true,
			.has_scope = true,
			.scope_name = "agent",
			.attribute_count = 2,
			.attributes = { { "service.name", "unknown_service:app", false },
					{ "host.name", "h", false } },
			.scope_count = 1,
			.profile_count = 1,
			.profiles = { {
				.sample_type = { STRING_SAMPLES, STRING_COUNT },
				.period_type = { STRING_CPU, STRING_NANOSECONDS },
				.period = 52631578,
				.start = TEST_START_NS,
				.duration = TEST_DURATION_NS,
				.id = "0123456789abcdef",
				.id_bytes = 16,
				.sample_count = 3,
				.samples = { { .stack = 1,
					       .attributes = NUMBERS(ATTRIBUTE_THREAD_A),
					       .times = NUMBERS(0, 5) },
					     { .stack = 2,
					       .attributes = NUMBERS(ATTRIBUTE_THREAD_A),
					       .times = NUMBERS(TEST_DURATION_NS) },
					     { .stack = 1,
					       .attributes = NUMBERS(ATTRIBUTE_THREAD_B),
					       .times = NUMBERS(7) } },
			} },
		} },
	};
	static struct spec spec;

	spec = good;
	return &spec;
}

#endif
