/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bound is exact except for the lengths of messages that hold references, and for the bytes
 * that the most used entries save by their small indexes. It is 5 to 15 per cent too high.
 */

#include "reporter/otlp_request.h"

#include <errno.h>
#include <string.h>

#include "reporter/otlp_encode.h"

enum {
	/* Tag and longest length of a message without another bound. */
	HEADER_MAX_BYTES = 1 + 5,
	/*
	 * A Profile without samples and references: sample_type, period_type (each a message of two
	 * tags), time_unix_nano, duration_nano, period, profile_id.
	 */
	PROFILE_BYTES = (2 + 2) + (2 + 2) + 9 + 11 + 11 + (2 + OTLP_PROFILE_ID_BYTES),
	TYPE_REFERENCES = 4,
	TIME_BYTES = 8,
	VALUE_MAX_BYTES = 10,
};

static uint32_t add_unit(struct otlp_dictionary *dictionary, const struct value_type *type)
{
	struct text_builder text = { 0 };
	uint32_t id;

	value_type_append_unit(&text, type);
	id = otlp_add_string(dictionary, text_builder_text(&text));
	text_builder_deinit(&text);
	return id;
}

/* All types of an opened profile have its period. */
static void add_types_of_facts(struct otlp_draft *draft)
{
	const struct profile_facts *facts = draft->options->facts;
	struct otlp_dictionary *dictionary = draft->dictionary;

	for (uint32_t i = 0; i < facts->type_count; i++)
		draft->types[i] = (struct otlp_draft_types){
			.type = otlp_add_string(dictionary, facts->types[i].type),
			.unit = add_unit(dictionary, &facts->types[i]),
			.period_type = otlp_add_string(
				dictionary, facts->period_type ? facts->period_type : ""),
			.period_unit = otlp_add_string(
				dictionary, facts->period_type ? facts->period_unit : ""),
		};
}

void otlp_draft_init(struct otlp_draft *draft, struct otlp_dictionary *dictionary,
		     const struct otlp_attributes *attributes, const struct otlp_window *window,
		     const struct otlp_options *options)
{
	*draft = (struct otlp_draft){
		.dictionary = dictionary,
		.attributes = attributes,
		.options = options,
		.agent_version = options->agent_version ? options->agent_version : "",
		.window_start = otlp_realtime(window, window->start_ns),
		.window_end = (uint64_t)window->realtime_offset_ns + window->end_ns,
	};
	if (options->facts)
		add_types_of_facts(draft);
	for (uint32_t i = 0; !options->facts && i < SAMPLE_ORIGIN_COUNT; i++)
		draft->types[i] = (struct otlp_draft_types){
			.type = otlp_add_string(dictionary, sample_origins[i].type),
			.unit = otlp_add_string(dictionary, sample_origins[i].unit),
			.period_type = otlp_add_string(dictionary, sample_origins[i].period_type),
			.period_unit = otlp_add_string(dictionary, sample_origins[i].period_unit),
		};
}

void otlp_draft_deinit(struct otlp_draft *draft)
{
	otlp_draft_profile_vector_deinit(&draft->profiles);
	otlp_draft_sample_vector_deinit(&draft->samples);
	otlp_time_vector_deinit(&draft->times);
	otlp_time_vector_deinit(&draft->values);
}

static size_t resource_bytes(const struct otlp_draft *draft, uint32_t resource)
{
	const uint32_t *ids;
	uint32_t count = otlp_resource_attributes(draft->attributes, resource, &ids);
	size_t bytes = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct otlp_attribute_entry attribute = otlp_attribute(draft->dictionary, ids[i]);
		size_t key = otlp_string(draft->dictionary, attribute.key)->length;

		bytes += otlp_field_bytes(otlp_field_bytes(key) +
					  otlp_value_field_bytes(draft->dictionary, &attribute));
	}
	return otlp_field_bytes(bytes);
}

/* Bytes of a ResourceProfiles with one ScopeProfiles and one Profile, without samples. */
static size_t profile_bytes(const struct otlp_draft *draft, uint32_t resource)
{
	size_t scope = otlp_field_bytes(strlen(OTLP_SCOPE_NAME)) +
		       otlp_field_bytes(strlen(draft->agent_version));

	return 3 * HEADER_MAX_BYTES + resource_bytes(draft, resource) + otlp_field_bytes(scope) +
	       PROFILE_BYTES + otlp_packed_header_bytes(draft->comments != 0) +
	       TYPE_REFERENCES * (OTLP_REFERENCE_MAX_BYTES - 1);
}

/* All references of a profile but those of its samples. */
static void use_profile(struct otlp_draft *draft, uint32_t origin)
{
	const struct otlp_draft_types *types = &draft->types[origin];

	otlp_dictionary_use(draft->dictionary, OTLP_STRINGS, types->type);
	otlp_dictionary_use(draft->dictionary, OTLP_STRINGS, types->unit);
	otlp_dictionary_use(draft->dictionary, OTLP_STRINGS, types->period_type);
	otlp_dictionary_use(draft->dictionary, OTLP_STRINGS, types->period_unit);
	otlp_dictionary_use(draft->dictionary, OTLP_ATTRIBUTES, draft->comments);
}

