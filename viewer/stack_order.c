/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sort by the most significant frame first. All stacks of a group have the same frames above its depth. The group is sorted by
 * the next frame only, and falls into groups that share that one, too. Groups wait in a list, since stacks have thousands of frames.
 */
#include "viewer/stack_order.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"

enum {
	/* Groups up to this size are compared stack by stack. */
	SMALL_GROUP = 8,
	/* Up to this size insertion is faster than counting. */
	INSERTION_MAX = 48,
	DIGIT_BITS = 8,
	DIGITS = 1 << DIGIT_BITS,
};

/* Positions from @first until before @end of the order. */
struct group {
	size_t first;
	size_t end;
	uint32_t depth;
};

VECTOR_DEFINE(group_vector, struct group)

struct sorting {
	const struct flame_stack *stacks;
	const uint32_t *ranks;
	struct stack_order *order;
	struct group_vector groups;
	/* A group's stacks with the rank of the frame at its depth plus 1 in the upper half, 0 where the stack has ended. */
	uint64_t *keys;
	uint64_t *moved_keys;
};

static uint32_t rank_at(const struct sorting *sorting, uint32_t stack, uint32_t depth)
{
	const struct flame_stack *found = &sorting->stacks[stack];

	return depth < found->length ? sorting->ranks[found->ids[depth]] + 1 : 0;
}

/* How many frames two stacks share that have the same @depth first ones. */
static uint32_t shared_frames(const struct sorting *sorting, uint32_t one, uint32_t other,
			      uint32_t depth)
{
	const struct flame_stack *first = &sorting->stacks[one], *second = &sorting->stacks[other];
	size_t most = first->length < second->length ? first->length : second->length;

	while (depth < most && first->ids[depth] == second->ids[depth])
		depth++;
	return depth;
}

static void sort_small_group(struct sorting *sorting, const struct group *group)
{
	uint32_t *stacks = sorting->order->stacks;

	for (size_t i = group->first + 1; i < group->end; i++) {
		uint32_t stack = stacks[i];
		size_t at = i;

		for (; at > group->first; at--) {
			uint32_t before = stacks[at - 1];
			uint32_t depth = shared_frames(sorting, before, stack, group->depth);

			if (rank_at(sorting, before, depth) <= rank_at(sorting, stack, depth))
				break;
			stacks[at] = before;
		}
		stacks[at] = stack;
	}
	for (size_t i = group->first + 1; i < group->end; i++)
		sorting->order->shared[i] =
			shared_frames(sorting, stacks[i - 1], stacks[i], group->depth);
}

static void sort_by_insertion(uint64_t *keys, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		uint64_t key = keys[i];
		size_t at = i;

		for (; at > 0 && keys[at - 1] > key; at--)
			keys[at] = keys[at - 1];
		keys[at] = key;
	}
}

/* Sorts @keys by the digits that @most has in its upper half, from the lowest one on. */
static void sort_by_counting(struct sorting *sorting, size_t count, uint32_t most)
{
	for (unsigned int shift = 32; shift < 64 && most >> (shift - 32); shift += DIGIT_BITS) {
		uint64_t *moved = sorting->moved_keys;
		size_t ends[DIGITS] = { 0 }, sum = 0;

		for (size_t i = 0; i < count; i++)
			ends[sorting->keys[i] >> shift & (DIGITS - 1)]++;
		for (size_t i = 0; i < DIGITS; i++) {
			sum += ends[i];
			ends[i] = sum;
		}
		for (size_t i = count; i-- > 0;)
			moved[--ends[sorting->keys[i] >> shift & (DIGITS - 1)]] = sorting->keys[i];
		sorting->moved_keys = sorting->keys;
		sorting->keys = moved;
	}
}

/* Reads the keys of the group; false if all have the same rank, which is *@most. */
static bool read_keys(struct sorting *sorting, const struct group *group, uint32_t *most)
{
	const uint32_t *stacks = sorting->order->stacks;
	uint32_t first = rank_at(sorting, stacks[group->first], group->depth);
	bool is_mixed = false;

	*most = first;
	for (size_t i = group->first; i < group->end; i++) {
		uint32_t rank = rank_at(sorting, stacks[i], group->depth);

		is_mixed |= rank != first;
		*most = rank > *most ? rank : *most;
		sorting->keys[i - group->first] = (uint64_t)rank << 32 | stacks[i];
	}
	return is_mixed;
}

/* Writes the sorted keys into the order, and adds the groups that share the next frame, too. */
static int split_group(struct sorting *sorting, const struct group *group)
{
	struct stack_order *order = sorting->order;
	size_t count = group->end - group->first, start = 0;
	int err = 0;

	for (size_t i = 0; i < count; i++) {
		order->stacks[group->first + i] = (uint32_t)sorting->keys[i];
		if (i)
			order->shared[group->first + i] = group->depth;
	}
	for (size_t i = 1; i <= count && !err; i++) {
		if (i < count && sorting->keys[i] >> 32 == sorting->keys[start] >> 32)
			continue;
		/* Stacks that have ended are equal. */
		if (i - start > 1 && sorting->keys[start] >> 32)
			err = group_vector_push(&sorting->groups,
						(struct group){ .first = group->first + start,
								.end = group->first + i,
								.depth = group->depth + 1 });
		start = i;
	}
	return err;
}

static int sort_group(struct sorting *sorting, struct group group)
{
	size_t count = group.end - group.first;
	uint32_t most;

	while (count > SMALL_GROUP) {
		bool is_mixed = read_keys(sorting, &group, &most);

		if (!is_mixed && most) {
			group.depth++;
			continue;
		}
		if (is_mixed && count <= INSERTION_MAX)
			sort_by_insertion(sorting->keys, count);
		else if (is_mixed)
			sort_by_counting(sorting, count, most);
		return split_group(sorting, &group);
	}
	sort_small_group(sorting, &group);
	return 0;
}

static int sort_all(struct sorting *sorting)
{
	struct group group = { .end = sorting->order->count };
	int err = sort_group(sorting, group);

	while (sorting->groups.count && !err) {
		group = sorting->groups.items[--sorting->groups.count];
		err = sort_group(sorting, group);
	}
	return err;
}

int stack_order_init(struct stack_order *order, const struct flame_stack_vector *stacks,
		     const uint32_t *ranks)
{
	size_t count = stacks->count;
	struct stack_order made = { .stacks = calloc(count + 1, sizeof(uint32_t)),
				    .shared = calloc(count + 1, sizeof(uint32_t)),
				    .count = count };
	_cleanup_(free_pointer) uint64_t *keys = calloc(count + 1, sizeof(*keys));
	_cleanup_(free_pointer) uint64_t *moved_keys = calloc(count + 1, sizeof(*moved_keys));
	struct sorting sorting = { .stacks = stacks->items,
				   .ranks = ranks,
				   .order = &made,
				   .keys = keys,
				   .moved_keys = moved_keys };
	int err = made.stacks && made.shared && keys && moved_keys ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !err; i++)
		made.stacks[i] = (uint32_t)i;
	if (!err && count)
		err = sort_all(&sorting);
	group_vector_deinit(&sorting.groups);
	if (err)
		stack_order_deinit(&made);
	else
		*order = made;
	return err;
}

void stack_order_deinit(struct stack_order *order)
{
	free(order->stacks);
	free(order->shared);
	*order = (struct stack_order){ 0 };
}
