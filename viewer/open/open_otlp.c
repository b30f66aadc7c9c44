/* SPDX-License-Identifier: Apache-2.0 */
/* Indices in the file may be invalid; what refers to a missing entry is skipped. */
#include "viewer/open/open_otlp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build/proto/otlp_collector.pb-c.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/model/languages.h"
#include "lib/model/origins.h"
#include "viewer/open/decode_budget.h"
#include "viewer/open/opened_frame.h"
#include "viewer/open/opened_identity.h"

enum {
	/* Traces without a mark, and with each mark. */
	TRACE_SETS = 1 + LANGUAGE_MARK_COUNT,
	/* How many bytes of text may be processed per byte that may be stored. */
	TEXTS_PER_STORED = 8,
};

#define REQUEST_DESCRIPTOR                                                                         \
	opentelemetry__proto__collector__profiles__v1development__export_profiles_service_request__descriptor

typedef Opentelemetry__Proto__Collector__Profiles__V1development__ExportProfilesServiceRequest
	request_message;
typedef Opentelemetry__Proto__Profiles__V1development__ProfilesDictionary dictionary_message;
typedef Opentelemetry__Proto__Profiles__V1development__ResourceProfiles resource_message;
typedef Opentelemetry__Proto__Profiles__V1development__Profile profile_message;
typedef Opentelemetry__Proto__Profiles__V1development__Sample sample_message;
typedef Opentelemetry__Proto__Profiles__V1development__Location location_message;
typedef Opentelemetry__Proto__Profiles__V1development__Mapping mapping_message;
typedef Opentelemetry__Proto__Profiles__V1development__Function function_message;
typedef Opentelemetry__Proto__Profiles__V1development__Line line_message;
typedef Opentelemetry__Proto__Profiles__V1development__ValueType value_type_message;

/* Properties of a whole location. */
struct location_traits {
	uint8_t kind;
	/* Bits of enum opened_mark. */
	uint8_t marks;
};

struct otlp_reader {
	const dictionary_message *dictionary;
	struct opened_samples *opened;
	/* The start of a profile was read. */
	bool has_start;
	struct opened_names names;
	/* Mappings by index, and the mapping of locations without one. */
	struct opened_mapping *mappings;
	struct opened_mapping nowhere;
	struct location_traits *traits;
	struct opened_stack stack;
	/*
	 * Bytes of the strings of the stack's frames, repeated ones included: the cost of comparing
	 * and hashing them.
	 */
	size_t text_bytes;
	/*
	 * By set_of(mark) and number of the stack; virtual threads have their own set. NULL: not
	 * made yet.
	 */
	struct trace **traces;
	struct opened_identities identities;
	/* The value that counts as one sample of the current profile if only samples are wanted, else 1. */
	uint64_t unit;
	/* The type of the current profile's values. */
	uint32_t type;
	/* By index of the attribute: its comments were read. */
	bool *has_comments;
};

/* --- values --- */

static struct opened_value value_of(const struct otlp_reader *reader,
				    const Opentelemetry__Proto__Common__V1__AnyValue *value)
{
	if (!value)
		return (struct opened_value){ .text = "" };
	switch (value->value_case) {
	case OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_STRING_VALUE:
		return (struct opened_value){ .text = value->string_value };
	case OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_STRING_VALUE_STRINDEX:
		return (struct opened_value){
			.text = opened_names_text(&reader->names,
						  (uint64_t)value->string_value_strindex),
		};
	case OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_INT_VALUE:
		return (struct opened_value){
			.text = "",
			.number = value->int_value,
			.is_number = true,
		};
	case OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_BOOL_VALUE:
		return (struct opened_value){ .text = "", .number = value->bool_value };
	default:
		return (struct opened_value){ .text = "" };
	}
}

/* The key and value of attribute @index; the key is "" if there is no such attribute. */
static const char *attribute_at(const struct otlp_reader *reader, int32_t index,
				struct opened_value *value)
{
	*value = (struct opened_value){ .text = "" };
	if (index < 0 || (size_t)index >= reader->dictionary->n_attribute_table)
		return "";
	*value = value_of(reader, reader->dictionary->attribute_table[index]->value);
	return opened_names_text(
		&reader->names, (uint64_t)reader->dictionary->attribute_table[index]->key_strindex);
}

