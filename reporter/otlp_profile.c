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

/* Numbers at the start of an identity; the ids of the attributes follow. */
enum identity_number {
	IDENTITY_RESOURCE,
	IDENTITY_ORIGIN,
	IDENTITY_STACK,
	IDENTITY_FIRST_ATTRIBUTE,
};

/* A stored sample and its identity. */
struct chunk {
	uint32_t resource;
	uint32_t origin;
	uint32_t stack;
	uint32_t identity;
	uint32_t sample;
};

VECTOR_DEFINE(chunk_vector, struct chunk)

struct build {
	const struct sample_snapshot *snapshot;
	const struct otlp_window *window;
	otlp_request_fn take;
	void *context;
	/* Keeps the first error until the end. */
	struct otlp_dictionary dictionary;
	struct otlp_attributes attributes;
	struct sequence_counts identities;
	struct chunk_vector chunks;
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
	struct chunk chunk = { .sample = index, .origin = sample->sample.origin };
	size_t identity_index = 0;

	if (!sample->count)
		return;
	if (!sample->times_ns) {
		build->dictionary.err = -EINVAL;
		return;
	}
	identity->count = IDENTITY_FIRST_ATTRIBUTE;
	chunk.resource = otlp_attributes_append(&build->attributes, sample, identity);
	chunk.stack = otlp_frames_stack(frames, sample->sample.trace);
	identity->items[IDENTITY_RESOURCE] = chunk.resource;
	identity->items[IDENTITY_ORIGIN] = chunk.origin;
	identity->items[IDENTITY_STACK] = chunk.stack;
	if (!build->dictionary.err)
		build->dictionary.err =
			sequence_counts_index(&build->identities, identity, &identity_index);
	chunk.identity = identity_index;
	if (!build->dictionary.err)
		build->dictionary.err = chunk_vector_push(&build->chunks, chunk);
}

static int compare_chunks(const void *a, const void *b)
{
	const struct chunk *chunk_a = a, *chunk_b = b;

	if (chunk_a->resource != chunk_b->resource)
		return chunk_a->resource < chunk_b->resource ? -1 : 1;
	if (chunk_a->origin != chunk_b->origin)
		return chunk_a->origin < chunk_b->origin ? -1 : 1;
	if (chunk_a->stack != chunk_b->stack)
		return chunk_a->stack < chunk_b->stack ? -1 : 1;
	if (chunk_a->identity != chunk_b->identity)
		return chunk_a->identity < chunk_b->identity ? -1 : 1;
	return (chunk_a->sample > chunk_b->sample) - (chunk_a->sample < chunk_b->sample);
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
	if (build->chunks.count)
		qsort(build->chunks.items, build->chunks.count, sizeof(*build->chunks.items),
		      compare_chunks);
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

/* Adds the sample that @count equal chunks form. */
static void add_chunks(struct build *build, const struct chunk *chunks, size_t count)
{
	const struct counted_sequence *identity =
		&build->identities.sequences.items[chunks[0].identity];
	const uint32_t *numbers = build->identities.numbers.items + identity->first;
	struct otlp_draft_sample sample = {
		.stack = chunks[0].stack,
		.origin = chunks[0].origin,
		.attributes = numbers + IDENTITY_FIRST_ATTRIBUTE,
		.attribute_count = identity->length - IDENTITY_FIRST_ATTRIBUTE,
	};

	build->times.count = 0;
	build->values.count = 0;
	for (size_t i = 0; i < count; i++)
		append_times(build, &build->snapshot->samples[chunks[i].sample]);
	if (build->dictionary.err)
		return;
	sample.times = build->times.items;
	sample.time_count = build->times.count;
	if (build->values.count)
		sample.values = build->values.items;
	if (count > 1)
		sort_times(build->times.items, sample.values ? build->values.items : NULL,
			   build->times.count);
	add_sample(build, chunks[0].resource, &sample);
}

static void add_all(struct build *build)
{
	const struct chunk_vector *chunks = &build->chunks;
	size_t next;

	for (size_t first = 0; first < chunks->count && !build->dictionary.err; first = next) {
		next = first + 1;
		while (next < chunks->count &&
		       chunks->items[next].identity == chunks->items[first].identity)
			next++;
		add_chunks(build, &chunks->items[first], next - first);
	}
	if (build->draft.samples.count && !build->dictionary.err)
		finish_request(build);
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
	identify_all(&build, options->lookup);
	if (!build.dictionary.err)
		add_all(&build);
	err = build.dictionary.err;
	otlp_draft_deinit(&build.draft);
	otlp_time_vector_deinit(&build.times);
	otlp_time_vector_deinit(&build.values);
	chunk_vector_deinit(&build.chunks);
	sequence_counts_deinit(&build.identities);
	otlp_attributes_deinit(&build.attributes);
	otlp_dictionary_deinit(&build.dictionary);
	return err;
}
