/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content of a part is a list of frames, the outermost first, padded with zeros. A frame is a packed number: one more than
 * twice the lower bits of its address, so that no frame starts with a zero, and one more if the id of its shape follows. Otherwise
 * its shape is that of the frame before it, which may be in the part above. A part has as many frames as it
 * holds, so equal callers are the same parts. A key has its context before the last frames.
 */
#include "viewer/history_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "reporter/packed_numbers.h"

enum {
	/* So that the packed number of a key's context and its flags has 4 bytes at most. */
	CONTEXT_LIMIT = 1 << 26,
	/* An address with 2 bits in groups of 7, and the id of a shape. */
	FRAME_MAX_BYTES = (SHAPE_ADDRESS_BITS + 2 + 6) / 7 + PACKED_32_MAX_BYTES,
	IS_COMPLETE = 1,
	IS_KERNEL_THREAD = 2,
	FLAG_BITS = 2,
	RECENT_KEYS = 1024,
	KEYS_PER_WORD = 64,
};

_Static_assert((int)FRAME_MAX_BYTES <= (int)STACK_PART_BYTES, "a part holds a frame");
_Static_assert(sizeof(struct stack_identity) >= sizeof(struct stack_part_value),
	       "an identity has a caller and the frames of a key");

#define ADDRESS_MASK ((UINT64_C(1) << SHAPE_ADDRESS_BITS) - 1)
#define NO_SHAPE UINT32_MAX

/* The key of a trace in a context. All zero if there is none. */
struct recent_key {
	/* With the hash of the executables. */
	struct hash128 hash;
	/* The context with its flags, plus 1. */
	uint32_t context;
	uint32_t id;
};

void history_keys_deinit(struct history_keys *keys)
{
	stack_parts_deinit(&keys->keys);
	stack_parts_deinit(&keys->callers);
	frame_shapes_deinit(&keys->shapes);
	sample_table_deinit(&keys->contexts);
	key_bits_vector_deinit(&keys->freed);
	trace_unref(keys->no_trace);
	free(keys->recent);
	*keys = (struct history_keys){ 0 };
}

int history_keys_init(struct history_keys *keys)
{
	*keys = (struct history_keys){
		.no_trace = trace_create(NULL, 0, false, false),
	};
	/* The tables have no limit of their own: the history drops the oldest samples. */
	sample_table_init(&keys->contexts, SIZE_MAX);
	frame_shapes_init(&keys->shapes);
	stack_parts_init(&keys->callers);
	stack_parts_init(&keys->keys);
	if (keys->no_trace)
		return 0;
	history_keys_deinit(keys);
	return -ENOMEM;
}

size_t history_keys_bytes(const struct history_keys *keys)
{
	return keys->contexts.bytes + frame_shapes_bytes(&keys->shapes) +
	       stack_parts_bytes(&keys->callers) + stack_parts_bytes(&keys->keys) +
	       (keys->recent ? RECENT_KEYS * sizeof(struct recent_key) : 0) +
	       keys->freed.capacity * sizeof(uint64_t);
}

/* --- contents --- */

/* The next frame of a part; false at its end. *@shape is changed if the frame has one of its own, and *@has_shape is set then. */
static bool next_frame(const uint8_t **at, const uint8_t *end, uint64_t *address, uint32_t *shape,
		       bool *has_shape)
{
	uint64_t number;

	if (*at == end || !**at)
		return false;
	number = packed_get(at) - 1;
	*address = number >> 1;
	*has_shape = number & 1;
	if (*has_shape)
		*shape = (uint32_t)packed_get(at);
	return true;
}

/* Removes the uses of the shapes that the frames from @at on have. */
static void drop_shapes(struct history_keys *keys, const uint8_t *at, const uint8_t *end)
{
	uint64_t address;
	uint32_t shape;
	bool has_shape;

	while (next_frame(&at, end, &address, &shape, &has_shape))
		if (has_shape)
			frame_shapes_remove(&keys->shapes, shape);
}

/* --- removing keys --- */

/* Removes a use of the part that the link @caller leads to, and of those above it. */
static void drop_callers(struct history_keys *keys, uint32_t caller)
{
	struct stack_part_value value;

	while (caller && stack_parts_remove(&keys->callers, caller - 1, &value)) {
		drop_shapes(keys, value.content, value.content + STACK_PART_BYTES);
		caller = value.caller;
	}
}

static void mark_freed(struct history_keys *keys, uint32_t id)
{
	keys->freed.items[id / KEYS_PER_WORD] |= UINT64_C(1) << id % KEYS_PER_WORD;
	keys->has_freed = true;
	keys->recent_is_stale = true;
}

