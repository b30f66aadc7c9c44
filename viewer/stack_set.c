/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/stack_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/significance.h"
#include "viewer/function_id.h"

/* --- a tree as columns --- */

enum column {
	COLUMN_PARENT,
	COLUMN_NAME,
	COLUMN_KIND,
	COLUMN_FILE,
	COLUMN_LINE,
	COLUMN_COLUMN,
	COLUMN_FLAGS,
	COLUMN_ID,
	COLUMN_UNIT,
	COLUMN_PRUNED,
	COLUMN_SELF,
	COLUMN_TOTAL,
	COLUMN_BASE_SELF,
	COLUMN_BASE_TOTAL,
	COLUMN_COUNT,
};

static const char *const column_names[COLUMN_COUNT] = {
	[COLUMN_PARENT] = "parent",	  [COLUMN_NAME] = "name",
	[COLUMN_KIND] = "kind",		  [COLUMN_FILE] = "file",
	[COLUMN_LINE] = "line",		  [COLUMN_COLUMN] = "column",
	[COLUMN_FLAGS] = "flags",	  [COLUMN_ID] = "id",
	[COLUMN_UNIT] = "unit",		  [COLUMN_PRUNED] = "pruned",
	[COLUMN_SELF] = "self",		  [COLUMN_TOTAL] = "total",
	[COLUMN_BASE_SELF] = "base_self", [COLUMN_BASE_TOTAL] = "base_total",
};

/* The strings in the tree, each once. */
struct shown_strings {
	json_t *array;
	struct hash_map indexes;
};

static json_int_t string_index(struct shown_strings *shown, const struct stack_names *names,
			       uint32_t text)
{
	uint64_t index = json_array_size(shown->array);

	if (hash_map_find(&shown->indexes, text, &index))
		return (json_int_t)index;
	json_array_append_new(shown->array, json_string(stack_names_text(names, text)));
	/* If there is no memory, the text is added again the next time. */
	hash_map_set(&shown->indexes, text, index);
	return (json_int_t)index;
}

/* The ids of functions in the tree, each once. */
struct shown_ids {
	json_t *array;
	struct hash_map indexes;
};

static json_int_t id_index(struct shown_ids *shown, const struct stack_names *names, uint32_t frame,
			   struct stack_location location)
{
	uint64_t index = json_array_size(shown->array);
	char text[FUNCTION_ID_LENGTH + 1];

	if (hash_map_find(&shown->indexes, frame, &index))
		return (json_int_t)index;
	function_id_write(function_id_of(names, location), text);
	json_array_append_new(shown->array, json_string(text));
	/* If there is no memory, the id is added again the next time. */
	hash_map_set(&shown->indexes, frame, index);
	return (json_int_t)index;
}

/* The binaries or packages of functions, each once. */
struct shown_units {
	json_t *array;
	/* Maps a hash of the name, and a frame's id, to the index. */
	struct hash_map by_name;
	struct hash_map by_frame;
	struct text_builder text;
};

static void shown_units_deinit(struct shown_units *shown)
{
	hash_map_deinit(&shown->by_name);
	hash_map_deinit(&shown->by_frame);
	text_builder_deinit(&shown->text);
}

static json_int_t unit_index(struct shown_units *shown, const struct asked_stacks *asked,
			     const struct stack_names *names, uint32_t frame)
{
	uint32_t location = asked->with_lines ? frame : names->first_locations.items[frame];
	uint64_t index = json_array_size(shown->array);
	const char *text;

	if (hash_map_find(&shown->by_frame, frame, &index))
		return (json_int_t)index;
	unit_name(names, location, asked->colour, &shown->text);
	text = text_builder_text(&shown->text);
	/* Without memory, a name is added again the next time. */
	if (!hash_map_find_bytes(&shown->by_name, text, strlen(text), &index)) {
		json_array_append_new(shown->array, text_json(text));
		hash_map_set_bytes(&shown->by_name, text, strlen(text), index);
	}
	hash_map_set(&shown->by_frame, frame, index);
	return (json_int_t)index;
}

struct tree_writer {
	const struct question *question;
	const struct stack_names *names;
	const struct asked_stacks *asked;
	/* Name of the root. */
	const char *name;
	struct shown_strings strings;
	struct shown_strings files;
	struct shown_ids ids;
	struct shown_units units;
	/* The numbers of each, with a comma after each. */
	struct text_builder columns[COLUMN_COUNT];
	json_t *z;
};

static void put(struct tree_writer *writer, enum column column, json_int_t value)
{
	char text[24], *start = text + sizeof(text);
	uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;

	*--start = ',';
	do {
		*--start = (char)('0' + left % 10);
		left /= 10;
	} while (left);
	if (value < 0)
		*--start = '-';
	text_builder_append_bytes(&writer->columns[column], start,
				  (size_t)(text + sizeof(text) - start));
}

