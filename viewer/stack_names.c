/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/stack_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/hash128.h"

enum {
	/* Approximate memory of a map entry. */
	ENTRY_BYTES = 64,
};

_Static_assert(sizeof(struct function_identity) == 12, "struct function_identity has no padding");

struct cached_list {
	struct stack_identity stack;
	/* The number of keys that have it. */
	uint32_t keys;
	uint32_t count;
	uint32_t locations[];
};

/* --- ids --- */

int stack_names_intern(struct stack_names *names, const char *text, uint32_t *id)
{
	size_t bytes = strlen(text) + 1;
	uint64_t hash = hash64_bytes(text, bytes);
	int err;

	if (byte_pool_find(&names->strings, text, bytes, hash, id))
		return 0;
	err = byte_pool_reserve(&names->strings, bytes);
	if (err)
		return err;
	*id = byte_pool_add(&names->strings, text, bytes, hash);
	names->bytes += byte_pool_cost(bytes);
	return 0;
}

static int intern_built_string(struct stack_names *names, uint32_t *id)
{
	if (names->text.failed)
		return -ENOMEM;
	return stack_names_intern(names, text_builder_text(&names->text), id);
}

static int intern_function(struct stack_names *names, const struct function_identity *function,
			   uint32_t *id)
{
	uint64_t found = names->functions.count;
	int err;

	if (hash_map_find_bytes(&names->function_ids, function, sizeof(*function), &found)) {
		*id = (uint32_t)found;
		return 0;
	}
	err = function_vector_reserve(&names->functions, names->functions.count + 1);
	if (!err)
		err = hash_map_set_bytes(&names->function_ids, function, sizeof(*function), found);
	if (err)
		return err;
	names->bytes += 2 * sizeof(*function) + ENTRY_BYTES;
	*id = (uint32_t)found;
	return function_vector_push(&names->functions, *function);
}

/* No padding. */
struct position {
	uint32_t function;
	uint32_t line;
	uint32_t column;
};

/* The same with a binary. */
struct located {
	uint32_t position;
	uint32_t binary;
};

static int add_location(struct stack_names *names, const struct stack_location *location)
{
	struct position position = { .function = location->function,
				     .line = location->line,
				     .column = location->column };
	struct located located = { .position = location->position, .binary = location->binary };
	uint64_t id = names->locations.count;
	int err = stack_location_vector_reserve(&names->locations, names->locations.count + 1);

	if (!err)
		err = hash_map_set_bytes(&names->location_ids, &located, sizeof(located), id);
	if (!err && location->position == id) {
		err = hash_map_set_bytes(&names->position_ids, &position, sizeof(position), id);
		if (err)
			hash_map_remove_bytes(&names->location_ids, &located, sizeof(located),
					      NULL);
		names->bytes += sizeof(position) + ENTRY_BYTES;
	}
	if (err)
		return err;
	names->bytes += sizeof(*location) + sizeof(located) + ENTRY_BYTES;
	return stack_location_vector_push(&names->locations, *location);
}

/* @location has no position yet. */
static int intern_location(struct stack_names *names, const struct function_identity *function,
			   struct stack_location location, uint32_t *id)
{
	uint64_t position = names->locations.count, found = names->locations.count;
	int err = intern_function(names, function, &location.function);
	struct position key = { .function = location.function,
				.line = location.line,
				.column = location.column };
	struct located located = { .binary = location.binary };

	if (err)
		return err;
	hash_map_find_bytes(&names->position_ids, &key, sizeof(key), &position);
	location.position = located.position = (uint32_t)position;
	if (!hash_map_find_bytes(&names->location_ids, &located, sizeof(located), &found))
		err = add_location(names, &location);
	while (!err && names->first_locations.count <= location.function)
		err = number_vector_push(&names->first_locations, (uint32_t)found);
	*id = (uint32_t)found;
	return err;
}

/* The location of a function, as far as it is known. */
static const char *file_text(const struct named_frame *name)
{
	const struct frame *frame = name->frame;

	if (name->file && *name->file)
		return name->file;
	if (frame->kind == FRAME_KERNEL)
		return frame->file ? frame->file : "";
	return frame->binary ? frame->binary->path : "";
}

/* The file that has the code, which may be the kernel or its module. */
static const char *binary_text(const struct frame *frame)
{
	if (frame->kind == FRAME_KERNEL)
		return frame->file ? frame->file : "";
	if (!frame->binary || frame->binary->is_nowhere || is_made_at_run_time(frame))
		return "";
	return frame->binary->path;
}

