/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Memory for the messages of protobuf-c's generated code, which are packed at once and then freed together. Not
 * thread-safe. All bytes zero is an empty arena.
 */
#ifndef REPORTER_OTLP_ARENA_H
#define REPORTER_OTLP_ARENA_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

struct otlp_block;

struct otlp_arena {
	struct otlp_block *blocks;
	/** After one failed allocation, all fail. */
	bool failed;
};

void otlp_arena_deinit(struct otlp_arena *arena);

/** Zeroed memory; NULL after a failure. */
void *otlp_arena_take(struct otlp_arena *arena, size_t bytes);

/** @count empty messages: an array of pointers to them, as the generated code needs it. NULL after a failure. */
void *otlp_arena_new(struct otlp_arena *arena, const ProtobufCMessageDescriptor *descriptor,
		     size_t count);

/** An empty message; NULL after a failure. */
void *otlp_arena_new_one(struct otlp_arena *arena, const ProtobufCMessageDescriptor *descriptor);

#endif
