/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/frame_shapes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash128.h"

enum {
	/* Memory besides the binary itself: the map's entry, and malloc's overhead for its two blocks. */
	BINARY_ENTRY_BYTES = 80,
};

/* --- strings --- */

static uint64_t string_hash(const void *item)
{
	return hash64_bytes(item, strlen(item));
}

static bool string_equal(const void *a, const void *b)
{
	return !strcmp(a, b);
}

static size_t string_bytes(const void *item)
{
	return strlen(item) + 1;
}

static void *string_keep(const void *item)
{
	return strdup(item);
}

static const struct interner_ops string_ops = { string_hash, string_equal, string_bytes,
						string_keep, free };

/* NULL is a string of its own. */
static int intern(struct frame_shapes *shapes, const char *string, const char **interned)
{
	void *found = NULL;
	size_t cost = 0;
	int err = string ? interner_add(&shapes->strings, string, SIZE_MAX, &found, &cost) : 0;

	if (err)
		return err;
	shapes->parts_bytes += cost;
	*interned = found;
	return 0;
}

static void drop_string(struct frame_shapes *shapes, const char *interned)
{
	if (interned)
		shapes->parts_bytes -= interner_remove(&shapes->strings, interned);
}

/* --- binaries --- */

static size_t binary_cost(const struct binary *binary)
{
	return binary_bytes(binary) + BINARY_ENTRY_BYTES;
}

static int count_binary(struct frame_shapes *shapes, struct binary *binary)
{
	uint64_t users = 0;
	int err;

	if (!binary)
		return 0;
	hash_map_find(&shapes->binaries, (uintptr_t)binary, &users);
	err = hash_map_set(&shapes->binaries, (uintptr_t)binary, users + 1);
	if (err || users)
		return err;
	binary_ref(binary);
	shapes->parts_bytes += binary_cost(binary);
	return 0;
}

static void uncount_binary(struct frame_shapes *shapes, struct binary *binary)
{
	uint64_t users = 0;

	if (!binary)
		return;
	hash_map_find(&shapes->binaries, (uintptr_t)binary, &users);
	if (users > 1) {
		/* The key exists, so this needs no memory. */
		(void)hash_map_set(&shapes->binaries, (uintptr_t)binary, users - 1);
		return;
	}
	hash_map_remove(&shapes->binaries, (uintptr_t)binary, NULL);
	shapes->parts_bytes -= binary_cost(binary);
	binary_unref(binary);
}

/* --- shapes --- */

static bool strings_equal(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

bool frame_shape_fits(const struct frame_shape *shape, const struct frame *frame)
{
	return shape->kind == frame->kind && shape->flags == frame->flags &&
	       shape->error == frame->error && shape->binary == frame->binary &&
	       shape->line == frame->line && shape->column == frame->column &&
	       shape->start_line == frame->start_line &&
	       shape->address_top == frame->address >> SHAPE_ADDRESS_BITS &&
	       strings_equal(shape->function, frame->function) &&
	       strings_equal(shape->file, frame->file);
}

static uint64_t optional_hash(const char *string)
{
	return string ? string_hash(string) : 0;
}

static uint64_t shape_hash(const struct frame *frame)
{
	const uint64_t parts[] = {
		optional_hash(frame->function),
		optional_hash(frame->file),
		(uintptr_t)frame->binary,
		(uint64_t)frame->line << 32 | frame->column,
		(uint64_t)frame->start_line << 32 | frame->kind << 16 | frame->flags << 8 |
			frame->error,
		frame->address >> SHAPE_ADDRESS_BITS,
	};

	return hash64_bytes(parts, sizeof(parts));
}

static bool entry_fits(const void *context, uint32_t id, const void *key)
{
	const struct frame_shapes *shapes = context;

	return frame_shape_fits(frame_shape_at(shapes->pool.blocks.items, id), key);
}

void frame_shapes_init(struct frame_shapes *shapes)
{
	*shapes = (struct frame_shapes){ 0 };
	interner_init(&shapes->strings, &string_ops);
}

void frame_shapes_deinit(struct frame_shapes *shapes)
{
	size_t cursor = 0;
	uint64_t binary;

	while (hash_map_next(&shapes->binaries, &cursor, &binary, NULL))
		binary_unref((struct binary *)(uintptr_t)binary);
	slot_pool_deinit(&shapes->pool);
	id_index_deinit(&shapes->index);
	interner_deinit(&shapes->strings);
	hash_map_deinit(&shapes->binaries);
	shapes->parts_bytes = 0;
}

static int make_shape(struct frame_shapes *shapes, const struct frame *frame, uint64_t hash,
		      uint32_t *id)
{
	struct frame_shape shape = {
		.binary = frame->binary,
		.line = frame->line,
		.column = frame->column,
		.start_line = frame->start_line,
		.address_top = (uint16_t)(frame->address >> SHAPE_ADDRESS_BITS),
		.kind = frame->kind,
		.flags = frame->flags,
		.error = frame->error,
	};
	int err = slot_pool_reserve(&shapes->pool, sizeof(shape));

	if (!err)
		err = id_index_reserve(&shapes->index);
	if (!err)
		err = intern(shapes, frame->function, &shape.function);
	if (!err)
		err = intern(shapes, frame->file, &shape.file);
	if (!err)
		err = count_binary(shapes, frame->binary);
	if (err) {
		drop_string(shapes, shape.function);
		drop_string(shapes, shape.file);
		return err;
	}
	*id = slot_pool_take(&shapes->pool, sizeof(shape));
	shapes->parts_bytes += ID_INDEX_ENTRY_BYTES;
	*frame_shape_at(shapes->pool.blocks.items, *id) = shape;
	id_index_add(&shapes->index, hash, *id);
	return 0;
}

int frame_shapes_add(struct frame_shapes *shapes, const struct frame *frame, uint32_t *id)
{
	uint64_t hash = shape_hash(frame);
	uint32_t found;
	int err = 0;

	if (!id_index_find(&shapes->index, hash, entry_fits, shapes, frame, &found))
		err = make_shape(shapes, frame, hash, &found);
	if (err)
		return err;
	frame_shape_at(shapes->pool.blocks.items, found)->uses++;
	*id = found;
	return 0;
}

void frame_shapes_remove(struct frame_shapes *shapes, uint32_t id)
{
	struct frame_shape *shape = frame_shape_at(shapes->pool.blocks.items, id);
	struct frame frame;

	if (--shape->uses)
		return;
	frame = frame_of_shape(shape, 0);
	id_index_remove(&shapes->index, shape_hash(&frame), id);
	drop_string(shapes, shape->function);
	drop_string(shapes, shape->file);
	uncount_binary(shapes, shape->binary);
	shapes->parts_bytes -= ID_INDEX_ENTRY_BYTES;
	slot_pool_free(&shapes->pool, id);
}
