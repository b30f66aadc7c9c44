/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/stack_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash128.h"

enum {
	BUCKETS_PER_BLOCK = 1024,
	BUCKET_BLOCK_BYTES = BUCKETS_PER_BLOCK * sizeof(uint32_t),
	/* Mean lengths of the chains at which the table grows and shrinks. */
	LONG_CHAIN = 2,
	SHORT_CHAIN = 1,
};

_Static_assert(sizeof(struct stack_part_value) == 4 + STACK_PART_BYTES, "there is no padding");

void stack_parts_init(struct stack_parts *parts)
{
	*parts = (struct stack_parts){ .pool.slot_bytes = sizeof(struct stack_part) };
}

void stack_parts_deinit(struct stack_parts *parts)
{
	slot_pool_deinit(&parts->pool);
	for (size_t i = 0; i < parts->buckets.count; i++)
		free(parts->buckets.items[i]);
	stack_bucket_vector_deinit(&parts->buckets);
	parts->bucket_count = 0;
}

/* --- buckets --- */

static uint32_t *bucket_at(const struct stack_parts *parts, uint32_t bucket)
{
	return &parts->buckets.items[bucket / BUCKETS_PER_BLOCK][bucket % BUCKETS_PER_BLOCK];
}

/* The greatest power of two that is not above @number, which is not 0. */
static uint32_t power_below(uint32_t number)
{
	return UINT32_C(1) << (31 - __builtin_clz(number));
}

static uint64_t value_hash(const struct stack_part_value *value)
{
	return hash64_bytes(value, sizeof(*value));
}

static uint32_t *bucket_of(const struct stack_parts *parts, uint64_t hash)
{
	uint32_t power = power_below(parts->bucket_count);
	uint32_t bucket = (uint32_t)(hash & (2 * (uint64_t)power - 1));

	return bucket_at(parts, bucket < parts->bucket_count ? bucket : bucket - power);
}

static void link_part(const struct stack_parts *parts, uint32_t id)
{
	struct stack_part *part = stack_part_at(parts->pool.blocks.items, id);
	uint32_t *bucket = bucket_of(parts, value_hash(&part->value));

	part->next = *bucket;
	*bucket = id + 1;
}

static void unlink_part(struct stack_parts *parts, uint32_t id)
{
	const struct stack_part *part = stack_part_at(parts->pool.blocks.items, id);
	uint32_t *link = bucket_of(parts, value_hash(&part->value));

	while (*link != id + 1)
		link = &stack_part_at(parts->pool.blocks.items, *link - 1)->next;
	*link = part->next;
}

/* Moves the parts of a chain to the buckets that are now theirs. */
static void relink(const struct stack_parts *parts, uint32_t chain)
{
	while (chain) {
		uint32_t id = chain - 1;

		chain = stack_part_at(parts->pool.blocks.items, id)->next;
		link_part(parts, id);
	}
}

static int add_bucket_block(struct stack_parts *parts)
{
	uint32_t *block = calloc(BUCKETS_PER_BLOCK, sizeof(*block));
	int err = block ? stack_bucket_vector_push(&parts->buckets, block) : -ENOMEM;

	if (err)
		free(block);
	else
		parts->buckets_bytes += BUCKET_BLOCK_BYTES;
	return err;
}

/* Without memory, the chains get longer. */
static void grow(struct stack_parts *parts)
{
	uint32_t added = parts->bucket_count, chain, *split;

	if (added == UINT32_MAX || parts->pool.count / LONG_CHAIN < added)
		return;
	if (added % BUCKETS_PER_BLOCK == 0 && add_bucket_block(parts))
		return;
	split = bucket_at(parts, added - power_below(added));
	chain = *split;
	*split = 0;
	*bucket_at(parts, added) = 0;
	parts->bucket_count++;
	relink(parts, chain);
}

static void shrink(struct stack_parts *parts)
{
	uint32_t last = parts->bucket_count - 1, chain;

	if (last < BUCKETS_PER_BLOCK || parts->pool.count / SHORT_CHAIN >= last)
		return;
	chain = *bucket_at(parts, last);
	parts->bucket_count--;
	relink(parts, chain);
	if (last % BUCKETS_PER_BLOCK)
		return;
	free(parts->buckets.items[--parts->buckets.count]);
	parts->buckets_bytes -= BUCKET_BLOCK_BYTES;
}

static bool link_leads_to(const struct stack_parts *parts, uint32_t link,
			  const struct stack_part_value *value)
{
	return !memcmp(&stack_part_at(parts->pool.blocks.items, link - 1)->value, value,
		       sizeof(*value));
}

static bool find(const struct stack_parts *parts, const struct stack_part_value *value,
		 uint32_t *id)
{
	uint32_t link = parts->bucket_count ? *bucket_of(parts, value_hash(value)) : 0;

	while (link && !link_leads_to(parts, link, value))
		link = stack_part_at(parts->pool.blocks.items, link - 1)->next;
	if (link)
		*id = link - 1;
	return link;
}

/* --- parts --- */

static int make_part(struct stack_parts *parts, const struct stack_part_value *value, uint32_t *id)
{
	int err = parts->bucket_count ? 0 : add_bucket_block(parts);

	if (err)
		return err;
	if (!parts->bucket_count)
		parts->bucket_count = BUCKETS_PER_BLOCK;
	err = slot_pool_reserve(&parts->pool);
	if (err)
		return err;
	*id = slot_pool_take(&parts->pool);
	*stack_part_at(parts->pool.blocks.items, *id) = (struct stack_part){ .value = *value };
	link_part(parts, *id);
	grow(parts);
	return 0;
}

int stack_parts_add(struct stack_parts *parts, const struct stack_part_value *value, uint32_t *id,
		    bool *is_new)
{
	uint32_t found = 0;
	bool is_known = find(parts, value, &found);
	int err = is_known ? 0 : make_part(parts, value, &found);

	if (err)
		return err;
	stack_part_at(parts->pool.blocks.items, found)->uses++;
	*id = found;
	*is_new = !is_known;
	return 0;
}

bool stack_parts_remove(struct stack_parts *parts, uint32_t id, struct stack_part_value *value)
{
	struct stack_part *part = stack_part_at(parts->pool.blocks.items, id);

	if (--part->uses)
		return false;
	*value = part->value;
	unlink_part(parts, id);
	slot_pool_free(&parts->pool, id);
	shrink(parts);
	return true;
}
