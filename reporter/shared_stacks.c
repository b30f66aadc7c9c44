/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/shared_stacks.h"

#include <errno.h>
#include <string.h>

#include "reporter/stack_ids.h"

/* State while the tables are made. */
struct builder {
	struct shared_stacks *stacks;
	bool with_marks;
	struct stack_ids ids;
	struct number_vector path;
	struct text_builder text;
	/* Maps the address of a trace to its stack. */
	struct hash_map traces;
};

/* The index of builder->text, which is then empty. */
static int intern_text(struct builder *builder, uint32_t *id)
{
	struct shared_stacks *stacks = builder->stacks;
	const char *text = text_builder_text(&builder->text);
	uint64_t index = stacks->texts.count;
	char *copy;
	int err = 0;

	if (builder->text.failed)
		return -ENOMEM;
	if (!hash_map_find_bytes(&stacks->text_ids, text, builder->text.length, &index)) {
		copy = strdup(text);
		if (!copy)
			return -ENOMEM;
		err = shared_text_vector_push(&stacks->texts, copy);
		if (err)
			free(copy);
		else
			err = hash_map_set_bytes(&stacks->text_ids, text, builder->text.length,
						 index);
	}
	text_builder_clear(&builder->text);
	*id = (uint32_t)index;
	return err;
}

static int intern_library(struct builder *builder, const struct frame *frame, uint32_t *id)
{
	struct shared_stacks *stacks = builder->stacks;
	uint64_t index = stacks->libraries.count;
	int err;

	*id = SHARED_NONE;
	if (!frame->binary || frame->binary->is_nowhere)
		return 0;
	if (!hash_map_find(&stacks->library_ids, (uintptr_t)frame->binary, &index)) {
		err = shared_library_vector_push(&stacks->libraries, frame->binary);
		if (!err)
			err = hash_map_set(&stacks->library_ids, (uintptr_t)frame->binary, index);
		if (err)
			return err;
	}
	*id = (uint32_t)index;
	return 0;
}

/* Finds the index of an entry in its table, or adds it by @push. Entries have no padding that differs. */
#define INTERN(table, map, entry, id)                                                              \
	({                                                                                         \
		uint64_t intern_index = (table)->count;                                            \
		int intern_err = 0;                                                                \
		if (!hash_map_find_bytes(map, &(entry), sizeof(entry), &intern_index)) {           \
			intern_err =                                                               \
				hash_map_set_bytes(map, &(entry), sizeof(entry), intern_index);    \
			if (!intern_err)                                                           \
				intern_err = PUSH(table, entry);                                   \
		}                                                                                  \
		*(id) = (uint32_t)intern_index;                                                    \
		intern_err;                                                                        \
	})
#define PUSH(table, entry)                                                                         \
	_Generic((table), struct shared_function_vector *                                          \
		 : shared_function_vector_push, struct shared_frame_vector *                       \
		 : shared_frame_vector_push, struct shared_stack_vector *                          \
		 : shared_stack_vector_push)(table, entry)

static int intern_function(struct builder *builder, const struct named_frame *name, uint32_t *id)
{
	struct shared_function function;
	int err;

	memset(&function, 0, sizeof(function));
	append_frame_name(&builder->text, name);
	text_builder_append(&builder->text,
			    builder->with_marks ? frame_mark(name, false) : doubt_suffix(name));
	err = intern_text(builder, &function.name);
	if (err)
		return err;
	text_builder_append_name(&builder->text, name->file ? name->file : "");
	err = intern_text(builder, &function.file);
	if (!err)
		err = intern_library(builder, name->frame, &function.library);
	function.trait = frame_trait(name);
	return err ? err :
		     INTERN(&builder->stacks->functions, &builder->stacks->function_ids, function,
			    id);
}

static int intern_frame(void *context, const struct named_frame *name, uint32_t *id)
{
	struct builder *builder = context;
	struct shared_frame frame = { .line = name->line, .column = name->column };
	int err = intern_function(builder, name, &frame.function);

	return err ? err : INTERN(&builder->stacks->frames, &builder->stacks->frame_ids, frame, id);
}

static int intern_stack(struct builder *builder, const struct trace *trace, uint32_t *id)
{
	struct shared_stack stack = { .caller = SHARED_NONE };
	int err;

	builder->path.count = 0;
	err = stack_ids_append(&builder->ids, trace, &builder->path);
	for (size_t i = 0; i < builder->path.count && !err; i++) {
		stack.frame = builder->path.items[i];
		err = INTERN(&builder->stacks->stacks, &builder->stacks->stack_ids, stack,
			     &stack.caller);
	}
	*id = stack.caller;
	return err;
}

static int add_sample(struct builder *builder, const struct stored_sample *sample)
{
	uint64_t trace = (uintptr_t)sample->sample.trace, known;
	uint32_t id;
	int err = 0;

	if (hash_map_find(&builder->traces, trace, &known)) {
		id = (uint32_t)known;
	} else {
		err = intern_stack(builder, sample->sample.trace, &id);
		if (!err)
			err = hash_map_set(&builder->traces, trace, id);
	}
	return err ? err : number_vector_push(&builder->stacks->of_samples, id);
}

int shared_stacks_init(struct shared_stacks *stacks, const struct sample_snapshot *snapshot,
		       struct symbol_lookup *lookup, bool with_marks)
{
	struct shared_stacks fresh = { 0 };
	struct builder builder = {
		.stacks = &fresh,
		.with_marks = with_marks,
		.ids = { .lookup = lookup, .intern = intern_frame, .context = &builder },
	};
	uint32_t empty;
	int err = intern_text(&builder, &empty);

	for (size_t i = 0; i < snapshot->count && !err; i++)
		err = add_sample(&builder, &snapshot->samples[i]);
	stack_ids_deinit(&builder.ids);
	number_vector_deinit(&builder.path);
	text_builder_deinit(&builder.text);
	hash_map_deinit(&builder.traces);
	if (err)
		shared_stacks_deinit(&fresh);
	else
		*stacks = fresh;
	return err;
}

void shared_stacks_deinit(struct shared_stacks *stacks)
{
	for (size_t i = 0; i < stacks->texts.count; i++)
		free(stacks->texts.items[i]);
	shared_text_vector_deinit(&stacks->texts);
	shared_library_vector_deinit(&stacks->libraries);
	shared_function_vector_deinit(&stacks->functions);
	shared_frame_vector_deinit(&stacks->frames);
	shared_stack_vector_deinit(&stacks->stacks);
	number_vector_deinit(&stacks->of_samples);
	hash_map_deinit(&stacks->text_ids);
	hash_map_deinit(&stacks->library_ids);
	hash_map_deinit(&stacks->function_ids);
	hash_map_deinit(&stacks->frame_ids);
	hash_map_deinit(&stacks->stack_ids);
	memset(stacks, 0, sizeof(*stacks));
}