void history_keys_remove(struct history_keys *keys, uint32_t id)
{
	struct stack_part_value value;
	const uint8_t *at = value.content;
	uint32_t context;

	if (!stack_parts_remove(&keys->keys, id, &value))
		return;
	context = (uint32_t)packed_get(&at);
	drop_shapes(keys, at, value.content + STACK_PART_BYTES);
	drop_callers(keys, value.caller);
	sample_table_remove(&keys->contexts, context >> FLAG_BITS);
	mark_freed(keys, id);
}

/* --- adding keys --- */

/* A stack that is being packed. It has a use of its caller, and of each shape in its content. */
struct packed_stack {
	struct history_keys *keys;
	struct stack_part_value value;
	uint32_t length;
	uint32_t shape;
};

static void packed_stack_drop(struct packed_stack *stack)
{
	drop_shapes(stack->keys, stack->value.content, stack->value.content + stack->length);
	drop_callers(stack->keys, stack->value.caller);
}

/* Adds the content as a part, which becomes the caller of what follows. */
static int complete_part(struct packed_stack *stack)
{
	uint32_t id;
	bool is_new;
	int err = stack_parts_add(&stack->keys->callers, &stack->value, &id, &is_new);

	if (err)
		return err;
	/* A known part has uses of its own of what is above and in it. */
	if (!is_new)
		packed_stack_drop(stack);
	stack->value = (struct stack_part_value){ .caller = id + 1 };
	stack->length = 0;
	return 0;
}

/* Finds the frame's shape; *@is_added if it is not that of the frame before. */
static int add_shape(struct packed_stack *stack, const struct frame *frame, bool *is_added)
{
	struct frame_shapes *shapes = &stack->keys->shapes;

	*is_added =
		stack->shape == NO_SHAPE ||
		!frame_shape_fits(frame_shape_at(shapes->pool.blocks.items, stack->shape), frame);
	return *is_added ? frame_shapes_add(shapes, frame, &stack->shape) : 0;
}

static int push_frame(struct packed_stack *stack, const struct frame *frame)
{
	uint8_t bytes[FRAME_MAX_BYTES], *end;
	bool is_added;
	int err = add_shape(stack, frame, &is_added);

	if (err)
		return err;
	end = packed_put(bytes, ((frame->address & ADDRESS_MASK) << 1 | is_added) + 1);
	if (is_added)
		end = packed_put(end, stack->shape);
	if (stack->length + (size_t)(end - bytes) > STACK_PART_BYTES)
		err = complete_part(stack);
	if (err) {
		if (is_added)
			frame_shapes_remove(&stack->keys->shapes, stack->shape);
		return err;
	}
	memcpy(stack->value.content + stack->length, bytes, (size_t)(end - bytes));
	stack->length += (uint32_t)(end - bytes);
	return 0;
}

/* Leaves at most @tail_max_bytes in the content. */
static int push_frames(struct packed_stack *stack, const struct trace *trace, size_t tail_max_bytes)
{
	int err = 0;

	for (uint32_t i = trace->frame_count; i-- > 0 && !err;) {
		struct frame frame = trace_frame(trace, i);

		err = push_frame(stack, &frame);
	}
	if (!err && stack->length > tail_max_bytes)
		err = complete_part(stack);
	return err;
}

/* Makes room for the bit of each key. */
static int reserve_freed(struct history_keys *keys)
{
	/* The next key may need another block. */
	size_t words =
		slot_pool_limit(&keys->keys.pool) / KEYS_PER_WORD + SLOT_BLOCK / KEYS_PER_WORD;
	int err = 0;

	while (keys->freed.count < words && !err)
		err = key_bits_vector_push(&keys->freed, 0);
	return err;
}

/* Adds a use of the key, which takes over that of the context if it is new. */
static int add_key(struct history_keys *keys, const struct trace *trace, uint32_t context,
		   uint32_t *id, bool *is_new)
{
	struct packed_stack stack = { .keys = keys, .shape = NO_SHAPE };
	struct stack_part_value key = { 0 };
	uint8_t *tail = packed_put(key.content, context);
	int err = reserve_freed(keys);

	if (!err)
		err = push_frames(&stack, trace, (size_t)(key.content + STACK_PART_BYTES - tail));
	if (!err) {
		memcpy(tail, stack.value.content, stack.length);
		key.caller = stack.value.caller;
		err = stack_parts_add(&keys->keys, &key, id, is_new);
	}
	if (err || !*is_new)
		packed_stack_drop(&stack);
	return err;
}

