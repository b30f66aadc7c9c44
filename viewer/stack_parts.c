/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/stack_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash128.h"

enum {
	LEAST_CAPACITY = 64,
	/* So many entries later a part is read. */
	PREFETCHED = 16,
	/* The table is made anew, so that four of seven entries are filled, when six of seven are, or less than one of three. */
	NEW_NUMERATOR = 7,
	NEW_DENOMINATOR = 4,
	FULL_NUMERATOR = 6,
	FULL_DENOMINATOR = 7,
	SPARSE_DIVISOR = 3,
	/* In the bits of an id. The id of a part comes after these. */
	EMPTY = 0,
	GONE = 1,
	FIRST_ID,
	/* Uses that a part itself counts. */
	USES_STEP = 256,
};

_Static_assert(STACK_PART_MAX_BYTES + 1 <= (int)SLOT_MAX_BYTES, "a slot holds a part");

void stack_parts_deinit(struct stack_parts *parts)
{
	slot_pool_deinit(&parts->pool);
	hash_map_deinit(&parts->more_uses);
	free(parts->entries);
	*parts = (struct stack_parts){ 0 };
}

static struct stack_part *part_at(const struct stack_parts *parts, uint32_t id)
{
	return slot_at(parts->pool.blocks.items, id);
}

static size_t slot_bytes_of(size_t length)
{
	size_t bytes = sizeof(struct stack_part) + length;

	return (bytes + SLOT_UNIT_BYTES - 1) / SLOT_UNIT_BYTES * SLOT_UNIT_BYTES;
}

/* @bytes are those of a slot behind the uses. */
static uint64_t bytes_hash(const uint8_t *bytes, size_t slot_bytes)
{
	return hash64_bytes(bytes, slot_bytes - sizeof(struct stack_part));
}

static uint64_t hash_at(const struct stack_parts *parts, uint32_t id)
{
	return bytes_hash(part_at(parts, id)->bytes,
			  slot_block_of(parts->pool.blocks.items, id)->slot_bytes);
}

/* --- the table --- */

static uint32_t id_mask(const struct stack_parts *parts)
{
	return (uint32_t)((UINT64_C(1) << parts->id_bits) - 1);
}

static uint32_t make_entry(const struct stack_parts *parts, uint64_t hash, uint32_t id)
{
	return ((uint32_t)hash & ~id_mask(parts)) | (id + FIRST_ID);
}

/* The entry at which a search begins. Its bits of the hash are not those in the entry. */
static size_t first_entry(const struct stack_parts *parts, uint64_t hash)
{
	return (size_t)((hash >> 32) * parts->capacity >> 32);
}

static size_t next_entry(const struct stack_parts *parts, size_t entry)
{
	return entry + 1 == parts->capacity ? 0 : entry + 1;
}

/* To a new table, which has room. */
static void add_entry(struct stack_parts *parts, uint64_t hash, uint32_t id)
{
	size_t at = first_entry(parts, hash);

	while (parts->entries[at] != EMPTY)
		at = next_entry(parts, at);
	parts->filled++;
	parts->entries[at] = make_entry(parts, hash, id);
}

static void remove_entry(struct stack_parts *parts, uint64_t hash, uint32_t id)
{
	uint32_t entry = make_entry(parts, hash, id);
	size_t at = first_entry(parts, hash);

	while (parts->entries[at] != entry)
		at = next_entry(parts, at);
	parts->entries[at] = GONE;
}

/* Makes the table anew for the parts that there are and one more. -ENOMEM: it stays. */
static int make_table(struct stack_parts *parts)
{
	uint32_t limit = slot_pool_limit(&parts->pool), most = limit + SLOT_BLOCK + FIRST_ID;
	struct stack_parts made = *parts;

	made.capacity = parts->pool.count * (size_t)NEW_NUMERATOR / NEW_DENOMINATOR;
	if (made.capacity < LEAST_CAPACITY)
		made.capacity = LEAST_CAPACITY;
	made.filled = 0;
	/* With room for as many again. */
	made.id_bits = 33U - (unsigned int)__builtin_clz(most | 1);
	if (made.id_bits > 32)
		made.id_bits = 32;
	made.entries = calloc(made.capacity, sizeof(made.entries[0]));
	if (!made.entries)
		return -ENOMEM;
	for (size_t at = 0; at < parts->capacity; at++) {
		size_t ahead = at + PREFETCHED < parts->capacity ? at + PREFETCHED : at;
		uint32_t entry = parts->entries[at] & id_mask(parts);
		uint32_t next = parts->entries[ahead] & id_mask(parts);

		if (next >= FIRST_ID)
			__builtin_prefetch(part_at(parts, next - FIRST_ID));
		if (entry >= FIRST_ID)
			add_entry(&made, hash_at(parts, entry - FIRST_ID), entry - FIRST_ID);
	}
	free(parts->entries);
	*parts = made;
	return 0;
}

