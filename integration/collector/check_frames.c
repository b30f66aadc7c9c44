/* SPDX-License-Identifier: Apache-2.0 */
/* check_dictionary() reports indices out of range; here such an element counts as missing. */

#include "integration/collector/check_frames.h"

#include <inttypes.h>

enum {
	HTLHASH_DIGITS = 32,
	PAGE_BYTES = 4096,
};

static const char frame_type_key[] = "profile.frame.type";
static const char htlhash_key[] = "process.executable.build_id.htlhash";
static const char gnu_build_id_key[] = "process.executable.build_id.gnu";

static const struct {
	const char *name;
	enum frame_type type;
} frame_types[] = {
	{ "native", FRAME_TYPE_NATIVE },
	{ "kernel", FRAME_TYPE_KERNEL },
	{ "abort-marker", FRAME_TYPE_ABORT_MARKER },
	{ "cpython", FRAME_TYPE_INTERPRETED },
	{ "jvm", FRAME_TYPE_INTERPRETED },
	{ "v8js", FRAME_TYPE_INTERPRETED },
	{ "go", FRAME_TYPE_INTERPRETED },
	{ "ruby", FRAME_TYPE_INTERPRETED },
	{ "php", FRAME_TYPE_INTERPRETED },
	{ "perl", FRAME_TYPE_INTERPRETED },
	{ "dotnet", FRAME_TYPE_INTERPRETED },
	{ "beam", FRAME_TYPE_INTERPRETED },
	{ "luajit", FRAME_TYPE_INTERPRETED },
	{ "rust", FRAME_TYPE_INTERPRETED },
};

enum frame_type otlp_frame_type(const struct otlp_message *message,
				const struct otlp_location *location)
{
	const struct otlp_attribute_entry *attribute =
		otlp_message_attribute(message, location->attributes, frame_type_key);

	if (!attribute || attribute->value.kind != VALUE_STRING)
		return FRAME_TYPE_UNKNOWN;
	for (size_t i = 0; i < sizeof(frame_types) / sizeof(frame_types[0]); i++) {
		if (span_is(attribute->value.bytes, frame_types[i].name))
			return frame_types[i].type;
	}
	return FRAME_TYPE_UNKNOWN;
}

static const struct otlp_mapping *mapping_of(const struct otlp_message *message,
					     const struct otlp_location *location)
{
	if (location->mapping <= 0 || (size_t)location->mapping >= message->mappings.count)
		return NULL;
	return &message->mappings.items[location->mapping];
}

/* True for a file, false for memory of the kernel or of no file ("[vdso]", "[anonymous]"). */
static bool is_of_file(struct span filename)
{
	return filename.count && filename.bytes[0] != '[';
}

/* Code that belongs to no module, whose names are unknown. */
static bool is_outside_of_files(const struct otlp_message *message,
				const struct otlp_mapping *mapping)
{
	return mapping && !is_of_file(otlp_message_string(message, mapping->filename));
}

/* True if the first line has a function. */
static bool has_name(const struct otlp_message *message, const struct otlp_location *location)
{
	return location->lines.count && message->lines.items[location->lines.first].function > 0;
}

static void check_frame_type(const struct otlp_message *message,
			     const struct otlp_location *location, size_t number,
			     struct findings *findings)
{
	const struct otlp_attribute_entry *attribute =
		otlp_message_attribute(message, location->attributes, frame_type_key);

	if (!attribute || attribute->value.kind != VALUE_STRING)
		findings_add(findings, RULE_FRAME_TYPE, "location_table[%zu]", number);
	else if (otlp_frame_type(message, location) == FRAME_TYPE_UNKNOWN)
		findings_add(findings, RULE_KNOWN_FRAME_TYPE, "location_table[%zu]: %.*s", number,
			     (int)attribute->value.bytes.count,
			     (const char *)attribute->value.bytes.bytes);
}

static void check_location(const struct otlp_message *message, size_t number,
			   struct findings *findings)
{
	const struct otlp_location *location = &message->locations.items[number];
	const struct otlp_mapping *mapping = mapping_of(message, location);
	enum frame_type type = otlp_frame_type(message, location);