static int intern_name(void *context, const struct named_frame *name, uint32_t *id)
{
	struct stack_names *names = context;
	struct text_trait trait = frame_trait(name);
	struct function_identity function = {
		.kind = trait.kind,
		.flags = trait.flags,
		.is_unnamed = name->frame->kind != FRAME_ERROR &&
			      !(name->function && *name->function),
	};
	struct stack_location location = { .line = name->line, .column = name->column };
	int err;

	text_builder_clear(&names->text);
	append_frame_name(&names->text, name);
	err = intern_built_string(names, &function.name);
	if (err)
		return err;
	text_builder_clear(&names->text);
	text_builder_append_name(&names->text, file_text(name));
	err = intern_built_string(names, &function.file);
	if (err)
		return err;
	text_builder_clear(&names->text);
	text_builder_append_name(&names->text, binary_text(name->frame));
	err = intern_built_string(names, &location.binary);
	return err ? err : intern_location(names, &function, location, id);
}

int stack_names_group(struct stack_names *names, uint8_t kind, const char *name, uint32_t file,
		      uint32_t binary, uint32_t *location)
{
	struct function_identity function = { .kind = kind,
					      .flags = FUNCTION_IS_GROUP,
					      .file = file };
	int err;

	text_builder_clear(&names->text);
	text_builder_append_name(&names->text, name);
	err = intern_built_string(names, &function.name);
	return err ? err :
		     intern_location(names, &function, (struct stack_location){ .binary = binary },
				     location);
}

int stack_names_level(struct stack_names *names, enum text_kind kind, const char *name,
		      uint32_t *location)
{
	struct function_identity function = { .kind = kind };
	int err;

	text_builder_clear(&names->text);
	append_comm_text(&names->text, name);
	err = intern_built_string(names, &function.name);
	if (!err)
		err = stack_names_intern(names, "", &function.file);
	return err ? err :
		     intern_location(names, &function,
				     (struct stack_location){ .binary = function.file }, location);
}

/* --- lists --- */

static size_t list_bytes(const struct cached_list *cached)
{
	return sizeof(*cached) + cached->count * sizeof(uint32_t) + ENTRY_BYTES;
}

static uint64_t identity_hash(const struct stack_identity *stack)
{
	return hash64_bytes(stack, sizeof(*stack));
}

/* Removes the use of a key. */
static void drop_list(struct stack_names *names, struct cached_list *cached)
{
	uint64_t hash = identity_hash(&cached->stack);

	if (--cached->keys)
		return;
	/* A list is not in the map if another one has its hash. */
	if (hash_map_get_pointer(&names->lists, hash) == cached)
		hash_map_remove(&names->lists, hash, NULL);
	names->bytes -= list_bytes(cached);
	free(cached);
}

void stack_names_empty(struct stack_names *names)
{
	for (size_t i = 0; i < names->lists_of_keys.count; i++)
		if (names->lists_of_keys.items[i])
			drop_list(names, names->lists_of_keys.items[i]);
	hash_map_deinit(&names->lists);
	cached_list_vector_deinit(&names->lists_of_keys);
	hash_map_deinit(&names->location_ids);
	hash_map_deinit(&names->position_ids);
	hash_map_deinit(&names->function_ids);
	stack_location_vector_deinit(&names->locations);
	function_vector_deinit(&names->functions);
	number_vector_deinit(&names->first_locations);
	number_vector_deinit(&names->sorted[false]);
	number_vector_deinit(&names->sorted[true]);
	byte_pool_deinit(&names->strings);
	stack_ids_deinit(&names->ids);
	names->bytes = 0;
}

void stack_names_init(struct stack_names *names, struct symbol_lookup *lookup, size_t max_bytes)
{
	*names = (struct stack_names){
		.ids = { .lookup = lookup, .intern = intern_name, .context = names },
		.max_bytes = max_bytes,
	};
}

void stack_names_deinit(struct stack_names *names)
{
	stack_names_empty(names);
	text_builder_deinit(&names->text);
	number_vector_deinit(&names->scratch);
	key_stack_deinit(&names->stack);
}

void stack_names_tidy(struct stack_names *names, const struct history_view *view)
{
	struct cached_list_vector *lists = &names->lists_of_keys;

	for (size_t word = 0; word < view->freed.count; word++) {
		for (uint64_t bits = view->freed.items[word]; bits; bits &= bits - 1) {
			size_t key = word * 64 + (size_t)__builtin_ctzll(bits);

			if (key >= lists->count || !lists->items[key])
				continue;
			drop_list(names, lists->items[key]);
			lists->items[key] = NULL;
		}
	}
}

size_t stack_names_bytes(const struct stack_names *names)
{
	return names->bytes + names->lists_of_keys.capacity * sizeof(struct cached_list *) +
	       names->ids.expansions.capacity * sizeof(uint32_t) +
	       names->ids.native_frames.count * ENTRY_BYTES;
}

void stack_names_begin(struct stack_names *names, uint64_t generation)
{
	if (generation != names->generation || stack_names_bytes(names) > names->max_bytes)
		stack_names_empty(names);
	names->generation = generation;
}

static int make_list(struct stack_names *names, const struct history_view *view, uint32_t key,
		     struct cached_list **made)
{
	struct cached_list *cached;
	size_t bytes;
	int err = history_key_stack(&view->keys, key, &names->stack);

