/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merging by text without ever building the text of a whole stack: texts of frames hold no `;`, so
 * two stacks read the same just if their lists of texts are the same.
 */

#include "reporter/stack_counts.h"

#include <errno.h>
#include <string.h>

#include "reporter/stack_text.h"

/* State of the merge, gone when it is done. */
struct merge {
	struct stack_counts *counts;
	struct symbol_lookup *lookup;
	bool with_lines;
	/* Text -> number. */
	struct hash_map text_numbers;
	/* struct native_key -> first << 8 | count of its texts in expansions. */
	struct hash_map native_frames;
	struct number_vector expansions;
	struct number_vector stack;
	struct text_builder text;
};

struct native_key {
	uint64_t binary;
	uint64_t address;
	uint64_t flags;
};

_Static_assert(FRAME_MAX_NAMES < 256, "the count has 8 bits");

static enum text_kind kind_of(const struct named_frame *name)
{
	const struct frame *frame = name->frame;

	switch (frame->kind) {
	case FRAME_ERROR:
		return TEXT_ERROR;
	case FRAME_KERNEL:
		return TEXT_KERNEL;
	case FRAME_PYTHON:
		return TEXT_PYTHON;
	case FRAME_JAVA:
		return TEXT_JAVA;
	}
	if (name->is_go)
		return TEXT_GO;
	return is_made_at_run_time(frame) ? TEXT_JIT : TEXT_NATIVE;
}

static struct text_trait trait_of(const struct named_frame *name)
{
	bool is_guess = name->frame->flags & FRAME_GUESS;
	/* The method that has the code is what it is; only its line is a nearby one. */
	bool is_approximate = name->is_approximate && name->is_inlined;

	return (struct text_trait){
		.kind = kind_of(name),
		.flags = (name->is_inlined ? TEXT_INLINED : 0) | (is_guess ? TEXT_GUESS : 0) |
			 (is_approximate ? TEXT_APPROXIMATE : 0),
	};
}

/* The number of the text in merge->text, which is of @trait if it is a new one. */
static int number_text(struct merge *merge, struct text_trait trait, uint32_t *number)
{
	struct text_vector *texts = &merge->counts->texts;
	const char *text = text_builder_text(&merge->text);
	uint64_t found;
	char *copy;
	int err;

	if (merge->text.failed)
		return -ENOMEM;
	if (hash_map_find_bytes(&merge->text_numbers, text, merge->text.length, &found)) {
		*number = found;
		return 0;
	}
	err = text_vector_reserve(texts, texts->count + 1);
	if (!err)
		err = text_trait_vector_reserve(&merge->counts->traits, texts->count + 1);
	if (err)
		return err;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	err = hash_map_set_bytes(&merge->text_numbers, text, merge->text.length, texts->count);
	if (err) {
		free(copy);
		return err;
	}
	*number = texts->count;
	err = text_trait_vector_push(&merge->counts->traits, trait);
	return err ? err : text_vector_push(texts, copy);
}

/* Appends the texts of @frame, outermost first, to @numbers. */
static int expand_frame(struct merge *merge, const struct frame *frame,
			struct number_vector *numbers)
{
	struct named_frame names[FRAME_MAX_NAMES];
	uint32_t count = name_frame(frame, merge->lookup, names);

	while (count-- > 0) {
		uint32_t number;
		int err;

		text_builder_clear(&merge->text);
		append_frame_text(&merge->text, &names[count], merge->with_lines);
		err = number_text(merge, trait_of(&names[count]), &number);
		if (!err)
			err = number_vector_push(numbers, number);
		if (err)
			return err;
	}
	return 0;
}

