/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/api_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"

enum {
	FLAME_NODES = 10000,
	SANDWICH_NODES = 5000,
	NODES_MAX = 50000,
};

/* --- a tree as columns --- */

enum column {
	COLUMN_PARENT,
	COLUMN_NAME,
	COLUMN_KIND,
	COLUMN_FILE,
	COLUMN_LINE,
	COLUMN_FLAGS,
	COLUMN_SELF,
	COLUMN_TOTAL,
	COLUMN_BASE_SELF,
	COLUMN_BASE_TOTAL,
	COLUMN_COUNT,
};

static const char *const column_names[COLUMN_COUNT] = {
	[COLUMN_PARENT] = "parent",	  [COLUMN_NAME] = "name",
	[COLUMN_KIND] = "kind",		  [COLUMN_FILE] = "file",
	[COLUMN_LINE] = "line",		  [COLUMN_FLAGS] = "flags",
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

struct tree_writer {
	const struct question *question;
	const struct stack_names *names;
	const struct asked_stacks *asked;
	/* Name of the root. */
	const char *name;
	struct shown_strings strings;
	struct shown_strings files;
	json_t *columns[COLUMN_COUNT];
	json_t *z;
};

static void put(struct tree_writer *writer, enum column column, json_int_t value)
{
	json_array_append_new(writer->columns[column], json_integer(value));
}

static struct stack_location node_location(const struct tree_writer *writer,
					   const struct flame_node *node)
{
	if (writer->asked->with_lines)
		return writer->names->locations.items[node->id];
	return (struct stack_location){ .function = node->id };
}

static void put_function(struct tree_writer *writer, const struct flame_node *node)
{
	struct stack_location location = node_location(writer, node);
	const struct function_identity *function =
		&writer->names->functions.items[location.function];
	bool has_file = *stack_names_text(writer->names, function->file);

	put(writer, COLUMN_PARENT, node->parent);
	put(writer, COLUMN_NAME, string_index(&writer->strings, writer->names, function->name));
	put(writer, COLUMN_KIND, function->kind);
	put(writer, COLUMN_FILE,
	    has_file ? string_index(&writer->files, writer->names, function->file) : -1);
	put(writer, COLUMN_LINE, location.line);
	put(writer, COLUMN_FLAGS, function->flags);
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
	put(writer, COLUMN_FLAGS, 0);
}

/* @root has the totals for the shares of the tree. */
static void put_sum(struct tree_writer *writer, enum column column, uint64_t sum)
{
	json_array_append_new(writer->columns[column], value_json(writer->question, sum));
}

static void put_counts(struct tree_writer *writer, const struct flame_node *node,
		       const struct flame_node *root)
{
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

static json_t *tree_json(const struct question *question, const struct asked_stacks *asked,
			 const struct flame_tree *tree, const char *name)
{
	struct tree_writer writer = {
		.question = question,
		.names = &question->api->names,
		.asked = asked,
		.name = name,
		.strings = { .array = json_array() },
		.files = { .array = json_array() },
		.z = question->selection.has_base ? json_array() : NULL,
	};
	json_t *object = json_object();

	for (int i = 0; i < COLUMN_COUNT; i++)
		writer.columns[i] = json_array();
	for (size_t i = 0; i < tree->nodes.count; i++) {
		if (i)
			put_function(&writer, &tree->nodes.items[i]);
		else
			put_root(&writer);
		put_counts(&writer, &tree->nodes.items[i], &tree->nodes.items[0]);
	}
	json_object_set_new(object, "names", writer.strings.array);
	json_object_set_new(object, "files", writer.files.array);
	json_object_set_new(object, "kinds", kinds_json());
	for (int i = 0; i < COLUMN_COUNT; i++) {
		if (writer.z || i < COLUMN_BASE_SELF)
			json_object_set_new(object, column_names[i], writer.columns[i]);
		else
			json_decref(writer.columns[i]);
	}
	if (writer.z)
		json_object_set_new(object, "z", writer.z);
	put_number(object, "pruned_nodes", tree->pruned_nodes);
	put_value(question, object, "pruned_samples", tree->pruned_samples);
	hash_map_deinit(&writer.strings.indexes);
	hash_map_deinit(&writer.files.indexes);
	return object;
}

/* --- stacks as ids of their frames --- */

/*
 * Stacks whose frames are ids, stored one after the other. `starts` has their offsets until the stacks
 * get pointers.
 */
struct stack_set {
	struct number_vector ids;
	struct flame_stack_vector stacks;
	struct number_vector starts;
};

static void stack_set_deinit(struct stack_set *set)
{
	number_vector_deinit(&set->ids);
	number_vector_deinit(&set->starts);
	flame_stack_vector_deinit(&set->stacks);
}

static int begin_stack(struct stack_set *set, const struct asked_stack *stack)
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

static int push_location(struct stack_set *set, const struct asked_stacks *asked,
			 const struct question *question, uint32_t location)
{
	set->stacks.items[set->stacks.count - 1].length++;
	return number_vector_push(&set->ids, asked_id(asked, question, location));
}

/* Sets @key of @object to the tree of all stacks. */
static int put_tree(const struct question *question, const struct asked_stacks *asked,
		    struct stack_set *set, size_t max_nodes, const char *name, json_t *object,
		    const char *key)
{
	_cleanup_(flame_tree_deinit) struct flame_tree tree = { 0 };
	_cleanup_(free_pointer)
		uint32_t *ranks = stack_names_rank(&question->api->names, asked->with_lines);
	int err;

	if (!ranks)
		return -ENOMEM;
	for (size_t i = 0; i < set->stacks.count; i++)
		set->stacks.items[i].ids = set->ids.items + set->starts.items[i];
	err = flame_tree_init(&tree, &set->stacks, ranks, max_nodes);
	if (!err)
		json_object_set_new(object, key, tree_json(question, asked, &tree, name));
	return err;
}

/* For many stacks, growing by doubling would need twice the memory. */
static int reserve_stacks(struct stack_set *set, const struct asked_stacks *asked)
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

static int push_whole(struct stack_set *set, const struct asked_stacks *asked,
		      const struct question *question, const struct asked_stack *stack)
{
	int err = begin_stack(set, stack);

	for (uint32_t i = 0; i < stack->level_count && !err; i++)
		err = push_location(set, asked, question, stack->levels[i]);
	for (size_t i = 0; i < stack->list.count && !err; i++)
		err = push_location(set, asked, question, stack->list.locations[i]);
	return err;
}

int flame_json(struct question *question, size_t max_nodes, json_t *object)
{
	_cleanup_(asked_stacks_deinit) struct asked_stacks asked = { 0 };
	_cleanup_(stack_set_deinit) struct stack_set set = { 0 };
	int err = asked_stacks_init(&asked, question);

	if (!err)
		err = reserve_stacks(&set, &asked);
	for (size_t i = 0; i < asked.stacks.count && !err; i++)
		err = push_whole(&set, &asked, question, &asked.stacks.items[i]);
	if (err)
		return err;
	put_value(question, object, "total", asked.total);
	if (question->selection.has_base)
		put_value(question, object, "base_total", asked.base_total);
	return put_tree(question, &asked, &set, max_nodes, "all", object, "tree");
}

int answer_flame(struct question *question, json_t *object)
{
	uint64_t max_nodes;
	int err = request_number(question->request, "max_nodes", 1, NODES_MAX, FLAME_NODES,
				 &max_nodes);

	return err ? err : flame_json(question, max_nodes, object);
}

/* --- one function --- */

struct sandwich {
	const char *name;
	/* NULL: any kind. */
	const char *kind;
	uint64_t self;
	uint64_t samples;
	uint64_t base_self;
	uint64_t base_samples;
	struct stack_set callees;
	struct stack_set callers;
};

static bool is_function(const struct question *question, const struct sandwich *sandwich,
			uint32_t location)
{
	const struct stack_names *names = &question->api->names;
	const struct function_identity *function = stack_names_function(names, location);

	return !strcmp(stack_names_text(names, function->name), sandwich->name) &&
	       (!sandwich->kind || !strcmp(text_kind_name(function->kind), sandwich->kind));
}

static int push_callees(struct sandwich *sandwich, const struct asked_stacks *asked,
			const struct question *question, const struct asked_stack *stack,
			size_t outermost)
{
	int err = begin_stack(&sandwich->callees, stack);

	for (size_t i = outermost + 1; i < stack->list.count && !err; i++)
		err = push_location(&sandwich->callees, asked, question, stack->list.locations[i]);
	return err;
}

static int push_callers(struct sandwich *sandwich, const struct asked_stacks *asked,
			const struct question *question, const struct asked_stack *stack,
			size_t innermost)
{
	int err = begin_stack(&sandwich->callers, stack);

	for (size_t i = innermost; i-- > 0 && !err;)
		err = push_location(&sandwich->callers, asked, question, stack->list.locations[i]);
	for (uint32_t i = stack->level_count; i-- > 0 && !err;)
		err = push_location(&sandwich->callers, asked, question, stack->levels[i]);
	return err;
}

static int cut_stack(struct sandwich *sandwich, const struct asked_stacks *asked,
		     const struct question *question, const struct asked_stack *stack)
{
	size_t outermost = stack->list.count, innermost = 0;
	int err;

	for (size_t i = 0; i < stack->list.count; i++) {
		if (!is_function(question, sandwich, stack->list.locations[i]))
			continue;
		if (outermost == stack->list.count)
			outermost = i;
		innermost = i;
	}
	if (outermost == stack->list.count)
		return 0;
	sandwich->samples += stack->count;
	sandwich->base_samples += stack->base_count;
	if (innermost == stack->list.count - 1) {
		sandwich->self += stack->count;
		sandwich->base_self += stack->base_count;
	}
	err = push_callees(sandwich, asked, question, stack, outermost);
	return err ? err : push_callers(sandwich, asked, question, stack, innermost);
}

static void put_sums(const struct question *question, const struct asked_stacks *asked,
		     const struct sandwich *sandwich, json_t *object)
{
	put_value(question, object, "total", asked->total);
	put_value(question, object, "self", sandwich->self);
	put_value(question, object, "samples", sandwich->samples);
	if (!question->selection.has_base)
		return;
	put_value(question, object, "base_total", asked->base_total);
	put_value(question, object, "base_self", sandwich->base_self);
	put_value(question, object, "base_samples", sandwich->base_samples);
	put_significance(object, "z", sandwich->samples, asked->total, sandwich->base_samples,
			 asked->base_total);
}

static int put_sandwich(struct question *question, struct sandwich *sandwich, json_t *object)
{
	_cleanup_(asked_stacks_deinit) struct asked_stacks asked = { 0 };
	uint64_t max_nodes;
	int err = request_number(question->request, "max_nodes", 1, NODES_MAX, SANDWICH_NODES,
				 &max_nodes);

	if (!err)
		err = asked_stacks_init(&asked, question);
	for (size_t i = 0; i < asked.stacks.count && !err; i++)
		err = cut_stack(sandwich, &asked, question, &asked.stacks.items[i]);
	if (err)
		return err;
	put_sums(question, &asked, sandwich, object);
	err = put_tree(question, &asked, &sandwich->callees, max_nodes, sandwich->name, object,
		       "callees");
	return err ? err :
		     put_tree(question, &asked, &sandwich->callers, max_nodes, sandwich->name,
			      object, "callers");
}

int answer_sandwich(struct question *question, json_t *object)
{
	struct sandwich sandwich = {
		.name = request_parameter(question->request, "of"),
		.kind = request_parameter(question->request, "of_kind"),
	};
	int err;

	if (!sandwich.name)
		return fail(-EINVAL, "of names the function");
	err = put_sandwich(question, &sandwich, object);
	stack_set_deinit(&sandwich.callees);
	stack_set_deinit(&sandwich.callers);
	return err;
}
