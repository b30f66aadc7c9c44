/* SPDX-License-Identifier: Apache-2.0 */
/* A few large blocks of memory. */
#include "reporter/otlp_arena.h"

#include <stdlib.h>

enum { BLOCK_BYTES = 1 << 16, ALIGNMENT = 16 };

struct otlp_block {
	struct otlp_block *next;
	size_t used;
	size_t capacity;
	_Alignas(ALIGNMENT) unsigned char bytes[];
};

void otlp_arena_deinit(struct otlp_arena *arena)
{
	while (arena->blocks) {
		struct otlp_block *next = arena->blocks->next;

		free(arena->blocks);
		arena->blocks = next;
	}
}

void *otlp_arena_take(struct otlp_arena *arena, size_t bytes)
{
	struct otlp_block *block = arena->blocks;
	size_t capacity = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
	void *taken;

	bytes = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	if (arena->failed)
		return NULL;
	if (!block || bytes > block->capacity - block->used) {
		capacity = (capacity + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
		block = calloc(1, sizeof(*block) + capacity);
		if (!block) {
			arena->failed = true;
			return NULL;
		}
		block->capacity = capacity;
		block->next = arena->blocks;
		arena->blocks = block;
	}
	taken = block->bytes + block->used;
	block->used += bytes;
	return taken;
}

void *otlp_arena_new(struct otlp_arena *arena, const ProtobufCMessageDescriptor *descriptor,
		     size_t count)
{
	void **messages = otlp_arena_take(arena, (count + 1) * sizeof(*messages));
	size_t bytes = descriptor->sizeof_message;
	char *memory = otlp_arena_take(arena, count * bytes);

	if (!messages || !memory)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		messages[i] = memory + i * bytes;
		protobuf_c_message_init(descriptor, messages[i]);
	}
	return messages;
}

void *otlp_arena_new_one(struct otlp_arena *arena, const ProtobufCMessageDescriptor *descriptor)
{
	void **messages = otlp_arena_new(arena, descriptor, 1);

	return messages ? messages[0] : NULL;
}