/* --- the tables --- */

static void read_mapping_attribute(const char *key, const char *text, struct binary *values)
{
	struct binary file_id = { 0 };

	if (!strcmp(key, "process.executable.build_id.gnu"))
		opened_build_id(text, values);
	if (strcmp(key, "process.executable.build_id.htlhash"))
		return;
	opened_build_id(text, &file_id);
	if (file_id.build_id_bytes == sizeof(values->file_id))
		memcpy(&values->file_id, file_id.build_id, sizeof(values->file_id));
}

static int make_mapping(struct otlp_reader *reader, const mapping_message *mapping,
			struct opened_mapping *made)
{
	struct binary values = {
		.path = (char *)opened_names_text(&reader->names,
						  (uint64_t)mapping->filename_strindex),
		.memory_start = mapping->memory_start,
		.memory_limit = mapping->memory_limit,
		.file_offset = mapping->file_offset,
	};

	for (size_t i = 0; i < mapping->n_attribute_indices; i++) {
		struct opened_value value;
		const char *key = attribute_at(reader, mapping->attribute_indices[i], &value);

		read_mapping_attribute(key, value.text, &values);
	}
	return opened_mapping_init(made, &values, reader->opened);
}

static int make_mappings(struct otlp_reader *reader)
{
	const dictionary_message *dictionary = reader->dictionary;
	int err = opened_mapping_init_nowhere(&reader->nowhere, reader->opened);

	if (dictionary->n_mapping_table > OPENED_MAPPINGS_MAX)
		return fail(-EBADMSG, "it names more than %d files", OPENED_MAPPINGS_MAX);
	reader->mappings = calloc(dictionary->n_mapping_table + 1, sizeof(*reader->mappings));
	if (!reader->mappings)
		return -ENOMEM;
	for (size_t i = 1; i < dictionary->n_mapping_table && !err; i++)
		err = make_mapping(reader, dictionary->mapping_table[i], &reader->mappings[i]);
	return err;
}

/* Frames of a language with native code are native frames. */
static uint8_t kind_of(const char *type)
{
	const struct language_id *language = language_by_otlp_type(type);

	if (!strcmp(type, "kernel"))
		return FRAME_KERNEL;
	if (!strcmp(type, "abort-marker"))
		return FRAME_ERROR;
	return language && language->frames != LANGUAGE_NATIVE ? language->kind : FRAME_NATIVE;
}

static struct location_traits traits_of(const struct otlp_reader *reader,
					const location_message *location)
{
	struct location_traits traits = { .kind = FRAME_NATIVE };

	for (size_t i = 0; i < location->n_attribute_indices; i++) {
		struct opened_value value;
		const char *key = attribute_at(reader, location->attribute_indices[i], &value);

		if (!strcmp(key, "profile.frame.type"))
			traits.kind = kind_of(value.text);
		else if (!strcmp(key, "allframes.frame.guess") && value.number)
			traits.marks |= OPENED_GUESS;
		else if (!strcmp(key, "allframes.frame.approximate") && value.number)
			traits.marks |= OPENED_APPROXIMATE;
	}
	return traits;
}

/* Done once per location, however many stacks refer to it. */
static int read_traits(struct otlp_reader *reader)
{
	const dictionary_message *dictionary = reader->dictionary;

	reader->traits = calloc(dictionary->n_location_table + 1, sizeof(*reader->traits));
	if (!reader->traits)
		return -ENOMEM;
	for (size_t i = 1; i < dictionary->n_location_table; i++)
		reader->traits[i] = traits_of(reader, dictionary->location_table[i]);
	return 0;
}

/* --- stacks --- */

static const struct opened_mapping *mapping_of(const struct otlp_reader *reader, int32_t index)
{
	return index > 0 && (size_t)index < reader->dictionary->n_mapping_table ?
		       &reader->mappings[index] :
		       &reader->nowhere;
}