static uint32_t trace_flags(const struct trace *trace)
{
	return (trace->is_complete ? IS_COMPLETE : 0) |
	       (trace->is_kernel_thread ? IS_KERNEL_THREAD : 0);
}

static struct hash128 trace_hash(const struct trace *trace)
{
	return (struct hash128){ .high = trace->hash.high ^ trace->executables_hash,
				 .low = trace->hash.low };
}

/* The slot of the cache; NULL without memory. */
static struct recent_key *recent_slot(struct history_keys *keys, const struct trace *trace,
				      uint32_t context)
{
	if (!keys->recent)
		keys->recent = calloc(RECENT_KEYS, sizeof(*keys->recent));
	/* Keys were freed, and some may be here. The cache is soon full again. */
	if (keys->recent && keys->recent_is_stale)
		memset(keys->recent, 0, RECENT_KEYS * sizeof(*keys->recent));
	keys->recent_is_stale = false;
	return keys->recent ? &keys->recent[(trace->hash.low + context) % RECENT_KEYS] : NULL;
}

static int find_key(struct history_keys *keys, const struct trace *trace, uint32_t context,
		    uint32_t *id, bool *is_new)
{
	struct recent_key *recent = recent_slot(keys, trace, context);
	int err;

	*is_new = false;
	if (recent && recent->context == context + 1 &&
	    hash128_equal(recent->hash, trace_hash(trace))) {
		*id = recent->id;
		stack_part_at(keys->keys.pool.blocks.items, *id)->uses++;
		return 0;
	}
	err = add_key(keys, trace, context, id, is_new);
	if (!err && recent)
		*recent = (struct recent_key){ .hash = trace_hash(trace),
					       .context = context + 1,
					       .id = *id };
	return err;
}

int history_keys_add(struct history_keys *keys, const struct sample *sample, uint32_t *id)
{
	struct sample fields = *sample;
	uint32_t context;
	bool is_new;
	int err;

	fields.trace = keys->no_trace;
	fields.cpu = SAMPLE_NO_NUMBER;
	err = sample_table_add(&keys->contexts, &fields, &context);
	if (err)
		return err;
	err = context < CONTEXT_LIMIT ?
		      find_key(keys, sample->trace,
			       context << FLAG_BITS | trace_flags(sample->trace), id, &is_new) :
		      -E2BIG;
	keys->made += !err && is_new;
	if (err || !is_new)
		sample_table_remove(&keys->contexts, context);
	return err;
}

int history_keys_take_freed(struct history_keys *keys, struct key_bits_vector *freed)
{
	size_t count = keys->freed.count;

	if (!keys->has_freed)
		return 0;
	if (key_bits_vector_reserve(freed, count))
		return -ENOMEM;
	memcpy(freed->items, keys->freed.items, count * sizeof(uint64_t));
	freed->count = count;
	memset(keys->freed.items, 0, count * sizeof(uint64_t));
	keys->has_freed = false;
	return 0;
}

/* --- reading --- */

static void *copy_pointers(const void *items, size_t count)
{
	void *copy = calloc(count + 1, sizeof(void *));

	return copy && count ? memcpy(copy, items, count * sizeof(void *)) : copy;
}

int history_keys_snapshot_init(struct history_keys_snapshot *snapshot,
			       const struct history_keys *keys)
{
	*snapshot = (struct history_keys_snapshot){
		.keys = copy_pointers(keys->keys.pool.blocks.items, keys->keys.pool.blocks.count),
		.callers = copy_pointers(keys->callers.pool.blocks.items,
					 keys->callers.pool.blocks.count),
		.contexts = copy_pointers(keys->contexts.blocks.items, keys->contexts.blocks.count),
		.shapes = copy_pointers(keys->shapes.pool.blocks.items,
					keys->shapes.pool.blocks.count),
		.limit = slot_pool_limit(&keys->keys.pool),
	};
	return snapshot->keys && snapshot->callers && snapshot->contexts && snapshot->shapes ?
		       0 :
		       -ENOMEM;
}

void history_keys_snapshot_deinit(struct history_keys_snapshot *snapshot)
{
	free(snapshot->keys);
	free(snapshot->callers);
	free(snapshot->contexts);
	free(snapshot->shapes);
	*snapshot = (struct history_keys_snapshot){ 0 };
}

void key_stack_deinit(struct key_stack *stack)
{
	stack_frame_vector_deinit(&stack->frames);
	stack_part_value_vector_deinit(&stack->parts);
}

