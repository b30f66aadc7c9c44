/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/stack_numbers.h"

struct native_key {
	uint64_t binary;
	uint64_t address;
	uint64_t flags;
};

_Static_assert(FRAME_MAX_NAMES < 256, "the count has 8 bits");

void stack_numbers_deinit(struct stack_numbers *numbers)
{
	hash_map_deinit(&numbers->native_frames);
	number_vector_deinit(&numbers->expansions);
}

/* Appends the numbers of @frame, outermost first, to @stack. */
static int expand_frame(struct stack_numbers *numbers, const struct frame *frame,
			struct number_vector *stack)
{
	struct named_frame names[FRAME_MAX_NAMES];
	uint32_t count = name_frame(frame, numbers->lookup, names);
	int err = 0;

	while (count-- > 0 && !err) {
		uint32_t number;

		err = numbers->number(numbers->context, &names[count], &number);
		if (!err)
			err = number_vector_push(stack, number);
	}
	return err;
}

static int push_native_frame(struct stack_numbers *numbers, const struct frame *frame,
			     struct number_vector *stack)
{
	struct native_key key = {
		.binary = frame->binary ? binary_identity(frame->binary) : 0,
		.address = frame_lookup_address(frame),
		.flags = frame->flags & (FRAME_GUESS | FRAME_SHOWS_GENERATED),
	};
	size_t first = numbers->expansions.count;
	uint64_t range;
	int err = 0;

	if (!hash_map_find_bytes(&numbers->native_frames, &key, sizeof(key), &range)) {
		err = expand_frame(numbers, frame, &numbers->expansions);
		if (err)
			return err;
		range = (uint64_t)first << 8 | (numbers->expansions.count - first);
		err = hash_map_set_bytes(&numbers->native_frames, &key, sizeof(key), range);
	}
	for (uint64_t i = 0; i < (range & 0xff) && !err; i++)
		err = number_vector_push(stack, numbers->expansions.items[(range >> 8) + i]);
	return err;
}

int stack_numbers_append(struct stack_numbers *numbers, const struct trace *trace,
			 struct number_vector *stack)
{
	int err = 0;

	for (uint32_t i = trace->frame_count; i-- > 0 && !err;) {
		struct frame frame;

		if (!trace_shown_frame(trace, i, numbers->lookup, &frame))
			continue;
		if (!frame_carries_name(&frame))
			err = push_native_frame(numbers, &frame, stack);
		else
			err = expand_frame(numbers, &frame, stack);
	}
	return err;
}