static int push_frame(struct otlp_reader *reader, const location_message *location,
		      const struct location_traits *traits, const line_message *line,
		      bool is_inlined)
{
	const dictionary_message *dictionary = reader->dictionary;
	struct opened_name name = { .marks = line ? 0 : OPENED_NAMELESS };
	const char *function = "", *file = "";
	int64_t start_line = 0;
	struct frame frame;

	if (line && line->function_index > 0 &&
	    (size_t)line->function_index < dictionary->n_function_table) {
		const function_message *entry = dictionary->function_table[line->function_index];

		function = opened_names_name(&reader->names, (uint64_t)entry->name_strindex, &name);
		opened_name_find_address(&name, function,
					 mapping_of(reader, location->mapping_index));
		file = opened_names_text(&reader->names, (uint64_t)entry->filename_strindex);
		start_line = entry->start_line;
	}
	name.marks |= traits->marks;
	if (traits->kind == FRAME_ERROR && !(name.marks & OPENED_ERROR)) {
		/* Another tool's file: it has a number only, or a text of its own. */
		name.marks |= OPENED_ERROR;
		name.error = unwind_error_of_number(location->address);
		if (name.error == UNWIND_OK)
			name.error = UNWIND_NO_INFO;
	}
	reader->text_bytes += strlen(function) + strlen(file);
	frame = opened_frame_make(mapping_of(reader, location->mapping_index), traits->kind,
				  function, &name, file, line ? line->line : 0,
				  line ? line->column : 0);
	/* For a frame without a name, the text may have the address where the function begins. */
	if (frame.kind != FRAME_ERROR && (!line || !(name.marks & OPENED_NAMELESS)))
		frame.address = location->address;
	opened_frame_set_start(&frame, start_line);
	if (is_inlined)
		frame.flags |= FRAME_INLINED;
	return opened_stack_push(&reader->stack, &frame);
}

static int push_location(struct otlp_reader *reader, int32_t index)
{
	const location_message *location = reader->dictionary->location_table[index];
	struct location_traits traits = reader->traits[index];
	int err = 0;

	if (!location->n_lines)
		return push_frame(reader, location, &traits, NULL, false);
	for (size_t i = 0; i < location->n_lines && !err && !opened_stack_is_full(&reader->stack);
	     i++) {
		err = push_frame(reader, location, &traits, location->lines[i],
				 i + 1 < location->n_lines);
		/* Only the innermost line has this mark. */
		traits.marks &= ~OPENED_APPROXIMATE;
	}
	return err;
}

static int push_stack(struct otlp_reader *reader, int32_t index)
{
	const dictionary_message *dictionary = reader->dictionary;
	const Opentelemetry__Proto__Profiles__V1development__Stack *stack;
	int err = 0;

	if (index < 0 || (size_t)index >= dictionary->n_stack_table)
		return 0;
	stack = dictionary->stack_table[index];
	for (size_t i = 0;
	     i < stack->n_location_indices && !err && !opened_stack_is_full(&reader->stack); i++) {
		int32_t location = stack->location_indices[i];

		if (location > 0 && (size_t)location < dictionary->n_location_table)
			err = push_location(reader, location);
	}
	return err;
}

/* Stacks with a mark differ from those without: the part of reader->traces for each mark. */
static size_t set_of(uint8_t mark)
{
	const struct language_key *key = language_mark(mark);

	return key ? 1 + (size_t)(key - language_marks) : 0;
}

/*
 * Makes the trace of the pushed stack, shared with an equal trace in the samples. The bytes of a
 * shared one count again, because making it took time.
 */
static int finish_stack(struct otlp_reader *reader, struct trace **trace)
{
	struct trace *made = opened_stack_finish(&reader->stack);
	struct trace *known = made ? interner_find(&reader->opened->table.traces, made) : NULL;

	if (!known) {
		*trace = made;
		return made ? 0 : -ENOMEM;
	}
	trace_unref(made);
	*trace = trace_ref(known);
	return opened_samples_spend(reader->opened, known->bytes);
}

