/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/api_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "viewer/stack_set.h"
#include "viewer/zoom.h"

enum {
	FLAME_NODES = 10000,
	SANDWICH_NODES = 5000,
	NODES_MAX = 50000,
};

/* --- all stacks --- */

int flame_json(struct question *question, size_t max_nodes, json_t *object)
{
	_cleanup_(asked_stacks_deinit) struct asked_stacks asked = { 0 };
	_cleanup_(stack_set_deinit) struct stack_set set = { 0 };
	const char *path = request_parameter(question->request, "zoom");
	size_t steps = 0;
	int err = asked_stacks_init(&asked, question);

	if (!err)
		err = zoom_in(&set, &asked, question, path ? path : "", &steps);
	if (err)
		return err;
	stack_set_finish(&set);
	put_value(question, object, "total", asked.total);
	if (question->selection.has_base)
		put_value(question, object, "base_total", asked.base_total);
	put_number(object, "zoom", steps);
	return stack_set_put_tree(&set, &asked, question, max_nodes, "all", "tree");
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
	int err = stack_set_begin(&sandwich->callees, stack);

	for (size_t i = outermost + 1; i < stack->list.count && !err; i++)
		err = stack_set_push(&sandwich->callees, asked, question, stack->list.locations[i]);
	return err;
}

static int push_callers(struct sandwich *sandwich, const struct asked_stacks *asked,
			const struct question *question, const struct asked_stack *stack,
			size_t innermost)
{
	int err = stack_set_begin(&sandwich->callers, stack);

	for (size_t i = innermost; i-- > 0 && !err;)
		err = stack_set_push(&sandwich->callers, asked, question, stack->list.locations[i]);
	for (uint32_t i = stack->level_count; i-- > 0 && !err;)
		err = stack_set_push(&sandwich->callers, asked, question, stack->levels[i]);
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
	stack_set_finish(&sandwich->callees);
	stack_set_finish(&sandwich->callers);
	err = stack_set_put_tree(&sandwich->callees, &asked, question, max_nodes, sandwich->name,
				 "callees");
	return err ? err :
		     stack_set_put_tree(&sandwich->callers, &asked, question, max_nodes,
					sandwich->name, "callers");
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
