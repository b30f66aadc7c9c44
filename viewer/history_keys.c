/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part has the link to its caller, which is the id of the part above plus 1, or 0 for the outermost, and then frames, the outermost
 * first. All are packed numbers. That of a frame is one more than twice the lower bits of its address, so that no frame starts with a
 * zero, and one more if the id of its shape follows. Otherwise its shape is that of the frame before it, which may be in the part
 * above. A part has as many frames as it holds, so equal callers are the same parts. A key has its context between the link and the
 * last frames.
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
	RECENT_STACKS = 8,
	RECENT_CONTEXTS = 16,
	RECENT_FRAMES = 64,
	KEYS_PER_WORD = 64,
	CONTEXT_MAX_BYTES = 4,
	/* A part with its link. Longer ones are less of them, shorter ones are shared by more stacks. */
	CALLER_MAX_BYTES = 18,
	NO_CALLER = 0,
};

_Static_assert((int)TRACE_ADDRESS_BITS == (int)SHAPE_ADDRESS_BITS,
	       "the rest of an address is in both shapes");
_Static_assert((int)FRAME_MAX_BYTES + (int)PACKED_32_MAX_BYTES <= (int)CALLER_MAX_BYTES,
	       "a part holds a frame");
_Static_assert((int)CALLER_MAX_BYTES + (int)CONTEXT_MAX_BYTES <= (int)STACK_PART_MAX_BYTES,
	       "a key holds the last part of a stack and its context");
_Static_assert(sizeof(struct stack_identity) >= sizeof(uint64_t) + CALLER_MAX_BYTES,
	       "an identity has a caller and the frames of a key");

#define NO_SHAPE UINT32_MAX

/* The key of a trace in a context. All zero if there is none. */
struct recent_key {
	/* With the hash of the executables. */
	struct hash128 hash;
	/* The context with its flags, plus 1. */
	uint32_t context;
	uint32_t id;
};

struct recent_frame {
	/* The lower bits. */
	uint64_t address;
	uint32_t shape;
	/* The link of the part that the frame is in. */
	uint32_t caller;
};

/* The outermost frames of the last stack of a context, as they were packed. */
struct recent_stack {
	uint32_t count;
	struct recent_frame frames[RECENT_FRAMES];
};

/* All zero: nothing is known. */
struct recent_keys {
	struct recent_key keys[RECENT_KEYS];
	struct recent_stack stacks[RECENT_STACKS];
	/* By the thread: the id of its last context, plus 1. */
	uint32_t contexts[RECENT_CONTEXTS];
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
	if (keys->no_trace)
		return 0;
	history_keys_deinit(keys);
	return -ENOMEM;
}