/* The trace of stack @index, borrowed from the reader. */
static int find_trace(struct otlp_reader *reader, int32_t index, uint8_t mark, struct trace **trace)
{
	size_t count = reader->dictionary->n_stack_table;
	size_t slot = index < 0 || (size_t)index >= count ? count : (size_t)index;
	struct trace **cached = &reader->traces[slot + set_of(mark) * (count + 1)];
	int err;

	if (!*cached) {
		reader->text_bytes = 0;
		err = push_stack(reader, index);
		if (!err)
			err = opened_samples_spend(reader->opened,
						   reader->text_bytes / TEXTS_PER_STORED);
		if (err)
			return err;
		if (mark)
			opened_stack_set_mark(&reader->stack, mark);
		err = finish_stack(reader, cached);
		if (err)
			return err;
	}
	*trace = *cached;
	return 0;
}

/* --- samples --- */

static int64_t value_at(const struct otlp_reader *reader, const sample_message *sample, size_t i)
{
	int64_t value = i < sample->n_values ? sample->values[i] : 0;

	if (!reader->opened->max_samples)
		return value;
	value = value > 0 ? (int64_t)(((uint64_t)value + reader->unit / 2) / reader->unit) : 0;
	return value;
}

static int add_moments(struct otlp_reader *reader, const profile_message *profile,
		       const sample_message *sample)
{
	int err = 0;

	if (!sample->n_timestamps_unix_nano) {
		for (size_t i = 0; i < sample->n_values && !err; i++)
			err = opened_samples_add(reader->opened, profile->time_unix_nano,
						 value_at(reader, sample, i));
		return err;
	}
	for (size_t i = 0; i < sample->n_timestamps_unix_nano && !err; i++)
		err = opened_samples_add(reader->opened, sample->timestamps_unix_nano[i],
					 sample->n_values ? value_at(reader, sample, i) : 1);
	return err;
}

static int read_sample(struct otlp_reader *reader, const struct opened_identity *resource,
		       const profile_message *profile, const sample_message *sample)
{
	struct opened_identity identity = *resource;
	struct sample wanted;
	struct trace *trace;
	int err;

	opened_identities_begin(&reader->identities);
	for (size_t i = 0; i < sample->n_attribute_indices; i++) {
		struct opened_value value;
		const char *key = attribute_at(reader, sample->attribute_indices[i], &value);

		opened_identities_set(&reader->identities, &identity, key, &value);
	}
	err = find_trace(reader, sample->stack_index, identity.mark, &trace);
	if (err)
		return err;
	err = opened_identities_sample(&reader->identities, &identity, trace, &wanted);
	if (err)
		return err;
	wanted.origin = (uint8_t)reader->type;
	err = opened_samples_begin(reader->opened, &wanted);
	return err ? err : add_moments(reader, profile, sample);
}

static bool has_unit(const struct otlp_reader *reader, const value_type_message *type,
		     const char *unit)
{
	return type &&
	       !strcmp(opened_names_text(&reader->names, (uint64_t)type->unit_strindex), unit);
}

/* False for profiles of bytes, of time without a period, and so on. */
static bool counts_samples(const struct otlp_reader *reader, const profile_message *profile)
{
	const value_type_message *type = profile->sample_type;

	return !type || has_unit(reader, type, "") || has_unit(reader, type, "count") ||
	       (profile->period > 0 && profile->period_type &&
		type->unit_strindex == profile->period_type->unit_strindex);
}

/* Text @index of a type; "" if there is no type. */
static const char *type_text(const struct otlp_reader *reader, const value_type_message *type,
			     bool is_unit)
{
	return type ? opened_names_text(&reader->names, (uint64_t)(is_unit ? type->unit_strindex :
									     type->type_strindex)) :
		      "";
}

/* Samples of a profile without a type are counted. */
static int read_type(struct otlp_reader *reader, const profile_message *profile)
{
	const char *type = type_text(reader, profile->sample_type, false);
	const char *unit = type_text(reader, profile->sample_type, true);

	if (!*type && !*unit) {
		type = "samples";
		unit = "count";
	}
	return profile_facts_add_type(&reader->opened->facts, type, unit, &reader->type);
}

