/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Parts of stacks: short strings of bytes, each stored once, with ids and use counts. A part takes as many bytes as it has, and some
 * seven more. Parts do not move, and the memory of those that are gone is used again or freed. Not thread-safe, but parts may be read
 * while others are added.
 */
#ifndef VIEWER_STACK_PARTS_H
#define VIEWER_STACK_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/hash_map.h"
#include "viewer/slot_pool.h"

enum {
	STACK_PART_MAX_BYTES = 31,
	/** Approximate memory of a count in `more_uses`. */
	MORE_USES_BYTES = 64,
};

/**
 * The bytes behind the length are zeros. A part is read from a slot that may have one more, so its bytes must not depend on zeros at
 * their end.
 */
struct stack_part_value {
	uint8_t bytes[STACK_PART_MAX_BYTES];
	uint8_t length;
};

/** A part in its slot. */
struct stack_part {
	/** The number of uses, modulo 256. */
	uint8_t uses;
	uint8_t bytes[];
};

struct stack_parts {
	struct slot_pool pool;
	/** Maps ids to their uses, divided by 256, where there are so many. */
	struct hash_map more_uses;
	/**
	 * A hash table with open addressing. An entry has the id of a part in its lower bits, as many as needed, and the upper bits of its
	 * hash in the others.
	 */
	uint32_t *entries;
	size_t capacity;
	/** Entries that are not empty. Those of parts that are gone count too. */
	size_t filled;
	unsigned int id_bits;
};

/** All bytes zero is an empty table. */
void stack_parts_deinit(struct stack_parts *parts);

/**
 * Adds a use of the part that is equal to @value. *@is_new is set if there was none. -ENOMEM, -E2BIG: too many parts. Nothing has
 * changed then.
 */
int stack_parts_add(struct stack_parts *parts, const struct stack_part_value *value, uint32_t *id,
		    bool *is_new);

/** Adds a use of a part. -ENOMEM. */
int stack_parts_use(struct stack_parts *parts, uint32_t id);

/** Removes a use. True if it was the last one: then the part is gone, and *@value is what it was. */
bool stack_parts_remove(struct stack_parts *parts, uint32_t id, struct stack_part_value *value);

/** Allocated memory. */
static inline size_t stack_parts_bytes(const struct stack_parts *parts)
{
	return parts->pool.bytes + parts->capacity * sizeof(parts->entries[0]) +
	       parts->more_uses.count * MORE_USES_BYTES;
}

/** The bytes of the part with @id. *@end is set to where they end; zeros may be before it. */
static inline const uint8_t *stack_part_read(struct slot_block *const *blocks, uint32_t id,
					     const uint8_t **end)
{
	const struct slot_block *block = slot_block_of(blocks, id);
	const struct stack_part *part = slot_at(blocks, id);

	*end = (const uint8_t *)part + block->slot_bytes;
	return part->bytes;
}

#endif