	check_frame_type(message, location, number, findings);
	if (type == FRAME_TYPE_ABORT_MARKER &&
	    (location->mapping || !location->address || !has_name(message, location)))
		findings_add(findings, RULE_ABORT_MARKER,
			     "location_table[%zu]: mapping %d, address %#" PRIx64 ", %zu lines",
			     number, location->mapping, location->address, location->lines.count);
	if (type == FRAME_TYPE_NATIVE && !mapping)
		findings_add(findings, RULE_NATIVE_MAPPING,
			     "location_table[%zu]: address %#" PRIx64, number, location->address);
	if ((type == FRAME_TYPE_INTERPRETED ||
	     (type == FRAME_TYPE_KERNEL && !is_outside_of_files(message, mapping))) &&
	    !has_name(message, location))
		findings_add(findings, RULE_NAMED, "location_table[%zu]: address %#" PRIx64, number,
			     location->address);
	if (mapping && mapping->memory_limit &&
	    (location->address < mapping->memory_start ||
	     location->address >= mapping->memory_limit))
		findings_add(findings, RULE_MAPPING_RANGE,
			     "location_table[%zu]: %#" PRIx64 " in %#" PRIx64 "-%#" PRIx64, number,
			     location->address, mapping->memory_start, mapping->memory_limit);
}

static void check_lines(const struct otlp_message *message, struct findings *findings)
{
	for (size_t i = 0; i < message->lines.count; i++) {
		if (!message->lines.items[i].function)
			findings_add(findings, RULE_FUNCTIONS, "a line has no function");
	}
	for (size_t i = 1; i < message->functions.count; i++) {
		if (!otlp_message_string(message, message->functions.items[i].name).count)
			findings_add(findings, RULE_FUNCTIONS, "function_table[%zu] has no name",
				     i);
	}
}

static bool is_lower_hex(struct span text)
{
	for (size_t i = 0; i < text.count; i++) {
		uint8_t digit = text.bytes[i];

		if (!(digit >= '0' && digit <= '9') && !(digit >= 'a' && digit <= 'f'))
			return false;
	}
	return true;
}

static void check_build_ids(const struct otlp_message *message, const struct otlp_mapping *mapping,
			    struct span filename, struct findings *findings)
{
	const struct otlp_attribute_entry *htlhash =
		otlp_message_attribute(message, mapping->attributes, htlhash_key);
	const struct otlp_attribute_entry *gnu =
		otlp_message_attribute(message, mapping->attributes, gnu_build_id_key);

	if (htlhash ? htlhash->value.kind != VALUE_STRING ||
			      htlhash->value.bytes.count != HTLHASH_DIGITS ||
			      !is_lower_hex(htlhash->value.bytes) :
		      is_of_file(filename))
		findings_add(findings, RULE_HTLHASH, "mapping of %.*s", (int)filename.count,
			     (const char *)filename.bytes);
	if (gnu && (gnu->value.kind != VALUE_STRING || !gnu->value.bytes.count ||
		    gnu->value.bytes.count % 2 || !is_lower_hex(gnu->value.bytes)))
		findings_add(findings, RULE_GNU_BUILD_ID, "mapping of %.*s", (int)filename.count,
			     (const char *)filename.bytes);
}

static void check_mapping(const struct otlp_message *message, size_t number,
			  struct findings *findings)
{
	const struct otlp_mapping *mapping = &message->mappings.items[number];
	struct span filename = otlp_message_string(message, mapping->filename);

	check_build_ids(message, mapping, filename, findings);
	if (mapping->memory_limit ? mapping->memory_limit <= mapping->memory_start :
				    mapping->memory_start)
		findings_add(findings, RULE_MAPPING_RANGE,
			     "mapping_table[%zu]: %#" PRIx64 "-%#" PRIx64, number,
			     mapping->memory_start, mapping->memory_limit);
	if (is_of_file(filename) && (mapping->memory_start ^ mapping->file_offset) % PAGE_BYTES)
		findings_add(findings, RULE_MEMORY_START,
			     "mapping of %.*s: start %#" PRIx64 ", file offset %#" PRIx64,
			     (int)filename.count, (const char *)filename.bytes,
			     mapping->memory_start, mapping->file_offset);
}

static void check_stacks(const struct otlp_message *message, struct findings *findings)
{
	for (size_t i = 1; i < message->stacks.count; i++) {
		struct range locations = message->stacks.items[i].locations;

		if (!locations.count)
			findings_add(findings, RULE_STACKS, "stack_table[%zu] is empty", i);
		for (size_t j = 0; j < locations.count; j++) {
			if (!message->numbers.items[locations.first + j])
				findings_add(findings, RULE_STACKS,
					     "stack_table[%zu] has location 0", i);
		}
	}
	for (size_t i = 0; i < message->samples.count; i++) {
		if (!message->samples.items[i].stack)
			findings_add(findings, RULE_STACKS, "a sample has no stack");
	}
}

void check_frames(const struct otlp_message *message, struct findings *findings)
{
	check_stacks(message, findings);
	for (size_t i = 1; i < message->locations.count; i++)
		check_location(message, i, findings);
	check_lines(message, findings);
	for (size_t i = 1; i < message->mappings.count; i++)
		check_mapping(message, i, findings);
}