static int read_facts(struct otlp_reader *reader, const profile_message *profile)
{
	struct opened_samples *opened = reader->opened;
	uint64_t start_ns = profile->time_unix_nano, end_ns;
	const value_type_message *period = profile->period_type;
	int err = 0;

	reader->unit = 1;
	if (profile->sample_type && profile->period_type && profile->period > 0 &&
	    profile->sample_type->unit_strindex == profile->period_type->unit_strindex)
		reader->unit = (uint64_t)profile->period;
	if (period)
		err = profile_facts_set_period(&opened->facts, type_text(reader, period, false),
					       type_text(reader, period, true), profile->period);
	opened_samples_set_rate(opened);
	if (err || !start_ns)
		return err;
	opened->facts.has_time = true;
	end_ns = profile->duration_nano < UINT64_MAX - start_ns ?
			 start_ns + profile->duration_nano :
			 UINT64_MAX;
	/* Before, it may be the time of the file. */
	if (!reader->has_start || start_ns < opened->start_ns) {
		if (reader->has_start)
			opened->facts.duration_ns += opened->start_ns - start_ns;
		opened->start_ns = start_ns;
		reader->has_start = true;
	}
	if (end_ns - opened->start_ns > opened->facts.duration_ns)
		opened->facts.duration_ns = end_ns - opened->start_ns;
	return 0;
}

/*
 * True for the agent's own profiles of other origins than the clock, which a page with samples of several machines
 * does not show.
 */
static bool is_of_other_origin(const struct otlp_reader *reader, const profile_message *profile)
{
	const value_type_message *type = profile->sample_type;

	for (uint32_t i = ORIGIN_CLOCK + 1; type && i < SAMPLE_ORIGIN_COUNT; i++)
		if (has_unit(reader, type, sample_origins[i].unit) &&
		    !strcmp(opened_names_text(&reader->names, (uint64_t)type->type_strindex),
			    sample_origins[i].type))
			return true;
	return false;
}

static int add_comment(struct otlp_reader *reader,
		       const Opentelemetry__Proto__Common__V1__AnyValue *value)
{
	const char *comment = value_of(reader, value).text;

	return *comment ? profile_facts_add_comment(&reader->opened->facts, comment) : 0;
}

/* Reads the comments, which all profiles of a request may share. */
static int read_comments(struct otlp_reader *reader, const profile_message *profile)
{
	const dictionary_message *dictionary = reader->dictionary;
	int err = 0;

	for (size_t i = 0; i < profile->n_attribute_indices && !err; i++) {
		int32_t index = profile->attribute_indices[i];
		const Opentelemetry__Proto__Common__V1__AnyValue *value;
		struct opened_value unused;

		if (strcmp(attribute_at(reader, index, &unused), "pprof.profile.comment") ||
		    reader->has_comments[index])
			continue;
		reader->has_comments[index] = true;
		value = dictionary->attribute_table[index]->value;
		if (!value ||
		    value->value_case !=
			    OPENTELEMETRY__PROTO__COMMON__V1__ANY_VALUE__VALUE_ARRAY_VALUE) {
			err = add_comment(reader, value);
			continue;
		}
		for (size_t j = 0; j < value->array_value->n_values && !err; j++)
			err = add_comment(reader, value->array_value->values[j]);
	}
	return err;
}

static int read_profile(struct otlp_reader *reader, const struct opened_identity *resource,
			const profile_message *profile)
{
	int err = 0;

	if (reader->opened->max_samples &&
	    (is_of_other_origin(reader, profile) || !counts_samples(reader, profile))) {
		reader->opened->skipped_profiles++;
		return 0;
	}
	err = read_facts(reader, profile);
	/* Samples of other machines are all of one type. */
	if (!err && !reader->opened->max_samples)
		err = read_type(reader, profile);
	if (!err && !reader->opened->max_samples)
		err = read_comments(reader, profile);
	for (size_t i = 0; i < profile->n_samples && !err; i++)
		err = read_sample(reader, resource, profile, profile->samples[i]);
	return err;
}

