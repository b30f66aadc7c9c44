/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First every sample gets its identity (resource, origin, stack, attributes) as numbers, and
 * samples are sorted by them. Then equal samples are adjacent and are merged, and a resource is
 * contiguous, with its origins one after the other. Finally the samples are added to requests in
 * this order.
 */

#include "reporter/otlp_profile.h"

#include <errno.h>
#include <stdlib.h>

#include "reporter/otlp_frames.h"
#include "reporter/otlp_request.h"
#include "reporter/sort_times.h"

/* The semantic conventions' key for comments of a profile. */
#define COMMENT_KEY "pprof.profile.comment"

/* Numbers at the start of an identity; the ids of the attributes follow. */
enum identity_number {
	IDENTITY_RESOURCE,
	IDENTITY_ORIGIN,
	IDENTITY_STACK,
	IDENTITY_FIRST_ATTRIBUTE,
};

/* A stored sample and its identity. */
struct identified_sample {
	uint32_t resource;
	uint32_t origin;
	uint32_t stack;
	uint32_t identity;
	uint32_t sample;
};

VECTOR_DEFINE(identified_sample_vector, struct identified_sample)

struct build {
	const struct sample_snapshot *snapshot;
	const struct otlp_window *window;
	otlp_request_fn take;
	void *context;
	/* Keeps the first error until the end. */
	struct otlp_dictionary dictionary;
	struct otlp_attributes attributes;
	struct sequence_counts identities;
	struct identified_sample_vector samples;
	struct otlp_draft draft;
	/* The times of merged samples, and their values if the origin has values. */
	struct otlp_time_vector times;
	struct otlp_time_vector values;
};

/* --- identities --- */

static void identify(struct build *build, struct otlp_frames *frames, size_t index,
		     struct number_vector *identity)
{
	const struct stored_sample *sample = &build->snapshot->samples[index];
	struct identified_sample identified = { .sample = index, .origin = sample->sample.origin };
	size_t identity_index = 0;

	if (!sample->count)
		return;
	if (!sample->times_ns) {
		build->dictionary.err = -EINVAL;
		return;
	}
	identity->count = IDENTITY_FIRST_ATTRIBUTE;
	identified.resource = otlp_attributes_append(&build->attributes, sample, identity);
	identified.stack = otlp_frames_stack(frames, sample->sample.trace);
	identity->items[IDENTITY_RESOURCE] = identified.resource;
	identity->items[IDENTITY_ORIGIN] = identified.origin;
	identity->items[IDENTITY_STACK] = identified.stack;
	if (!build->dictionary.err)
		build->dictionary.err =
			sequence_counts_index(&build->identities, identity, &identity_index);
	identified.identity = identity_index;
	if (!build->dictionary.err)
		build->dictionary.err = identified_sample_vector_push(&build->samples, identified);
}

static int compare_samples(const void *a, const void *b)
{
	const struct identified_sample *sample_a = a, *sample_b = b;

	if (sample_a->resource != sample_b->resource)
		return sample_a->resource < sample_b->resource ? -1 : 1;
	if (sample_a->origin != sample_b->origin)
		return sample_a->origin < sample_b->origin ? -1 : 1;
	if (sample_a->stack != sample_b->stack)
		return sample_a->stack < sample_b->stack ? -1 : 1;
	if (sample_a->identity != sample_b->identity)
		return sample_a->identity < sample_b->identity ? -1 : 1;
	return (sample_a->sample > sample_b->sample) - (sample_a->sample < sample_b->sample);
}

static void identify_all(struct build *build, struct symbol_lookup *lookup)
{
	struct number_vector identity = { 0 };
	struct otlp_frames frames;

	otlp_frames_init(&frames, &build->dictionary, lookup);
	if (!build->dictionary.err)
		build->dictionary.err = number_vector_reserve(&identity, IDENTITY_FIRST_ATTRIBUTE);
	for (size_t i = 0; i < build->snapshot->count && !build->dictionary.err; i++)
		identify(build, &frames, i, &identity);
	otlp_frames_deinit(&frames);
	if (lookup && lookup->ops->rest)
		lookup->ops->rest(lookup);
	number_vector_deinit(&identity);
	/*
	 * Sorted by stacks, which were numbered in the order in which they were met: neighbours
	 * have similar bytes.
	 */
	if (build->samples.count)
		qsort(build->samples.items, build->samples.count, sizeof(*build->samples.items),
		      compare_samples);
}

/* --- requests --- */

static void finish_request(struct build *build)
{
	struct otlp_request request;
	int err = otlp_draft_finish(&build->draft, &request);

	if (!err)
		err = build->take(build->context, &request);
	if (!build->dictionary.err)
		build->dictionary.err = err;
}

