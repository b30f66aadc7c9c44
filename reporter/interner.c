/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/interner.h"

#include <errno.h>

enum {
	/* Overhead of malloc per block. */
	BLOCK_OVERHEAD_BYTES = 16,
};

void interner_init(struct interner *interner, const struct interner_ops *ops)
{
	*interner = (struct interner){ .ops = ops };
}

void interner_deinit(struct interner *interner)
{
	for (size_t i = 0; i < interner->slots.count; i++)
		if (interner->slots.items[i].item)
			interner->ops->drop(interner->slots.items[i].item);
	interner_slot_vector_deinit(&interner->slots);
	id_index_deinit(&interner->index);
	interner->free = (struct free_ids){ 0 };
}

static bool slot_equals(const void *context, uint32_t id, const void *key)
{
	const struct interner *interner = context;

	return interner->ops->equal(interner->slots.items[id].item, key);
}

static size_t item_cost(const struct interner *interner, const void *item)
{
	return interner->ops->bytes(item) + sizeof(struct interner_slot) + BLOCK_OVERHEAD_BYTES +
	       ID_INDEX_ENTRY_BYTES;
}

/* Ensures that there is a free slot. */
static int reserve_slot(struct interner *interner)
{
	int err;

	if (!free_ids_are_empty(&interner->free))
		return 0;
	if (interner->slots.count == UINT32_MAX - 1)
		return -E2BIG;
	err = interner_slot_vector_push(&interner->slots, (struct interner_slot){ 0 });
	if (!err)
		free_ids_add(&interner->free, (uint32_t)interner->slots.count - 1);
	return err;
}

static int add_item(struct interner *interner, const void *item, uint64_t hash, void **interned)
{
	struct interner_slot *slot;
	uint32_t id;
	void *copy;
	int err = id_index_reserve(&interner->index);

	if (!err)
		err = reserve_slot(interner);
	if (err)
		return err;
	copy = interner->ops->keep(item);
	if (!copy)
		return -ENOMEM;
	id = free_ids_next(&interner->free);
	slot = &interner->slots.items[id];
	free_ids_take(&interner->free, slot->link);
	*slot = (struct interner_slot){ .item = copy, .users = 1 };
	id_index_add(&interner->index, hash, id);
	*interned = copy;
	return 0;
}

int interner_add(struct interner *interner, const void *item, size_t most, void **interned,
		 size_t *cost)
{
	uint64_t hash = interner->ops->hash(item);
	size_t bytes = item_cost(interner, item);
	uint32_t id;
	int err;

	if (id_index_find(&interner->index, hash, slot_equals, interner, item, &id)) {
		interner->slots.items[id].users++;
		*interned = interner->slots.items[id].item;
		*cost = 0;
		return 0;
	}
	if (bytes > most)
		return -E2BIG;
	err = add_item(interner, item, hash, interned);
	if (!err)
		*cost = bytes;
	return err;
}

void *interner_find(const struct interner *interner, const void *item)
{
	uint32_t id;

	return id_index_find(&interner->index, interner->ops->hash(item), slot_equals, interner,
			     item, &id) ?
		       interner->slots.items[id].item :
		       NULL;
}

size_t interner_remove(struct interner *interner, const void *interned)
{
	uint64_t hash = interner->ops->hash(interned);
	struct interner_slot *slot;
	uint32_t id = 0;
	size_t bytes;

	id_index_find(&interner->index, hash, slot_equals, interner, interned, &id);
	slot = &interner->slots.items[id];
	if (--slot->users)
		return 0;
	bytes = item_cost(interner, interned);
	id_index_remove(&interner->index, hash, id);
	interner->ops->drop(slot->item);
	*slot = (struct interner_slot){ .link = free_ids_add(&interner->free, id) };
	return bytes;
}

void interner_freeze(struct interner *interner)
{
	id_index_deinit(&interner->index);
}