static void read_resource(struct otlp_reader *reader,
			  const Opentelemetry__Proto__Resource__V1__Resource *resource,
			  struct opened_identity *identity)
{
	for (size_t i = 0; resource && i < resource->n_attributes; i++) {
		const Opentelemetry__Proto__Common__V1__KeyValue *attribute =
			resource->attributes[i];
		const char *key = *attribute->key ?
					  attribute->key :
					  opened_names_text(&reader->names,
							    (uint64_t)attribute->key_strindex);
		struct opened_value value = value_of(reader, attribute->value);

		opened_identities_set(&reader->identities, identity, key, &value);
	}
}

static int read_resource_profiles(struct otlp_reader *reader, const resource_message *profiles)
{
	struct opened_identity identity = { .host_name = reader->opened->unnamed_host };
	int err = 0;

	/* Samples of other machines have no unknown numbers: the page lists all of them. */
	if (!reader->opened->max_samples)
		identity.sample = opened_sample_unknown();
	opened_identities_begin(&reader->identities);
	read_resource(reader, profiles->resource, &identity);
	if (identity.host_name && !*reader->opened->host)
		snprintf(reader->opened->host, sizeof(reader->opened->host), "%s",
			 identity.host_name);
	for (size_t i = 0; i < profiles->n_scope_profiles && !err; i++)
		for (size_t j = 0; j < profiles->scope_profiles[i]->n_profiles && !err; j++)
			err = read_profile(reader, &identity,
					   profiles->scope_profiles[i]->profiles[j]);
	return err;
}

static int read_request(struct otlp_reader *reader, const request_message *request)
{
	int err = opened_names_init(&reader->names, reader->dictionary->string_table,
				    reader->dictionary->n_string_table);

	if (!err)
		err = make_mappings(reader);
	if (!err)
		err = read_traits(reader);
	reader->traces = calloc(TRACE_SETS * (reader->dictionary->n_stack_table + 1),
				sizeof(*reader->traces));
	reader->has_comments =
		calloc(reader->dictionary->n_attribute_table + 1, sizeof(*reader->has_comments));
	if (!reader->traces || !reader->has_comments)
		return -ENOMEM;
	for (size_t i = 0; i < request->n_resource_profiles && !err; i++)
		err = read_resource_profiles(reader, request->resource_profiles[i]);
	if (!err)
		opened_samples_choose_first_type(reader->opened);
	return err;
}

static void otlp_reader_deinit(struct otlp_reader *reader)
{
	for (size_t i = 0; reader->mappings && i < reader->dictionary->n_mapping_table; i++)
		opened_mapping_deinit(&reader->mappings[i]);
	free(reader->mappings);
	free(reader->traits);
	for (size_t i = 0;
	     reader->traces && i < TRACE_SETS * (reader->dictionary->n_stack_table + 1); i++)
		if (reader->traces[i])
			trace_unref(reader->traces[i]);
	free(reader->traces);
	free(reader->has_comments);
	opened_mapping_deinit(&reader->nowhere);
	opened_names_deinit(&reader->names);
	opened_stack_deinit(&reader->stack);
	opened_identities_deinit(&reader->identities);
}

int open_otlp(const void *bytes, size_t count, size_t max_bytes, struct opened_samples *opened)
{
	static const dictionary_message empty =
		OPENTELEMETRY__PROTO__PROFILES__V1DEVELOPMENT__PROFILES_DICTIONARY__INIT;
	struct otlp_reader reader = { .opened = opened, .identities.opened = opened };
	struct decode_budget budget;
	ProtobufCMessage *message;
	const request_message *request;
	int err;

	opened_samples_init(opened);
	decode_budget_init(&budget, max_bytes);
	message = protobuf_c_message_unpack(&REQUEST_DESCRIPTOR, &budget.allocator, count, bytes);
	if (!message)
		return fail(-EBADMSG, "it is no OTLP profile, is damaged or too large");
	request = (const request_message *)message;
	reader.dictionary = request->dictionary ? request->dictionary : &empty;
	err = read_request(&reader, request);
	otlp_reader_deinit(&reader);
	protobuf_c_message_free_unpacked(message, &budget.allocator);
	return err;
}