static const struct stack_part_value *key_value(const struct history_keys_snapshot *snapshot,
						uint32_t id)
{
	return &stack_part_at(snapshot->keys, id)->value;
}

/* The context of a key with its flags; *@tail is set to the frames behind it. */
static uint32_t key_context(const struct stack_part_value *value, const uint8_t **tail)
{
	*tail = value->content;
	return (uint32_t)packed_get(tail);
}

const struct sample *history_key_sample(const struct history_keys_snapshot *snapshot, uint32_t id)
{
	const uint8_t *tail;
	uint32_t context = key_context(key_value(snapshot, id), &tail);

	return &sample_table_at(snapshot->contexts, context >> FLAG_BITS)->sample;
}

const struct sample *history_keys_sample(const struct history_keys *keys, uint32_t id)
{
	const struct history_keys_snapshot snapshot = {
		.keys = keys->keys.pool.blocks.items,
		.contexts = keys->contexts.blocks.items,
	};

	return history_key_sample(&snapshot, id);
}

bool history_key_is_complete(const struct history_keys_snapshot *snapshot, uint32_t id)
{
	const uint8_t *tail;

	return key_context(key_value(snapshot, id), &tail) & IS_COMPLETE;
}

struct stack_identity history_key_identity(const struct history_keys_snapshot *snapshot,
					   uint32_t id)
{
	const struct stack_part_value *value = key_value(snapshot, id);
	struct stack_identity identity = { .words = { value->caller } };
	const uint8_t *tail;

	key_context(value, &tail);
	memcpy(&identity.words[1], tail, (size_t)(value->content + STACK_PART_BYTES - tail));
	return identity;
}

struct unpacking {
	const struct history_keys_snapshot *snapshot;
	struct key_stack *stack;
	uint32_t shape;
};

static int unpack_frames(struct unpacking *unpacking, const uint8_t *at, const uint8_t *end)
{
	struct key_stack *stack = unpacking->stack;
	uint64_t address;
	bool has_shape;

	while (next_frame(&at, end, &address, &unpacking->shape, &has_shape)) {
		const struct frame_shape *shape =
			frame_shape_at(unpacking->snapshot->shapes, unpacking->shape);
		int err = stack_frame_vector_push(&stack->frames, frame_of_shape(shape, address));

		if (err)
			return err;
		stack->has_guess |= (shape->flags & FRAME_GUESS) != 0;
	}
	return 0;
}

/* Unpacks the parts from the outermost one to the one that the link @caller leads to. */
static int unpack_callers(struct unpacking *unpacking, uint32_t caller)
{
	struct stack_part_value_vector *parts = &unpacking->stack->parts;
	int err = 0;

	parts->count = 0;
	while (caller && !err) {
		const struct stack_part_value *value =
			&stack_part_at(unpacking->snapshot->callers, caller - 1)->value;

		err = stack_part_value_vector_push(parts, value);
		caller = value->caller;
	}
	for (size_t i = parts->count; i-- > 0 && !err;)
		err = unpack_frames(unpacking, parts->items[i]->content,
				    parts->items[i]->content + STACK_PART_BYTES);
	return err;
}

int history_key_stack(const struct history_keys_snapshot *snapshot, uint32_t id,
		      struct key_stack *stack)
{
	const struct stack_part_value *value = key_value(snapshot, id);
	struct unpacking unpacking = { .snapshot = snapshot, .stack = stack, .shape = NO_SHAPE };
	const uint8_t *tail;
	uint32_t context = key_context(value, &tail);
	int err;

	stack->frames.count = 0;
	stack->is_complete = context & IS_COMPLETE;
	stack->is_kernel_thread = context & IS_KERNEL_THREAD;
	stack->has_guess = false;
	err = unpack_callers(&unpacking, value->caller);
	return err ? err : unpack_frames(&unpacking, tail, value->content + STACK_PART_BYTES);
}

struct trace *history_key_trace(const struct history_keys_snapshot *snapshot, uint32_t id)
{
	_cleanup_(key_stack_deinit) struct key_stack stack = { 0 };
	size_t count;

	if (history_key_stack(snapshot, id, &stack))
		return NULL;
	count = stack.frames.count;
	/* A trace has the leaf first. */
	for (size_t i = 0; i < count / 2; i++) {
		struct frame frame = stack.frames.items[i];

		stack.frames.items[i] = stack.frames.items[count - 1 - i];
		stack.frames.items[count - 1 - i] = frame;
	}
	return trace_create(stack.frames.items, (uint32_t)count, stack.is_complete,
			    stack.is_kernel_thread);
}
