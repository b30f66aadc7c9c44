/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linear probing over a power of two of slots, at most three quarters full. A slot keeps half of
 * the hash, which gives its position when the table grows and avoids most comparisons.
 */

#include "reporter/id_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 16 };

/* 0 is an empty slot; otherwise half of the hash, and the id + 1. */
static uint64_t make_slot(uint32_t half, uint32_t id)
{
	return (uint64_t)half << 32 | (id + 1);
}

static uint32_t slot_half(uint64_t slot)
{
	return slot >> 32;
}

static uint32_t slot_id(uint64_t slot)
{
	return (uint32_t)slot - 1;
}

static void insert(uint64_t *slots, size_t capacity, uint64_t slot)
{
	size_t i = slot_half(slot) & (capacity - 1);

	while (slots[i])
		i = (i + 1) & (capacity - 1);
	slots[i] = slot;
}

void id_index_deinit(struct id_index *index)
{
	free(index->slots);
	memset(index, 0, sizeof(*index));
}

int id_index_reserve(struct id_index *index)
{
	size_t capacity = index->capacity ? index->capacity * 2 : FIRST_CAPACITY;
	uint64_t *slots;

	if (index->count < index->capacity / 4 * 3)
		return 0;
	slots = calloc(capacity, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < index->capacity; i++)
		if (index->slots[i])
			insert(slots, capacity, index->slots[i]);
	free(index->slots);
	index->slots = slots;
	index->capacity = capacity;
	return 0;
}

void id_index_add(struct id_index *index, uint64_t hash, uint32_t id)
{
	insert(index->slots, index->capacity, make_slot(hash >> 32, id));
	index->count++;
}

/*
 * Moves the following slots up to the next gap towards their home slots, so that no search ends too
 * early.
 */
void id_index_remove(struct id_index *index, uint64_t hash, uint32_t id)
{
	uint64_t removed = make_slot(hash >> 32, id), *slots = index->slots;
	size_t mask = index->capacity - 1, gap = slot_half(removed) & mask;

	while (slots[gap] != removed)
		gap = (gap + 1) & mask;
	for (size_t i = (gap + 1) & mask; slots[i]; i = (i + 1) & mask) {
		size_t home = slot_half(slots[i]) & mask;

		/* An entry may not be before its home slot. */
		if (((i - home) & mask) < ((i - gap) & mask))
			continue;
		slots[gap] = slots[i];
		gap = i;
	}
	slots[gap] = 0;
	index->count--;
}

bool id_index_find(const struct id_index *index, uint64_t hash, id_equals_fn equals,
		   const void *context, const void *key, uint32_t *id)
{
	size_t mask = index->capacity - 1;
	uint32_t half = hash >> 32;

	if (!index->count)
		return false;
	for (size_t i = half & mask; index->slots[i]; i = (i + 1) & mask) {
		uint64_t slot = index->slots[i];

		if (slot_half(slot) == half && equals(context, slot_id(slot), key)) {
			*id = slot_id(slot);
			return true;
		}
	}
	return false;
}
