/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges by text without building the text of a whole stack. Texts of frames contain no `;`, so two
 * stacks have the same text exactly if their lists of strings are equal.
 */

#include "reporter/stack_counts.h"

#include <errno.h>
#include <string.h>

#include "lib/model/origins.h"
#include "reporter/stack_ids.h"
#include "reporter/stack_text.h"

/* State of the merge; freed when it is done. */
struct merge {
	struct stack_counts *counts;
	bool with_lines;
	/* Maps a text to its id. */
	struct hash_map string_ids;
	struct stack_ids ids;
	struct number_vector stack;
	struct text_builder text;
};

/* Finds the id of merge->text. A new string gets @trait. */
static int intern_string(struct merge *merge, struct text_trait trait, uint32_t *id)
{
	struct text_vector *strings = &merge->counts->strings;
	const char *text = text_builder_text(&merge->text);
	uint64_t found;
	char *copy;
	int err;

	if (merge->text.failed)
		return -ENOMEM;
	if (hash_map_find_bytes(&merge->string_ids, text, merge->text.length, &found)) {
		*id = found;
		return 0;
	}
	err = text_vector_reserve(strings, strings->count + 1);
	if (!err)
		err = text_trait_vector_reserve(&merge->counts->traits, strings->count + 1);
	if (err)
		return err;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	err = hash_map_set_bytes(&merge->string_ids, text, merge->text.length, strings->count);
	if (err) {
		free(copy);
		return err;
	}
	*id = strings->count;
	err = text_trait_vector_push(&merge->counts->traits, trait);
	return err ? err : text_vector_push(strings, copy);
}

static int intern_name(void *context, const struct named_frame *name, uint32_t *id)
{
	struct merge *merge = context;

	text_builder_clear(&merge->text);
	append_frame_text(&merge->text, name, merge->with_lines);
	return intern_string(merge, frame_trait(name), id);
}

static int push_comm(struct merge *merge, const char *comm)
{
	uint32_t id;
	int err;

	text_builder_clear(&merge->text);
	append_comm_text(&merge->text, comm);
	err = intern_string(merge, (struct text_trait){ .kind = TEXT_PROCESS }, &id);
	return err ? err : number_vector_push(&merge->stack, id);
}

static int merge_sample(struct merge *merge, const struct stored_sample *sample)
{
	uint64_t count = stored_sample_count(sample);
	int err = 0;

	merge->stack.count = 0;
	/* A stack of nothing is the unknown process. */
	if (sample_has_process(&sample->sample) || !sample->sample.trace->frame_count)
		err = push_comm(merge, sample->sample.process_comm);
	if (!err)
		err = stack_ids_append(&merge->ids, sample->sample.trace, &merge->stack);
	if (err)
		return err;
	merge->counts->total += count;
	return sequence_counts_add(&merge->counts->stacks, &merge->stack, count, 0);
}

static int compare_stacks(const void *a, const void *b, void *context)
{
	const struct counted_sequence *stack_a = a, *stack_b = b;
	const struct stack_counts *counts = context;
	const uint32_t *ids = counts->stacks.numbers.items;

	if (stack_a->count != stack_b->count)
		return (int64_t)stack_a->count < (int64_t)stack_b->count ? 1 : -1;
	for (size_t i = 0; i < stack_a->length && i < stack_b->length; i++) {
		uint32_t text_a = ids[stack_a->first + i];
		uint32_t text_b = ids[stack_b->first + i];

		if (text_a != text_b)
			return strcmp(counts->strings.items[text_a], counts->strings.items[text_b]);
	}
	return (stack_a->length > stack_b->length) - (stack_a->length < stack_b->length);
}

int stack_counts_init(struct stack_counts *counts, const struct sample_snapshot *snapshot,
		      struct symbol_lookup *lookup, bool with_lines, size_t max_bytes)
{
	return stack_counts_init_of(counts, snapshot, ORIGIN_CLOCK, lookup, with_lines, max_bytes);
}

int stack_counts_init_of(struct stack_counts *counts, const struct sample_snapshot *snapshot,
			 uint8_t origin, struct symbol_lookup *lookup, bool with_lines,
			 size_t max_bytes)
{
	struct stack_counts fresh = { 0 };
	struct merge merge = {
		.counts = &fresh,
		.with_lines = with_lines,
		.ids = { .lookup = lookup, .intern = intern_name, .context = &merge },
	};
	int err = 0;

	for (size_t i = 0; i < snapshot->count && !err; i++) {
		/* Counts of different origins cannot be added. */
		if (snapshot->samples[i].sample.origin != origin)
			continue;
		err = merge_sample(&merge, &snapshot->samples[i]);
		if (!err && fresh.stacks.numbers.count > max_bytes / sizeof(uint32_t))
			err = -E2BIG;
	}
	hash_map_deinit(&merge.string_ids);
	stack_ids_deinit(&merge.ids);
	number_vector_deinit(&merge.stack);
	text_builder_deinit(&merge.text);
	if (err) {
		stack_counts_deinit(&fresh);
		return err;
	}
	/* The list is sorted now, so the indexes in the map would be wrong. */
	hash_map_deinit(&fresh.stacks.indexes);
	if (fresh.stacks.sequences.count)
		qsort_r(fresh.stacks.sequences.items, fresh.stacks.sequences.count,
			sizeof(*fresh.stacks.sequences.items), compare_stacks, &fresh);
	*counts = fresh;
	return 0;
}

void stack_counts_deinit(struct stack_counts *counts)
{
	for (size_t i = 0; i < counts->strings.count; i++)
		free(counts->strings.items[i]);
	text_vector_deinit(&counts->strings);
	text_trait_vector_deinit(&counts->traits);
	sequence_counts_deinit(&counts->stacks);
	memset(counts, 0, sizeof(*counts));
}

void stack_counts_write_stack(const struct stack_counts *counts,
			      const struct counted_sequence *stack, FILE *out)
{
	for (size_t i = 0; i < stack->length; i++) {
		if (i)
			putc(';', out);
		fputs(counts->strings.items[counts->stacks.numbers.items[stack->first + i]], out);
	}
}