static void add_sample(struct build *build, uint32_t resource, struct otlp_draft_sample *sample)
{
	while (sample->time_count && !build->dictionary.err) {
		size_t taken = otlp_draft_add(&build->draft, resource, sample);

		sample->times += taken;
		sample->values += sample->values ? taken : 0;
		sample->time_count -= taken;
		if (sample->time_count && !build->dictionary.err)
			finish_request(build);
	}
}

static void append_times(struct build *build, const struct stored_sample *sample)
{
	for (uint64_t i = 0; i < sample->count && !build->dictionary.err; i++)
		build->dictionary.err = otlp_time_vector_push(
			&build->times, otlp_realtime(build->window, sample->times_ns[i]));
	for (uint64_t i = 0; sample->values && i < sample->count && !build->dictionary.err; i++)
		build->dictionary.err = otlp_time_vector_push(&build->values, sample->values[i]);
}

/* Adds the sample that @count samples of one identity form. */
static void add_merged(struct build *build, const struct identified_sample *samples, size_t count)
{
	const struct counted_sequence *identity =
		&build->identities.sequences.items[samples[0].identity];
	const uint32_t *numbers = build->identities.numbers.items + identity->first;
	struct otlp_draft_sample sample = {
		.stack = samples[0].stack,
		.origin = samples[0].origin,
		.attributes = numbers + IDENTITY_FIRST_ATTRIBUTE,
		.attribute_count = identity->length - IDENTITY_FIRST_ATTRIBUTE,
	};

	build->times.count = 0;
	build->values.count = 0;
	for (size_t i = 0; i < count; i++)
		append_times(build, &build->snapshot->samples[samples[i].sample]);
	if (build->dictionary.err)
		return;
	sample.times = build->times.items;
	sample.time_count = build->times.count;
	if (build->values.count)
		sample.values = build->values.items;
	if (count > 1)
		sort_times(build->times.items, sample.values ? build->values.items : NULL,
			   build->times.count);
	add_sample(build, samples[0].resource, &sample);
}

static void add_all(struct build *build)
{
	const struct identified_sample_vector *samples = &build->samples;
	size_t next;

	for (size_t first = 0; first < samples->count && !build->dictionary.err; first = next) {
		next = first + 1;
		while (next < samples->count &&
		       samples->items[next].identity == samples->items[first].identity)
			next++;
		add_merged(build, &samples->items[first], next - first);
	}
	if (build->draft.samples.count && !build->dictionary.err)
		finish_request(build);
}

/* --- comments --- */

struct comment_list {
	struct otlp_dictionary *dictionary;
	struct number_vector ids;
};

static void list_comment(void *context, const char *comment)
{
	struct comment_list *list = context;
	uint32_t id = otlp_add_string(list->dictionary, comment);

	if (!list->dictionary->err)
		list->dictionary->err = number_vector_push(&list->ids, id);
}

/* The attribute with all comments; 0 if there are none. */
static uint32_t add_comments(struct otlp_dictionary *dictionary, const struct profile_info *info,
			     const struct sample_snapshot *snapshot)
{
	struct comment_list list = { .dictionary = dictionary };
	struct otlp_attribute_entry entry = { .kind = OTLP_VALUE_TEXTS };
	uint32_t id = 0;
	int err = profile_info_comments(info, snapshot, list_comment, &list);

	if (err && !dictionary->err)
		dictionary->err = err;
	if (list.ids.count) {
		entry.key = otlp_add_string(dictionary, COMMENT_KEY);
		entry.texts = list.ids.items;
		entry.text_count = list.ids.count;
		id = otlp_add_attribute(dictionary, &entry);
	}
	number_vector_deinit(&list.ids);
	return id;
}

int otlp_build_requests(const struct sample_snapshot *snapshot, const struct otlp_window *window,
			const struct otlp_options *options, otlp_request_fn take, void *context)
{
	struct build build = {
		.snapshot = snapshot,
		.window = window,
		.take = take,
		.context = context,
	};
	int err;

	otlp_dictionary_init(&build.dictionary);
	otlp_attributes_init(&build.attributes, &build.dictionary, options);
	otlp_draft_init(&build.draft, &build.dictionary, &build.attributes, window, options);
	if (options->info)
		build.draft.comments = add_comments(&build.dictionary, options->info, snapshot);
	identify_all(&build, options->lookup);
	if (!build.dictionary.err)
		add_all(&build);
	err = build.dictionary.err;
	otlp_draft_deinit(&build.draft);
	otlp_time_vector_deinit(&build.times);
	otlp_time_vector_deinit(&build.values);
	identified_sample_vector_deinit(&build.samples);
	sequence_counts_deinit(&build.identities);
	otlp_attributes_deinit(&build.attributes);
	otlp_dictionary_deinit(&build.dictionary);
	return err;
}