static void put_function(struct tree_writer *writer, const struct flame_node *node)
{
	struct stack_location location = asked_location(writer->asked, writer->names, node->id);
	const struct function_identity *function =
		&writer->names->functions.items[location.function];
	bool has_file = *stack_names_text(writer->names, function->file);

	put(writer, COLUMN_PARENT, node->parent);
	put(writer, COLUMN_NAME, string_index(&writer->strings, writer->names, function->name));
	put(writer, COLUMN_KIND, function->kind);
	put(writer, COLUMN_FILE,
	    has_file ? string_index(&writer->files, writer->names, function->file) : -1);
	put(writer, COLUMN_LINE, location.line);
	put(writer, COLUMN_COLUMN, location.column);
	put(writer, COLUMN_FLAGS, function->flags);
	put(writer, COLUMN_ID, id_index(&writer->ids, writer->names, node->id, location));
	if (writer->units.array)
		put(writer, COLUMN_UNIT,
		    unit_index(&writer->units, writer->asked, writer->names, node->id));
}

/* The root's name is text 0, which is no function's. */
static void put_root(struct tree_writer *writer)
{
	json_array_append_new(writer->strings.array, text_json(writer->name));
	put(writer, COLUMN_PARENT, -1);
	put(writer, COLUMN_NAME, 0);
	put(writer, COLUMN_KIND, TEXT_KIND_COUNT);
	put(writer, COLUMN_FILE, -1);
	put(writer, COLUMN_LINE, 0);
	put(writer, COLUMN_COLUMN, 0);
	put(writer, COLUMN_FLAGS, 0);
	put(writer, COLUMN_ID, -1);
	put(writer, COLUMN_UNIT, -1);
}

static void put_sum(struct tree_writer *writer, enum column column, uint64_t sum)
{
	const struct value_type *type = question_type(writer->question);

	if (type->decimals)
		text_builder_format(&writer->columns[column], "%.17g,",
				    (double)(int64_t)sum / (double)value_type_scale(type));
	else
		put(writer, column, (json_int_t)sum);
}

/* @root has the totals for the shares of the tree. */
static void put_counts(struct tree_writer *writer, const struct flame_node *node,
		       const struct flame_node *root)
{
	put(writer, COLUMN_PRUNED, (json_int_t)node->pruned);
	put_sum(writer, COLUMN_SELF, node->self);
	put_sum(writer, COLUMN_TOTAL, node->total);
	if (!writer->z)
		return;
	put_sum(writer, COLUMN_BASE_SELF, node->base_self);
	put_sum(writer, COLUMN_BASE_TOTAL, node->base_total);
	json_array_append_new(writer->z,
			      json_real(share_significance(node->total, root->total,
							   node->base_total, root->base_total)));
}

static json_t *kinds_json(void)
{
	json_t *array = json_array();

	for (int kind = 0; kind <= TEXT_KIND_COUNT; kind++)
		json_array_append_new(array, json_string(text_kind_name((uint8_t)kind)));
	return array;
}

/* Appends a member with the column's numbers. */
static void append_column(struct text_builder *text, const struct tree_writer *writer,
			  enum column column)
{
	const struct text_builder *numbers = &writer->columns[column];

	text_builder_format(text, ",\"%s\":[", column_names[column]);
	text_builder_append_bytes(text, text_builder_text(numbers),
				  numbers->length ? numbers->length - 1 : 0);
	text_builder_append(text, "]");
	text->failed |= numbers->failed;
}

/* Appends the tree, of which @object has all but the columns. */
static void append_tree(struct text_builder *text, const struct tree_writer *writer,
			const json_t *object, const char *key)
{
	_cleanup_(free_pointer) char *members = json_dumps(object, JSON_COMPACT);

	text->failed |= !members;
	if (!members)
		return;
	text_builder_format(text, ",\"%s\":", key);
	/* Without the brace at the end. */
	text_builder_append_bytes(text, members, strlen(members) - 1);
	for (enum column column = 0; column < COLUMN_COUNT; column++)
		if (column == COLUMN_UNIT ? writer->units.array != NULL :
					    writer->z || column < COLUMN_BASE_SELF)
			append_column(text, writer, column);
	text_builder_append(text, "}");
}

