/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/zoom.h"

#include <errno.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "viewer/function_id.h"

/* A frame's id that no stack has had yet. */
#define STEP_UNKNOWN UINT32_MAX

VECTOR_DEFINE(id_vector, uint64_t)

struct zoom {
	struct id_vector path;
	/* The frame's id of each step, for which the first match counts. */
	struct number_vector frames;
	/* How many steps each stack has. */
	struct number_vector depths;
	/* The most that a stack has. */
	size_t steps;
};

static void zoom_deinit(struct zoom *zoom)
{
	id_vector_deinit(&zoom->path);
	number_vector_deinit(&zoom->frames);
	number_vector_deinit(&zoom->depths);
}

static int parse_path(struct zoom *zoom, const char *text)
{
	int err = 0;

	while (*text && !err) {
		uint64_t id;

		if (!function_id_read(text, &id) ||
		    (text[FUNCTION_ID_LENGTH] && text[FUNCTION_ID_LENGTH] != '.'))
			return fail(-EINVAL, "zoom is ids of functions with dots between them");
		text += FUNCTION_ID_LENGTH;
		text += *text == '.';
		err = id_vector_push(&zoom->path, id);
		if (!err)
			err = number_vector_push(&zoom->frames, STEP_UNKNOWN);
	}
	return err;
}

static bool is_step(struct zoom *zoom, const struct asked_stacks *asked,
		    const struct question *question, size_t step, uint32_t frame)
{
	const struct stack_names *names = &question->api->names;
	uint32_t *known = &zoom->frames.items[step];

	if (*known != STEP_UNKNOWN)
		return *known == frame;
	if (function_id_of(names, asked_location(asked, names, frame)) != zoom->path.items[step])
		return false;
	*known = frame;
	return true;
}

static int match_stacks(struct zoom *zoom, const struct asked_stacks *asked,
			const struct question *question)
{
	for (size_t i = 0; i < asked->stacks.count; i++) {
		const struct asked_stack *stack = &asked->stacks.items[i];
		size_t depth = 0, length = asked_stack_length(stack);
		int err;

		while (depth < zoom->path.count && depth < length &&
		       is_step(zoom, asked, question, depth,
			       asked_id(asked, question,
					asked_stack_location(asked, stack, depth))))
			depth++;
		err = number_vector_push(&zoom->depths, (uint32_t)depth);
		if (err)
			return err;
		if (depth > zoom->steps)
			zoom->steps = depth;
	}
	return 0;
}

static int make_callers(const struct zoom *zoom, struct stack_set *set)
{
	struct flame_node_vector *callers = &set->callers;
	int err = 0;

	for (size_t i = 0; i < zoom->steps && !err; i++)
		err = flame_node_vector_push(callers, (struct flame_node){
							      .parent = i ? (uint32_t)i - 1 : 0,
							      .id = i ? zoom->frames.items[i - 1] :
									FLAME_ROOT_ID,
						      });
	if (!err && zoom->steps)
		set->root_id = zoom->frames.items[zoom->steps - 1];
	return err;
}

/* Counts a stack in its callers, each of which gets only what it does not share with the next one. */
static void count_stack(const struct zoom *zoom, struct stack_set *set,
			const struct asked_stack *stack, size_t depth)
{
	struct flame_node *caller;

	caller = &set->callers.items[depth < zoom->steps ? depth : zoom->steps - 1];
	caller->total += stack->count;
	caller->base_total += stack->base_count;
	if (depth == asked_stack_length(stack) && depth < zoom->steps) {
		caller->self += stack->count;
		caller->base_self += stack->base_count;
	}
}

static int push_stacks(const struct zoom *zoom, struct stack_set *set,
		       const struct asked_stacks *asked, const struct question *question)
{
	int err = zoom->steps ? 0 : stack_set_reserve(set, asked);

	for (size_t i = 0; i < asked->stacks.count && !err; i++) {
		const struct asked_stack *stack = &asked->stacks.items[i];
		size_t depth = zoom->depths.items[i];

		if (zoom->steps)
			count_stack(zoom, set, stack, depth);
		if (depth == zoom->steps)
			err = stack_set_push_from(set, asked, question, stack, depth);
	}
	for (size_t i = zoom->steps; i-- > 1;) {
		set->callers.items[i - 1].total += set->callers.items[i].total;
		set->callers.items[i - 1].base_total += set->callers.items[i].base_total;
	}
	return err;
}

int zoom_in(struct stack_set *set, const struct asked_stacks *asked,
	    const struct question *question, const char *path, size_t *steps)
{
	_cleanup_(zoom_deinit) struct zoom zoom = { 0 };
	int err = parse_path(&zoom, path);

	if (!err)
		err = match_stacks(&zoom, asked, question);
	if (!err)
		err = make_callers(&zoom, set);
	if (!err)
		err = push_stacks(&zoom, set, asked, question);
	if (!err)
		*steps = zoom.steps;
	return err;
}