static int reserve_entry(struct stack_parts *parts)
{
	uint64_t limit = (uint64_t)slot_pool_limit(&parts->pool) + SLOT_BLOCK;

	if (parts->filled < parts->capacity / FULL_DENOMINATOR * FULL_NUMERATOR &&
	    limit + FIRST_ID <= id_mask(parts))
		return 0;
	return make_table(parts);
}

/* Without memory, the table stays as it is. */
static void shrink_table(struct stack_parts *parts)
{
	if (parts->capacity > LEAST_CAPACITY &&
	    parts->pool.count < parts->capacity / SPARSE_DIVISOR)
		(void)make_table(parts);
}

static bool part_equals(const struct stack_parts *parts, uint32_t id,
			const struct stack_part_value *value, size_t slot_bytes)
{
	return slot_block_of(parts->pool.blocks.items, id)->slot_bytes == slot_bytes &&
	       !memcmp(part_at(parts, id)->bytes, value->bytes,
		       slot_bytes - sizeof(struct stack_part));
}

/* True if there is an equal part: then *@id is its id. Otherwise *@entry is the entry for a new one. There is room for it. */
static bool find(const struct stack_parts *parts, const struct stack_part_value *value,
		 uint64_t hash, uint32_t *id, size_t *entry)
{
	uint32_t mask = id_mask(parts), found;
	size_t slot_bytes = slot_bytes_of(value->length), at = first_entry(parts, hash);
	bool has_entry = false;

	for (; (found = parts->entries[at]) != EMPTY; at = next_entry(parts, at)) {
		if (found == GONE && !has_entry) {
			*entry = at;
			has_entry = true;
		}
		if (((found ^ (uint32_t)hash) & ~mask) || (found & mask) < FIRST_ID)
			continue;
		*id = (found & mask) - FIRST_ID;
		if (part_equals(parts, *id, value, slot_bytes))
			return true;
	}
	if (!has_entry)
		*entry = at;
	return false;
}

/* --- parts --- */

/* The part has no use yet. @entry is where its id goes. */
static int make_part(struct stack_parts *parts, const struct stack_part_value *value, uint64_t hash,
		     size_t entry, uint32_t *id)
{
	size_t slot_bytes = slot_bytes_of(value->length);
	int err = slot_pool_reserve(&parts->pool, slot_bytes);
	struct stack_part *part;

	if (err)
		return err;
	*id = slot_pool_take(&parts->pool, slot_bytes);
	part = part_at(parts, *id);
	part->uses = 0;
	memcpy(part->bytes, value->bytes, slot_bytes - sizeof(*part));
	parts->filled += parts->entries[entry] == EMPTY;
	parts->entries[entry] = make_entry(parts, hash, *id);
	return 0;
}

int stack_parts_use(struct stack_parts *parts, uint32_t id)
{
	struct stack_part *part = part_at(parts, id);
	uint64_t more = 0;
	int err = 0;

	if (part->uses == USES_STEP - 1) {
		hash_map_find(&parts->more_uses, id, &more);
		err = hash_map_set(&parts->more_uses, id, more + 1);
	}
	if (!err)
		part->uses++;
	return err;
}

int stack_parts_add(struct stack_parts *parts, const struct stack_part_value *value, uint32_t *id,
		    bool *is_new)
{
	uint64_t hash = bytes_hash(value->bytes, slot_bytes_of(value->length));
	uint32_t found = 0;
	size_t entry = 0;
	bool is_known;
	int err = reserve_entry(parts);

	if (err)
		return err;
	is_known = find(parts, value, hash, &found, &entry);
	if (!is_known)
		err = make_part(parts, value, hash, entry, &found);
	/* The first use of a new part needs no memory. */
	if (!err)
		err = stack_parts_use(parts, found);
	if (err)
		return err;
	*id = found;
	*is_new = !is_known;
	return 0;
}

/* Removes a use; true if there is none left. */
static bool remove_use(struct stack_parts *parts, uint32_t id)
{
	struct stack_part *part = part_at(parts, id);
	uint64_t more;

	if (part->uses > 1) {
		part->uses--;
		return false;
	}
	if (!hash_map_find(&parts->more_uses, id, &more))
		return true;
	/* Without one of its own, it takes some of the others. The id is in the map, so that needs no memory. */
	if (!part->uses--) {
		if (more > 1)
			(void)hash_map_set(&parts->more_uses, id, more - 1);
		else
			hash_map_remove(&parts->more_uses, id, NULL);
	}
	return false;
}

bool stack_parts_remove(struct stack_parts *parts, uint32_t id, struct stack_part_value *value)
{
	const uint8_t *end, *bytes = stack_part_read(parts->pool.blocks.items, id, &end);
	size_t length = (size_t)(end - bytes);

	if (!remove_use(parts, id))
		return false;
	*value = (struct stack_part_value){ .length = (uint8_t)length };
	memcpy(value->bytes, bytes, length);
	remove_entry(parts, hash_at(parts, id), id);
	slot_pool_free(&parts->pool, id);
	shrink_table(parts);
	return true;
}