static int write_tree(struct question *question, const struct asked_stacks *asked,
		      const struct flame_tree *tree, const char *name, const char *key)
{
	struct tree_writer writer = {
		.question = question,
		.names = &question->api->names,
		.asked = asked,
		.name = name,
		.strings = { .array = json_array() },
		.files = { .array = json_array() },
		.ids = { .array = json_array() },
		.units.array = asked->colour == FRAME_OF_FUNCTION ? NULL : json_array(),
		.z = question->selection.has_base ? json_array() : NULL,
	};
	json_t *object = json_object();

	for (size_t i = 0; i < tree->nodes.count; i++) {
		if (i)
			put_function(&writer, &tree->nodes.items[i]);
		else
			put_root(&writer);
		put_counts(&writer, &tree->nodes.items[i], &tree->nodes.items[0]);
	}
	json_object_set_new(object, "names", writer.strings.array);
	json_object_set_new(object, "files", writer.files.array);
	json_object_set_new(object, "ids", writer.ids.array);
	json_object_set_new(object, "kinds", kinds_json());
	if (writer.units.array)
		json_object_set_new(object, "units", writer.units.array);
	if (writer.z)
		json_object_set_new(object, "z", writer.z);
	put_number(object, "pruned_nodes", tree->pruned_nodes);
	put_value(question, object, "pruned_samples", tree->pruned_samples);
	append_tree(&question->members, &writer, object, key);
	json_decref(object);
	for (int i = 0; i < COLUMN_COUNT; i++)
		text_builder_deinit(&writer.columns[i]);
	hash_map_deinit(&writer.strings.indexes);
	hash_map_deinit(&writer.files.indexes);
	hash_map_deinit(&writer.ids.indexes);
	shown_units_deinit(&writer.units);
	return question->members.failed ? -ENOMEM : 0;
}

/* --- stacks as ids of their frames --- */

void stack_set_deinit(struct stack_set *set)
{
	number_vector_deinit(&set->ids);
	number_vector_deinit(&set->starts);
	flame_node_vector_deinit(&set->callers);
	flame_stack_vector_deinit(&set->stacks);
}

int stack_set_begin(struct stack_set *set, const struct asked_stack *stack)
{
	int err;

	if (set->ids.count > UINT32_MAX)
		return fail(-EINVAL, "these are too many stacks at once");
	err = number_vector_push(&set->starts, (uint32_t)set->ids.count);
	return err ? err :
		     flame_stack_vector_push(&set->stacks, (struct flame_stack){
								   .count = stack->count,
								   .base_count = stack->base_count,
							   });
}

int stack_set_push(struct stack_set *set, const struct asked_stacks *asked,
		   const struct question *question, uint32_t location)
{
	set->stacks.items[set->stacks.count - 1].length++;
	return number_vector_push(&set->ids, asked_id(asked, question, location));
}

int stack_set_reserve(struct stack_set *set, const struct asked_stacks *asked)
{
	size_t count = 0;
	int err;

	for (size_t i = 0; i < asked->stacks.count; i++)
		count += asked->stacks.items[i].level_count + asked->stacks.items[i].list.count;
	err = number_vector_reserve(&set->ids, count);
	if (!err)
		err = number_vector_reserve(&set->starts, asked->stacks.count);
	return err ? err : flame_stack_vector_reserve(&set->stacks, asked->stacks.count);
}

size_t asked_stack_length(const struct asked_stack *stack)
{
	return stack->level_count + stack->list.count;
}

uint32_t asked_stack_location(const struct asked_stacks *asked, const struct asked_stack *stack,
			      size_t index)
{
	if (asked->is_inverted)
		index = asked_stack_length(stack) - 1 - index;
	return index < stack->level_count ? stack->levels[index] :
					    stack->list.locations[index - stack->level_count];
}

int stack_set_push_from(struct stack_set *set, const struct asked_stacks *asked,
			const struct question *question, const struct asked_stack *stack,
			size_t first)
{
	size_t length = asked_stack_length(stack);
	int err = stack_set_begin(set, stack);

	for (size_t i = first; i < length && !err; i++)
		err = stack_set_push(set, asked, question, asked_stack_location(asked, stack, i));
	return err;
}

void stack_set_finish(struct stack_set *set)
{
	for (size_t i = 0; i < set->stacks.count; i++)
		set->stacks.items[i].ids = set->ids.items + set->starts.items[i];
}

/* Puts the callers above the tree. */
static int add_callers(const struct stack_set *set, struct flame_tree *tree)
{
	struct flame_node_vector *nodes = &tree->nodes;
	size_t count = set->callers.count;
	int err = flame_node_vector_reserve(nodes, nodes->count + count);

	if (err || !count)
		return err;
	memmove(nodes->items + count, nodes->items, nodes->count * sizeof(nodes->items[0]));
	memcpy(nodes->items, set->callers.items, count * sizeof(nodes->items[0]));
	nodes->count += count;
	for (size_t i = count; i < nodes->count; i++)
		nodes->items[i].parent += (uint32_t)count;
	nodes->items[count].parent = (uint32_t)count - 1;
	nodes->items[count].id = set->root_id;
	return 0;
}

int stack_set_put_tree(struct stack_set *set, const struct asked_stacks *asked,
		       struct question *question, size_t max_nodes, const char *name,
		       const char *key)
{
	_cleanup_(flame_tree_deinit) struct flame_tree tree = { 0 };
	_cleanup_(free_pointer)
		uint32_t *ranks = stack_names_rank(&question->api->names, asked->with_lines);
	int err = ranks ? flame_tree_init(&tree, &set->stacks, ranks, max_nodes) : -ENOMEM;

	if (!err)
		err = add_callers(set, &tree);
	return err ? err : write_tree(question, asked, &tree, name, key);
}