static int push_native_frame(struct merge *merge, const struct frame *frame)
{
	struct native_key key = {
		.binary = (uintptr_t)frame->binary,
		.address = frame_lookup_address(frame),
		.flags = frame->flags & (FRAME_GUESS | FRAME_PANICS),
	};
	size_t first = merge->expansions.count;
	uint64_t place;
	int err = 0;

	if (!hash_map_find_bytes(&merge->native_frames, &key, sizeof(key), &place)) {
		err = expand_frame(merge, frame, &merge->expansions);
		if (err)
			return err;
		place = (uint64_t)first << 8 | (merge->expansions.count - first);
		err = hash_map_set_bytes(&merge->native_frames, &key, sizeof(key), place);
	}
	for (uint64_t i = 0; i < (place & 0xff) && !err; i++)
		err = number_vector_push(&merge->stack, merge->expansions.items[(place >> 8) + i]);
	return err;
}

static int push_comm(struct merge *merge, const char *comm)
{
	uint32_t number;
	int err;

	text_builder_clear(&merge->text);
	append_comm_text(&merge->text, comm);
	err = number_text(merge, (struct text_trait){ .kind = TEXT_PROCESS }, &number);
	return err ? err : number_vector_push(&merge->stack, number);
}

static int merge_sample(struct merge *merge, const struct stored_sample *sample)
{
	const struct trace *trace = sample->trace;
	int err;

	merge->stack.count = 0;
	err = push_comm(merge, sample->process_comm);
	for (uint32_t i = trace->frame_count; i-- > 0 && !err;) {
		struct frame frame;

		if (!trace_shown_frame(trace, i, merge->lookup, &frame))
			continue;
		if (!frame_carries_name(&frame))
			err = push_native_frame(merge, &frame);
		else
			err = expand_frame(merge, &frame, &merge->stack);
	}
	if (err)
		return err;
	merge->counts->total += sample->count;
	return sequence_counts_add(&merge->counts->stacks, &merge->stack, sample->count);
}

static int compare_stacks(const void *a, const void *b, void *context)
{
	const struct counted_sequence *stack_a = a, *stack_b = b;
	const struct stack_counts *counts = context;
	const uint32_t *numbers = counts->stacks.numbers.items;

	if (stack_a->count != stack_b->count)
		return stack_a->count < stack_b->count ? 1 : -1;
	for (size_t i = 0; i < stack_a->length && i < stack_b->length; i++) {
		uint32_t text_a = numbers[stack_a->first + i];
		uint32_t text_b = numbers[stack_b->first + i];

		if (text_a != text_b)
			return strcmp(counts->texts.items[text_a], counts->texts.items[text_b]);
	}
	return (stack_a->length > stack_b->length) - (stack_a->length < stack_b->length);
}

int stack_counts_init(struct stack_counts *counts, const struct sample_snapshot *snapshot,
		      struct symbol_lookup *lookup, bool with_lines)
{
	struct stack_counts fresh = { 0 };
	struct merge merge = { .counts = &fresh, .lookup = lookup, .with_lines = with_lines };
	int err = 0;

	for (size_t i = 0; i < snapshot->count && !err; i++)
		err = merge_sample(&merge, &snapshot->samples[i]);
	hash_map_deinit(&merge.text_numbers);
	hash_map_deinit(&merge.native_frames);
	number_vector_deinit(&merge.expansions);
	number_vector_deinit(&merge.stack);
	text_builder_deinit(&merge.text);
	if (err) {
		stack_counts_deinit(&fresh);
		return err;
	}
	/* The order of the list changes now: its index would point to wrong places. */
	hash_map_deinit(&fresh.stacks.indexes);
	if (fresh.stacks.sequences.count)
		qsort_r(fresh.stacks.sequences.items, fresh.stacks.sequences.count,
			sizeof(*fresh.stacks.sequences.items), compare_stacks, &fresh);
	*counts = fresh;
	return 0;
}

void stack_counts_deinit(struct stack_counts *counts)
{
	for (size_t i = 0; i < counts->texts.count; i++)
		free(counts->texts.items[i]);
	text_vector_deinit(&counts->texts);
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
		fputs(counts->texts.items[counts->stacks.numbers.items[stack->first + i]], out);
	}
}
