// SPDX-License-Identifier: Apache-2.0
#include "reporter/function_counts.h"

#include <errno.h>
#include <string.h>

struct function_key {
	uint32_t name;
	uint32_t file;
	uint32_t kind;
};

struct process_key {
	uint32_t name;
	uint32_t pid;
};

/* Finds the id of counts->text. */
static int intern_string(struct function_counts *counts, uint32_t *id)
{
	const char *text = text_builder_text(&counts->text);
	uint64_t found;
	char *copy;
	int err;

	if (counts->text.failed)
		return -ENOMEM;
	if (hash_map_find_bytes(&counts->string_ids, text, counts->text.length, &found)) {
		*id = (uint32_t)found;
		return 0;
	}
	err = text_vector_reserve(&counts->strings, counts->strings.count + 1);
	if (err)
		return err;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	err = hash_map_set_bytes(&counts->string_ids, text, counts->text.length,
				 counts->strings.count);
	if (err) {
		free(copy);
		return err;
	}
	*id = (uint32_t)counts->strings.count;
	return text_vector_push(&counts->strings, copy);
}

static int intern_function(struct function_counts *counts, uint32_t name, uint32_t file,
			   struct text_trait trait, uint32_t *id)
{
	const struct function_key key = { .name = name, .file = file, .kind = trait.kind };
	const struct counted_function fresh = { .name = name, .file = file, .trait = trait };
	uint64_t found;
	int err;

	if (hash_map_find_bytes(&counts->function_ids, &key, sizeof(key), &found)) {
		*id = (uint32_t)found;
		return 0;
	}
	err = counted_function_vector_reserve(&counts->functions, counts->functions.count + 1);
	if (!err)
		err = hash_map_set_bytes(&counts->function_ids, &key, sizeof(key),
					 counts->functions.count);
	if (err)
		return err;
	*id = (uint32_t)counts->functions.count;
	return counted_function_vector_push(&counts->functions, fresh);
}

static const char *without_folders(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The file beside the function's name. */
static const char *file_of(const struct named_frame *name)
{
	const struct frame *frame = name->frame;

	if (frame->kind == FRAME_KERNEL)
		return frame->file ? frame->file : "";
	if (frame->kind == FRAME_NATIVE && frame->binary && !frame->binary->is_nowhere)
		return binary_name(frame->binary);
	return name->file ? without_folders(name->file) : "";
}

static int intern_name(void *context, const struct named_frame *name, uint32_t *id)
{
	struct function_counts *counts = context;
	uint32_t text, file;
	int err;

	text_builder_clear(&counts->text);
	append_frame_text(&counts->text, name, false);
	err = intern_string(counts, &text);
	if (err)
		return err;
	text_builder_clear(&counts->text);
	text_builder_append_name(&counts->text, file_of(name));
	err = intern_string(counts, &file);
	return err ? err : intern_function(counts, text, file, frame_trait(name), id);
}

/* Counts the process, and adds it to the stack as its outermost function. */
static int add_process(struct function_counts *counts, const struct sample *sample, uint64_t count)
{
	struct process_key key = { .pid = sample->pid };
	struct counted_process fresh = { .pid = sample->pid, .count = count };
	uint32_t no_file, function;
	uint64_t found;
	int err;

	text_builder_clear(&counts->text);
	err = intern_string(counts, &no_file);
	append_comm_text(&counts->text, sample->process_comm);
	if (!err)
		err = intern_string(counts, &key.name);
	if (!err)
		err = intern_function(counts, key.name, no_file,
				      (struct text_trait){ .kind = TEXT_PROCESS }, &function);
	if (!err)
		err = number_vector_push(&counts->stack, function);
	if (err)
		return err;
	if (hash_map_find_bytes(&counts->process_ids, &key, sizeof(key), &found)) {
		counts->processes.items[found].count += count;
		return 0;
	}
	fresh.name = key.name;
	err = hash_map_set_bytes(&counts->process_ids, &key, sizeof(key), counts->processes.count);
	return err ? err : counted_process_vector_push(&counts->processes, fresh);
}

static void count_functions(struct function_counts *counts, uint64_t count)
{
	const struct number_vector *stack = &counts->stack;

	counts->stack_count++;
	for (size_t i = 0; i < stack->count; i++) {
		struct counted_function *function = &counts->functions.items[stack->items[i]];

		if (function->last_stack != counts->stack_count)
			function->total += count;
		function->last_stack = counts->stack_count;
	}
	if (stack->count)
		counts->functions.items[stack->items[stack->count - 1]].self += count;
}

void function_counts_init(struct function_counts *counts, struct symbol_lookup *lookup)
{
	*counts = (struct function_counts){
		.ids = { .lookup = lookup, .intern = intern_name, .context = counts },
	};
}

void function_counts_deinit(struct function_counts *counts)
{
	for (size_t i = 0; i < counts->strings.count; i++)
		free(counts->strings.items[i]);
	text_vector_deinit(&counts->strings);
	counted_function_vector_deinit(&counts->functions);
	counted_process_vector_deinit(&counts->processes);
	sequence_counts_deinit(&counts->stacks);
	hash_map_deinit(&counts->string_ids);
	hash_map_deinit(&counts->function_ids);
	hash_map_deinit(&counts->process_ids);
	stack_ids_deinit(&counts->ids);
	number_vector_deinit(&counts->stack);
	text_builder_deinit(&counts->text);
	*counts = (struct function_counts){ 0 };
}

int function_counts_add(struct function_counts *counts, const struct sample *sample, uint64_t count)
{
	int err = 0;

	counts->stack.count = 0;
	/* As in the folded file: a stack of nothing is the unknown process. */
	if (sample_has_process(sample) || !sample->trace->frame_count)
		err = add_process(counts, sample, count);
	if (!err)
		err = stack_ids_append(&counts->ids, sample->trace, &counts->stack);
	if (!err)
		err = sequence_counts_add(&counts->stacks, &counts->stack, count, 0);
	if (err)
		return err;
	count_functions(counts, count);
	counts->total += count;
	return 0;
}