size_t history_keys_bytes(const struct history_keys *keys)
{
	return keys->contexts.bytes + frame_shapes_bytes(&keys->shapes) +
	       stack_parts_bytes(&keys->callers) + stack_parts_bytes(&keys->keys) +
	       (keys->recent ? sizeof(*keys->recent) : 0) + keys->freed.capacity * sizeof(uint64_t);
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

/* Reads a packed number of 32 bits. */
static uint32_t next_number(const uint8_t **at)
{
	return (uint32_t)packed_get(at);
}

/* Removes a use of the part that the link @caller leads to, and of those above it. */
static void drop_callers(struct history_keys *keys, uint32_t caller)
{
	struct stack_part_value value;

	while (caller != NO_CALLER && stack_parts_remove(&keys->callers, caller - 1, &value)) {
		const uint8_t *at = value.bytes;

		caller = next_number(&at);
		drop_shapes(keys, at, value.bytes + value.length);
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
	const uint8_t *at = value.bytes;
	uint32_t caller, context;

	if (!stack_parts_remove(&keys->keys, id, &value))
		return;
	caller = next_number(&at);
	context = next_number(&at);
	drop_shapes(keys, at, value.bytes + value.length);
	drop_callers(keys, caller);
	sample_table_remove(&keys->contexts, context >> FLAG_BITS);
	mark_freed(keys, id);
}

/* --- adding keys --- */

/* The lower bits of the address of frame @index. */
static uint64_t address_in_trace(const struct trace *trace, uint32_t index)
{
	return trace_packed_frame(trace, index) >> (64 - TRACE_ADDRESS_BITS);
}

static uint32_t shape_in_trace(const struct trace *trace, uint32_t index)
{
	return trace_packed_frame(trace, index) & ((1U << (64 - TRACE_ADDRESS_BITS)) - 1);
}

/* A stack that is being packed. It has a use of its caller, and of each shape in its frames. */
struct packed_stack {
	struct history_keys *keys;
	uint32_t caller;
	/* The id of the last frame's shape, and what it is in the trace. */
	uint32_t shape;
	uint32_t trace_shape;
	/* Frames below the caller. */
	uint8_t frames[CALLER_MAX_BYTES];
	uint32_t length;
	uint32_t max_length;
	bool has_shapes;
};

static void packed_stack_drop(struct packed_stack *stack)
{
	if (stack->has_shapes)
		drop_shapes(stack->keys, stack->frames, stack->frames + stack->length);
	drop_callers(stack->keys, stack->caller);
}

/* The next frames are below the part that the link @caller leads to. */
static void begin_part(struct packed_stack *stack, uint32_t caller)
{
	uint8_t link[PACKED_32_MAX_BYTES];

	stack->caller = caller;
	stack->length = 0;
	stack->has_shapes = false;
	stack->max_length = CALLER_MAX_BYTES - (uint32_t)(packed_put(link, caller) - link);
}

/* Puts the caller, @context unless it is NULL, and the frames into *@value. */
static void write_value(const struct packed_stack *stack, const uint32_t *context,
			struct stack_part_value *value)
{
	uint8_t *end = packed_put(value->bytes, stack->caller);

	if (context)
		end = packed_put(end, *context);
	memcpy(end, stack->frames, stack->length);
	value->length = (uint8_t)(end + stack->length - value->bytes);
}

/* Adds the frames as a part, which becomes the caller of what follows. */
static int complete_part(struct packed_stack *stack)
{
	struct stack_part_value value = { 0 };
	uint32_t id;
	bool is_new;
	int err;

	write_value(stack, NULL, &value);
	err = stack_parts_add(&stack->keys->callers, &value, &id, &is_new);
	if (err)
		return err;
	/* A known part has uses of its own of what is above and in it. */
	if (!is_new)
		packed_stack_drop(stack);
	begin_part(stack, id + 1);
	return 0;
}

/* Finds the shape of frame @index; *@is_added if it is not that of the frame before. */
static int add_shape(struct packed_stack *stack, const struct trace *trace, uint32_t index,
		     bool *is_added)
{
	struct frame_shapes *shapes = &stack->keys->shapes;
	uint32_t trace_shape = shape_in_trace(trace, index);
	struct frame frame;

	*is_added = false;
	if (trace_shape == stack->trace_shape)
		return 0;
	frame = trace_frame(trace, index);
	stack->trace_shape = trace_shape;
	*is_added =
		stack->shape == NO_SHAPE ||
		!frame_shape_fits(frame_shape_at(shapes->pool.blocks.items, stack->shape), &frame);
	return *is_added ? frame_shapes_add(shapes, &frame, &stack->shape) : 0;
}

static int push_frame(struct packed_stack *stack, const struct trace *trace, uint32_t index)
{
	uint8_t bytes[FRAME_MAX_BYTES], *end;
	bool is_added;
	int err = add_shape(stack, trace, index, &is_added);

	if (err)
		return err;
	end = packed_put(bytes, (address_in_trace(trace, index) << 1 | is_added) + 1);
	if (is_added)
		end = packed_put(end, stack->shape);
	if (stack->length + (size_t)(end - bytes) > stack->max_length)
		err = complete_part(stack);
	if (err) {
		if (is_added)
			frame_shapes_remove(&stack->keys->shapes, stack->shape);
		return err;
	}
	memcpy(stack->frames + stack->length, bytes, (size_t)(end - bytes));
	stack->length += (uint32_t)(end - bytes);
	stack->has_shapes |= is_added;
	return 0;
}

static bool has_shape(const struct history_keys *keys, const struct trace *trace, uint32_t index,
		      uint32_t shape)
{
	struct frame frame = trace_frame(trace, index);

	return frame_shape_fits(frame_shape_at(keys->shapes.pool.blocks.items, shape), &frame);
}

/* The number of outermost frames of @trace that are those of @recent and fill whole parts. */
static uint32_t known_frames(const struct history_keys *keys, const struct recent_stack *recent,
			     const struct trace *trace)
{
	const struct recent_frame *frames = recent->frames;
	uint32_t known = 0, trace_shape = NO_SHAPE, shape = NO_SHAPE;

	for (uint32_t i = 0; i < recent->count && i < trace->frame_count; i++) {
		uint32_t index = trace->frame_count - 1 - i;

		if (frames[i].address != address_in_trace(trace, index))
			break;
		if ((frames[i].shape != shape || shape_in_trace(trace, index) != trace_shape) &&
		    !has_shape(keys, trace, index, frames[i].shape))
			break;
		shape = frames[i].shape;
		trace_shape = shape_in_trace(trace, index);
		/* The frame begins a part, here and there. */
		if (i && frames[i].caller != frames[i - 1].caller)
			known = i;
	}
	return known;
}

/* Begins below the parts of @recent that @trace has too. *@count is the number of frames in them. */
static int begin_stack(struct packed_stack *stack, const struct recent_stack *recent,
		       const struct trace *trace, uint32_t *count)
{
	uint32_t known = known_frames(stack->keys, recent, trace);
	uint32_t caller = known ? recent->frames[known].caller : NO_CALLER;
	int err = known ? stack_parts_use(&stack->keys->callers, caller - 1) : 0;

	if (err)
		return err;
	begin_part(stack, caller);
	stack->shape = known ? recent->frames[known - 1].shape : NO_SHAPE;
	stack->trace_shape = known ? shape_in_trace(trace, trace->frame_count - known) : NO_SHAPE;
	*count = known;
	return 0;
}

/* Packs the frames, and remembers them in *@recent. */
static int push_frames(struct packed_stack *stack, const struct trace *trace,
		       struct recent_stack *recent)
{
	uint32_t count = trace->frame_count, i;
	int err = begin_stack(stack, recent, trace, &i);

	for (; i < count && !err; i++) {
		uint32_t index = count - 1 - i;

		err = push_frame(stack, trace, index);
		if (i < RECENT_FRAMES)
			recent->frames[i] = (struct recent_frame){
				.address = address_in_trace(trace, index),
				.shape = stack->shape,
				.caller = stack->caller,
			};
	}
	recent->count = err ? 0 : count < RECENT_FRAMES ? count : RECENT_FRAMES;
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
	struct recent_stack *recent = &keys->recent->stacks[(context >> FLAG_BITS) % RECENT_STACKS];
	struct packed_stack stack = { .keys = keys };
	struct stack_part_value key = { 0 };
	int err = reserve_freed(keys);

	if (!err)
		err = push_frames(&stack, trace, recent);
	if (!err) {
		write_value(&stack, &context, &key);
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

/* Makes the cache ready. -ENOMEM. */
static int prepare_recent(struct history_keys *keys)
{
	if (!keys->recent)
		keys->recent = calloc(1, sizeof(*keys->recent));
	if (!keys->recent)
		return -ENOMEM;
	/* Keys were freed, and some may be here. The cache is soon full again. */
	if (keys->recent_is_stale)
		memset(keys->recent, 0, sizeof(*keys->recent));
	keys->recent_is_stale = false;
	return 0;
}

static int find_key(struct history_keys *keys, const struct trace *trace, uint32_t context,
		    uint32_t *id, bool *is_new)
{
	struct recent_key *recent = &keys->recent->keys[(trace->hash.low + context) % RECENT_KEYS];
	int err;

	*is_new = false;
	if (recent->context == context + 1 && hash128_equal(recent->hash, trace_hash(trace))) {
		*id = recent->id;
		return stack_parts_use(&keys->keys, *id);
	}
	err = add_key(keys, trace, context, id, is_new);
	if (!err)
		*recent = (struct recent_key){ .hash = trace_hash(trace),
					       .context = context + 1,
					       .id = *id };
	return err;
}

/* Adds a use of the context with these fields. */
static int add_context(struct history_keys *keys, const struct sample *fields, uint32_t *context)
{
	uint32_t *recent = &keys->recent->contexts[fields->tid % RECENT_CONTEXTS];
	int err;

	if (*recent &&
	    sample_equal(&sample_table_at(keys->contexts.blocks.items, *recent - 1)->sample,
			 fields)) {
		*context = *recent - 1;
		sample_table_use(&keys->contexts, *context);
		return 0;
	}
	err = sample_table_add(&keys->contexts, fields, context);
	if (!err)
		*recent = *context + 1;
	return err;
}

int history_keys_add(struct history_keys *keys, const struct sample *sample, uint32_t *id)
{
	struct sample fields = *sample;
	int err = prepare_recent(keys);
	uint32_t context;
	bool is_new;

	fields.trace = keys->no_trace;
	fields.cpu = SAMPLE_NO_NUMBER;
	if (!err)
		err = add_context(keys, &fields, &context);
	if (err)
		return err;
	err = context < CONTEXT_LIMIT ?
		      find_key(keys, sample->trace,
			       context << FLAG_BITS | trace_flags(sample->trace), id, &is_new) :
		      -E2BIG;
	keys->made += !err && is_new;
	if (err || !is_new)
		sample_table_remove(&keys->contexts, context);
	/* The context may be gone. */
	if (err)
		keys->recent_is_stale = true;
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
	number_vector_deinit(&stack->parts);
}

/* A key, unpacked but for its frames. */
struct read_key {
	uint32_t caller;
	uint32_t context;
	uint8_t flags;
	const uint8_t *frames;
	const uint8_t *end;
};

static struct read_key read_key(const struct history_keys_snapshot *snapshot, uint32_t id)
{
	struct read_key key;
	const uint8_t *at = stack_part_read(snapshot->keys, id, &key.end);
	uint32_t context;

	key.caller = next_number(&at);
	context = next_number(&at);
	key.context = context >> FLAG_BITS;
	key.flags = context & (IS_COMPLETE | IS_KERNEL_THREAD);
	key.frames = at;
	return key;
}

const struct sample *history_key_sample(const struct history_keys_snapshot *snapshot, uint32_t id)
{
	return &sample_table_at(snapshot->contexts, read_key(snapshot, id).context)->sample;
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
	return read_key(snapshot, id).flags & IS_COMPLETE;
}

struct stack_identity history_key_identity(const struct history_keys_snapshot *snapshot,
					   uint32_t id)
{
	struct read_key key = read_key(snapshot, id);
	struct stack_identity identity = { .words = { key.caller } };
	size_t bytes = (size_t)(key.end - key.frames);

	/* A slot can have a zero more than the key. */
	memcpy(&identity.words[1], key.frames, bytes < CALLER_MAX_BYTES ? bytes : CALLER_MAX_BYTES);
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
	struct slot_block *const *blocks = unpacking->snapshot->callers;
	struct number_vector *parts = &unpacking->stack->parts;
	const uint8_t *at, *end;
	int err = 0;

	parts->count = 0;
	while (caller != NO_CALLER && !err) {
		err = number_vector_push(parts, caller - 1);
		at = stack_part_read(blocks, caller - 1, &end);
		caller = next_number(&at);
	}
	for (size_t i = parts->count; i-- > 0 && !err;) {
		at = stack_part_read(blocks, parts->items[i], &end);
		next_number(&at);
		err = unpack_frames(unpacking, at, end);
	}
	return err;
}

int history_key_stack(const struct history_keys_snapshot *snapshot, uint32_t id,
		      struct key_stack *stack)
{
	struct unpacking unpacking = { .snapshot = snapshot, .stack = stack, .shape = NO_SHAPE };
	struct read_key key = read_key(snapshot, id);
	int err;

	stack->frames.count = 0;
	stack->is_complete = key.flags & IS_COMPLETE;
	stack->is_kernel_thread = key.flags & IS_KERNEL_THREAD;
	stack->has_guess = false;
	err = unpack_callers(&unpacking, key.caller);
	return err ? err : unpack_frames(&unpacking, key.frames, key.end);
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