static size_t sample_bytes(const struct otlp_draft_sample *sample, size_t time_count)
{
	size_t bytes = 1 + otlp_packed_header_bytes(sample->attribute_count) +
		       otlp_field_bytes(time_count * TIME_BYTES) +
		       (sample->values ? otlp_field_bytes(time_count * VALUE_MAX_BYTES) : 0);

	return otlp_message_bytes(bytes, 1 + sample->attribute_count);
}

/* How many of @sample's times fit in a request of @bytes; at least one. */
static size_t fitting_times(const struct otlp_draft *draft, const struct otlp_draft_sample *sample,
			    size_t bytes)
{
	size_t limit = draft->options->max_request_bytes;
	size_t low = 1, high = sample->time_count;

	while (low < high) {
		size_t middle = low + (high - low + 1) / 2;

		if (bytes + sample_bytes(sample, middle) <= limit)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* True if a sample of the resource and the origin does not belong to the last profile. */
static bool begins_profile(const struct otlp_draft *draft, uint32_t resource, uint32_t origin)
{
	const struct otlp_draft_profile *last;

	if (!draft->profiles.count)
		return true;
	last = &draft->profiles.items[draft->profiles.count - 1];
	return last->resource != resource || last->origin != origin;
}

static int start_profile(struct otlp_draft *draft, uint32_t resource, uint32_t origin)
{
	struct otlp_draft_profile profile = {
		.resource = resource,
		.origin = origin,
		.first_sample = draft->samples.count,
		.start = draft->window_start,
		.end = draft->window_end > draft->window_start ? draft->window_end :
								 draft->window_start,
	};

	return otlp_draft_profile_vector_push(&draft->profiles, profile);
}

/* Appends @sample with its first @time_count times. */
static int append_sample(struct otlp_draft *draft, const struct otlp_draft_sample *sample,
			 size_t time_count)
{
	struct otlp_draft_profile *profile = &draft->profiles.items[draft->profiles.count - 1];
	struct otlp_draft_sample copy = *sample;
	int err;

	copy.times = NULL;
	copy.values = NULL;
	copy.first_time = draft->times.count;
	copy.first_value = draft->values.count;
	copy.time_count = time_count;
	err = otlp_time_vector_reserve(&draft->times, draft->times.count + time_count);
	if (!err && sample->values)
		err = otlp_time_vector_reserve(&draft->values, draft->values.count + time_count);
	if (!err)
		err = otlp_draft_sample_vector_push(&draft->samples, copy);
	if (err)
		return err;
	memcpy(draft->times.items + draft->times.count, sample->times, time_count * TIME_BYTES);
	draft->times.count += time_count;
	if (!draft->options->facts && origin_is_weight(sample->origin))
		draft->weight_count += time_count;
	if (sample->values) {
		memcpy(draft->values.items + draft->values.count, sample->values,
		       time_count * sizeof(*sample->values));
		draft->values.count += time_count;
	}
	profile->sample_count++;
	if (sample->times[0] < profile->start)
		profile->start = sample->times[0];
	if (sample->times[time_count - 1] > profile->end)
		profile->end = sample->times[time_count - 1];
	return 0;
}

size_t otlp_draft_add(struct otlp_draft *draft, uint32_t resource,
		      const struct otlp_draft_sample *sample)
{
	struct otlp_dictionary *dictionary = draft->dictionary;
	size_t count = draft->profiles.count;
	bool is_new = begins_profile(draft, resource, sample->origin);
	size_t bytes = draft->bytes + (is_new ? profile_bytes(draft, resource) : 0);
	size_t time_count = sample->time_count;
	size_t other_bytes;

	otlp_dictionary_mark(dictionary);
	if (is_new)
		use_profile(draft, sample->origin);
	otlp_dictionary_use(dictionary, OTLP_STACKS, sample->stack);
	for (uint32_t i = 0; i < sample->attribute_count; i++)
		otlp_dictionary_use(dictionary, OTLP_ATTRIBUTES, sample->attributes[i]);
	other_bytes = bytes + otlp_dictionary_bytes(dictionary);
	if (other_bytes + sample_bytes(sample, time_count) > draft->options->max_request_bytes) {
		if (count) {
			otlp_dictionary_take_back(dictionary);
			return 0;
		}
		time_count = fitting_times(draft, sample, other_bytes);
	}
	if (!dictionary->err && is_new)
		dictionary->err = start_profile(draft, resource, sample->origin);
	if (!dictionary->err)
		dictionary->err = append_sample(draft, sample, time_count);
	draft->bytes = bytes + sample_bytes(sample, time_count);
	return dictionary->err ? 0 : time_count;
}

int otlp_draft_finish(struct otlp_draft *draft, struct otlp_request *request)
{
	int err = draft->dictionary->err;

	if (!err) {
		otlp_dictionary_set_indexes(draft->dictionary);
		err = otlp_encode(draft, request);
	}
	otlp_dictionary_forget_uses(draft->dictionary);
	draft->profiles.count = 0;
	draft->samples.count = 0;
	draft->times.count = 0;
	draft->values.count = 0;
	draft->weight_count = 0;
	draft->bytes = 0;
	return err;
}
