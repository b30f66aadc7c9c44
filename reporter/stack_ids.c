/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/stack_ids.h"

struct native_key {
	uint64_t binary;
	uint64_t address;
	uint64_t flags;
};

_Static_assert(FRAME_MAX_NAMES < 256, "the count has 8 bits");

void stack_ids_deinit(struct stack_ids *ids)
{
	hash_map_deinit(&ids->native_frames);
	number_vector_deinit(&ids->expansions);
}

/* Appends the ids of @frame, outermost first, to @stack. */
static int expand_frame(struct stack_ids *ids, const struct frame *frame,
			struct number_vector *stack)
{
	struct named_frame names[FRAME_MAX_NAMES];
	uint32_t count = name_frame(frame, ids->lookup, names);
	int err = 0;

	while (count-- > 0 && !err) {
		uint32_t id;

		err = ids->intern(ids->context, &names[count], &id);
		if (!err)
			err = number_vector_push(stack, id);
	}
	return err;
}

static int push_native_frame(struct stack_ids *ids, const struct frame *frame,
			     struct number_vector *stack)
{
	struct native_key key = {
		.binary = frame->binary ? binary_identity(frame->binary) : 0,
		.address = frame_lookup_address(frame),
		.flags = frame->flags & (FRAME_GUESS | FRAME_SHOWS_GENERATED),
	};
	size_t first = ids->expansions.count;
	uint64_t range;
	int err = 0;

	if (!hash_map_find_bytes(&ids->native_frames, &key, sizeof(key), &range)) {
		err = expand_frame(ids, frame, &ids->expansions);
		if (err)
			return err;
		range = (uint64_t)first << 8 | (ids->expansions.count - first);
		err = hash_map_set_bytes(&ids->native_frames, &key, sizeof(key), range);
	}
	for (uint64_t i = 0; i < (range & 0xff) && !err; i++)
		err = number_vector_push(stack, ids->expansions.items[(range >> 8) + i]);
	return err;
}

int stack_ids_append(struct stack_ids *ids, const struct trace *trace, struct number_vector *stack)
{
	int err = 0;

	for (uint32_t i = trace->frame_count; i-- > 0 && !err;) {
		struct frame frame;

		if (!trace_shown_frame(trace, i, ids->lookup, &frame))
			continue;
		if (!frame_carries_name(&frame))
			err = push_native_frame(ids, &frame, stack);
		else
			err = expand_frame(ids, &frame, stack);
	}
	return err;
}
