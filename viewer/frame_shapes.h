/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Shapes of frames, each stored once, with ids and use counts. A shape is all of a frame but the lower 48 bits of
 * its address, so most native frames of a binary have the same one. The table owns a reference on each binary, and
 * copies of the strings. Shapes do not move. Not thread-safe, but shapes may be read while others are added.
 */
#ifndef VIEWER_FRAME_SHAPES_H
#define VIEWER_FRAME_SHAPES_H

#include "lib/base/hash_map.h"
#include "lib/model/trace.h"
#include "reporter/id_index.h"
#include "reporter/interner.h"
#include "viewer/slot_pool.h"

enum {
	SHAPE_ADDRESS_BITS = 48,
};

struct frame_shape {
	const char *function;
	const char *file;
	struct binary *binary;
	uint32_t line;
	uint32_t column;
	uint32_t start_line;
	uint32_t uses;
	/** The upper bits of the address. */
	uint16_t address_top;
	uint8_t kind;
	uint8_t flags;
	uint8_t error;
};

struct frame_shapes {
	struct slot_pool pool;
	struct id_index index;
	struct interner strings;
	/** Maps a binary's address to the number of shapes that have it. */
	struct hash_map binaries;
	/** The approximate memory of the strings, the binaries and the index. */
	size_t parts_bytes;
};

void frame_shapes_init(struct frame_shapes *shapes);
void frame_shapes_deinit(struct frame_shapes *shapes);

/** Adds a use of the shape of @frame, and the shape if it is new. -ENOMEM, -E2BIG; then no shape has changed. */
int frame_shapes_add(struct frame_shapes *shapes, const struct frame *frame, uint32_t *id);

/** Removes a use, and the shape with its last use. */
void frame_shapes_remove(struct frame_shapes *shapes, uint32_t id);

/** The approximate memory. */
static inline size_t frame_shapes_bytes(const struct frame_shapes *shapes)
{
	return shapes->pool.bytes + shapes->parts_bytes;
}

/** @id has a shape. */
static inline struct frame_shape *frame_shape_at(struct slot_block *const *blocks, uint32_t id)
{
	return slot_at(blocks, id);
}

/** Whether @frame has the shape. */
bool frame_shape_fits(const struct frame_shape *shape, const struct frame *frame);

/** The frame with @shape and the lower bits @address. What it points to is borrowed from the shape. */
static inline struct frame frame_of_shape(const struct frame_shape *shape, uint64_t address)
{
	return (struct frame){
		.kind = shape->kind,
		.flags = shape->flags,
		.error = shape->error,
		.line = shape->line,
		.column = shape->column,
		.start_line = shape->start_line,
		.address = address | (uint64_t)shape->address_top << SHAPE_ADDRESS_BITS,
		.binary = shape->binary,
		.function = shape->function,
		.file = shape->file,
	};
}

#endif
