/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/stack_ids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* Half a MiB. */
	RECENT_FRAMES_BITS = 14,
	/* In the flags of each key. */
	KEY_IS_SET = 1 << 8,
};

/* Spreads addresses over the cache (Fibonacci hashing, Knuth 6.4). */
#define GOLDEN_RATIO 0x9e3779b97f4a7c15ULL

struct native_key {
	uint64_t binary;
	uint64_t address;
	uint64_t flags;
};

/* All zero if there is none. */
struct recent_frame {
	struct native_key key;
	/* As in the map. */
	uint64_t range;
};

_Static_assert(FRAME_MAX_NAMES < 256, "the count has 8 bits");

void stack_ids_deinit(struct stack_ids *ids)
{
	hash_map_deinit(&ids->native_frames);
	number_vector_deinit(&ids->expansions);
	free(ids->recent_frames);
	ids->recent_frames = NULL;
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

static int find_native_frame(struct stack_ids *ids, const struct frame *frame,
			     const struct native_key *key, uint64_t *range)
{
	size_t first = ids->expansions.count;
	int err;

	if (hash_map_find_bytes(&ids->native_frames, key, sizeof(*key), range))
		return 0;
	err = expand_frame(ids, frame, &ids->expansions);
	if (err)
		return err;
	*range = (uint64_t)first << 8 | (ids->expansions.count - first);
	return hash_map_set_bytes(&ids->native_frames, key, sizeof(*key), *range);
}

static int push_native_frame(struct stack_ids *ids, const struct frame *frame,
			     struct number_vector *stack)
{
	const struct native_key key = {
		.binary = frame->binary ? binary_identity(frame->binary) : 0,
		.address = frame_lookup_address(frame),
		.flags = (frame->flags & (FRAME_GUESS | FRAME_SHOWS_GENERATED)) | KEY_IS_SET,
	};
	struct recent_frame *recent =
		&ids->recent_frames[(key.address ^ key.binary) * GOLDEN_RATIO >>
				    (64 - RECENT_FRAMES_BITS)];
	int err = 0;

	if (memcmp(&recent->key, &key, sizeof(key))) {
		uint64_t range;

		err = find_native_frame(ids, frame, &key, &range);
		if (err)
			return err;
		*recent = (struct recent_frame){ .key = key, .range = range };
	}
	for (uint64_t i = 0; i < (recent->range & 0xff) && !err; i++)
		err = number_vector_push(stack, ids->expansions.items[(recent->range >> 8) + i]);
	return err;
}

static int push_frame(struct stack_ids *ids, const struct frame *frame, struct number_vector *stack)
{
	if (frame_carries_name(frame))
		return expand_frame(ids, frame, stack);
	if (!ids->recent_frames)
		ids->recent_frames = calloc(1 << RECENT_FRAMES_BITS, sizeof(struct recent_frame));
	return ids->recent_frames ? push_native_frame(ids, frame, stack) : -ENOMEM;
}

int stack_ids_append(struct stack_ids *ids, const struct trace *trace, struct number_vector *stack)
{
	int err = 0;

	for (uint32_t i = trace->frame_count; i-- > 0 && !err;) {
		struct frame frame;

		if (trace_shown_frame(trace, i, ids->lookup, &frame))
			err = push_frame(ids, &frame, stack);
	}
	return err;
}

int stack_ids_append_frames(struct stack_ids *ids, const struct frame *frames, size_t count,
			    struct number_vector *stack)
{
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		struct frame frame = frames[i];

		if (frame_is_shown(&frame, i + 1 < count ? &frames[i + 1] : NULL, ids->lookup))
			err = push_frame(ids, &frame, stack);
	}
	return err;
}