	names->scratch.count = 0;
	if (!err)
		err = stack_ids_append_frames(&names->ids, names->stack.frames.items,
					      names->stack.frames.count, &names->scratch);
	if (err)
		return err;
	bytes = names->scratch.count * sizeof(uint32_t);
	/*
	 * A frame can have many names: a sample of 8 bytes in the history may need hundreds here.
	 */
	if (names->bytes + bytes > STACK_NAMES_QUESTION_MAX * names->max_bytes)
		return fail(-EINVAL,
			    "these stacks are too large to be shown at once: choose a shorter "
			    "time or a filter");
	cached = malloc(sizeof(*cached) + bytes);
	if (!cached)
		return -ENOMEM;
	*cached = (struct cached_list){ .count = (uint32_t)names->scratch.count };
	if (bytes)
		memcpy(cached->locations, names->scratch.items, bytes);
	*made = cached;
	return 0;
}

/* Finds the list of an equal stack, or makes one. */
static int find_list(struct stack_names *names, const struct history_view *view, uint32_t key,
		     struct cached_list **cached)
{
	struct stack_identity stack = history_key_identity(&view->keys, key);
	uint64_t hash = identity_hash(&stack);
	struct cached_list *found = hash_map_get_pointer(&names->lists, hash);
	int err;

	if (found && !memcmp(&found->stack, &stack, sizeof(stack))) {
		*cached = found;
		return 0;
	}
	err = make_list(names, view, key, cached);
	if (err)
		return err;
	(*cached)->stack = stack;
	err = found ? 0 : hash_map_set_pointer(&names->lists, hash, *cached);
	if (err) {
		free(*cached);
		return err;
	}
	names->bytes += list_bytes(*cached);
	return 0;
}

int stack_names_list(struct stack_names *names, const struct history_view *view, uint32_t key,
		     struct location_list *list)
{
	struct cached_list_vector *known = &names->lists_of_keys;
	struct cached_list *cached;
	int err = 0;

	while (known->count <= key && !err)
		err = cached_list_vector_push(known, NULL);
	if (err)
		return err;
	cached = known->items[key];
	if (!cached) {
		err = find_list(names, view, key, &cached);
		if (err)
			return err;
		cached->keys++;
		known->items[key] = cached;
	}
	*list = (struct location_list){ .locations = cached->locations, .count = cached->count };
	return 0;
}

/* --- order --- */

struct order {
	const struct stack_names *names;
	bool with_lines;
};

static int compare_ids(const void *a, const void *b, void *context)
{
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
	const struct order *order = context;
	const struct stack_names *names = order->names;
	struct stack_location first = { .function = one }, second = { .function = other };
	const struct function_identity *f, *g;
	int difference;

	if (order->with_lines) {
		first = names->locations.items[one];
		second = names->locations.items[other];
	}
	f = &names->functions.items[first.function];
	g = &names->functions.items[second.function];
	difference = strcmp(stack_names_text(names, f->name), stack_names_text(names, g->name));
	if (!difference)
		difference = f->kind != g->kind ? f->kind - g->kind : f->flags - g->flags;
	if (!difference)
		difference =
			strcmp(stack_names_text(names, f->file), stack_names_text(names, g->file));
	if (difference)
		return difference;
	if (first.line != second.line)
		return first.line < second.line ? -1 : 1;
	if (first.column != second.column)
		return first.column < second.column ? -1 : 1;
	/* So that the order of two ids never changes. */
	return (one > other) - (one < other);
}

/* Sorts ids up to @count into @sorted, which has the lower ones. */
static int sort_new_ids(struct number_vector *sorted, size_t count, struct order *order)
{
	size_t known = sorted->count, added = count - known, at = count;
	_cleanup_(free_pointer) uint32_t *ids = calloc(added + 1, sizeof(*ids));

	if (!ids || (count && number_vector_reserve(sorted, count)))
		return -ENOMEM;
	for (size_t i = 0; i < added; i++)
		ids[i] = (uint32_t)(known + i);
	qsort_r(ids, added, sizeof(*ids), compare_ids, order);
	while (added) {
		bool is_known = known &&
				compare_ids(&sorted->items[known - 1], &ids[added - 1], order) > 0;

		sorted->items[--at] = is_known ? sorted->items[--known] : ids[--added];
	}
	sorted->count = count;
	return 0;
}

uint32_t *stack_names_rank(struct stack_names *names, bool with_lines)
{
	size_t count = with_lines ? names->locations.count : names->functions.count;
	struct number_vector *sorted = &names->sorted[with_lines];
	struct order order = { .names = names, .with_lines = with_lines };
	uint32_t *ranks = calloc(count + 1, sizeof(*ranks));

	if (!ranks || sort_new_ids(sorted, count, &order)) {
		free(ranks);
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++)
		ranks[sorted->items[i]] = i;
	return ranks;
}
