/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/cache/address_index.h"

#include "lib/base/error.h"

/* The number of groups for @count numbers, which is also the size of the level above. */
static uint32_t groups_of(uint32_t count)
{
	return count / ADDRESS_INDEX_FANOUT + !!(count % ADDRESS_INDEX_FANOUT);
}

/*
 * Fills @counts with the numbers of each level that are not padding, the lowest level first.
 * Returns the number of levels.
 */
static uint32_t count_levels(uint32_t count, uint32_t counts[ADDRESS_INDEX_LEVELS_MAX])
{
	uint32_t levels = 0;

	if (!count)
		return 0;
	counts[levels++] = count;
	while (count > ADDRESS_INDEX_FANOUT) {
		count = groups_of(count);
		counts[levels++] = count;
	}
	return levels;
}

static uint64_t level_bytes(uint32_t count)
{
	return (uint64_t)groups_of(count) * ADDRESS_INDEX_FANOUT * sizeof(uint32_t);
}

uint64_t address_index_bytes(uint32_t count)
{
	uint32_t counts[ADDRESS_INDEX_LEVELS_MAX];
	uint32_t levels = count_levels(count, counts);
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < levels; i++)
		bytes += level_bytes(counts[i]);
	return bytes;
}

void address_index_init(struct address_index *index, const void *bytes, uint32_t count)
{
	uint32_t counts[ADDRESS_INDEX_LEVELS_MAX];
	uint32_t levels = count_levels(count, counts);
	const uint8_t *level = bytes;

	*index = (struct address_index){ .level_count = levels };
	for (uint32_t i = 0; i < levels; i++) {
		index->levels[i] = level;
		index->counts[i] = counts[levels - 1 - i];
		level += level_bytes(index->counts[i]);
	}
}

/*
 * How many of 16 numbers are at or below @offset. Has no branch, since it would be mispredicted
 * half of the time.
 */
static inline uint32_t numbers_up_to(const uint8_t *numbers, uint32_t offset)
{
	uint32_t group[ADDRESS_INDEX_FANOUT], count = 0;

	memcpy(group, numbers, sizeof(group));
	for (int i = 0; i < ADDRESS_INDEX_FANOUT; i++)
		count += le32toh(group[i]) <= offset;
	return count;
}

uint32_t address_index_find(const struct address_index *index, uint32_t offset)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < index->level_count; i++) {
		size_t group = (size_t)found * ADDRESS_INDEX_FANOUT;
		uint32_t below = numbers_up_to(index->levels[i] + group * sizeof(uint32_t), offset);

		found = group + below - !!below;
		/* Padding may be at or below @offset too. */
		if (found >= index->counts[i])
			found = index->counts[i] - 1;
	}
	return found;
}

/* Adds the level that has each @step-th number of @addresses. */
static int add_level(const struct offset_vector *addresses, uint64_t step,
		     struct offset_vector *index)
{
	size_t end = index->count;

	for (uint64_t i = 0; i < addresses->count; i += step)
		if (offset_vector_push(index, htole32(addresses->items[i])))
			return -ENOMEM;
	for (end = index->count - end; end % ADDRESS_INDEX_FANOUT; end++)
		if (offset_vector_push(index, UINT32_MAX))
			return -ENOMEM;
	return 0;
}

int address_index_build(const struct offset_vector *addresses, struct offset_vector *index)
{
	uint32_t counts[ADDRESS_INDEX_LEVELS_MAX];
	uint32_t levels = count_levels(addresses->count, counts);
	uint64_t step = 1;
	int err = 0;

	for (uint32_t i = 1; i < levels; i++)
		step *= ADDRESS_INDEX_FANOUT;
	for (uint32_t i = 0; i < levels && !err; i++) {
		err = add_level(addresses, step, index);
		step /= ADDRESS_INDEX_FANOUT;
	}
	return err ? fail(-ENOMEM, "no memory for an index of addresses") : 0;
}
