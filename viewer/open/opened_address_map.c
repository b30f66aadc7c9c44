/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/open/opened_address_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " \t");
}

static const char *next_word(const char *text)
{
	return skip_blanks(text + strcspn(text, " \t"));
}

int opened_address_map_add(struct opened_address_map *map, const char *line,
			   struct opened_samples *opened)
{
	struct address_range range = { 0 };
	struct binary values = { 0 };
	const char *at = skip_blanks(line);
	char *end;
	int err;

	range.start = strtoull(at, &end, 16);
	if (end == at || *end != '-')
		return 0;
	at = end + 1;
	range.limit = strtoull(at, &end, 16);
	if (end == at || range.limit <= range.start)
		return 0;
	/* Rights, offset, device, inode, path. */
	at = next_word(skip_blanks(end));
	values.file_offset = strtoull(at, NULL, 16);
	values.path = (char *)next_word(next_word(next_word(at)));
	values.memory_start = range.start;
	values.memory_limit = range.limit;
	if (map->ranges.count == OPENED_MAPPINGS_MAX)
		return fail(-EBADMSG, "it names more than %d files", OPENED_MAPPINGS_MAX);
	err = opened_mapping_init(&range.mapping, &values, opened);
	if (!err)
		err = address_range_vector_push(&map->ranges, range);
	if (err)
		opened_mapping_deinit(&range.mapping);
	return err;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct address_range *one = a, *other = b;

	return (one->start > other->start) - (one->start < other->start);
}

void opened_address_map_sort(struct opened_address_map *map)
{
	if (map->ranges.count)
		qsort(map->ranges.items, map->ranges.count, sizeof(*map->ranges.items),
		      compare_ranges);
}

const struct opened_mapping *opened_address_map_find(const struct opened_address_map *map,
						     uint64_t address)
{
	size_t low = 0, high = map->ranges.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (map->ranges.items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < map->ranges.items[low - 1].limit ?
		       &map->ranges.items[low - 1].mapping :
		       &map->nowhere;
}

void opened_address_map_deinit(struct opened_address_map *map)
{
	for (size_t i = 0; i < map->ranges.count; i++)
		opened_mapping_deinit(&map->ranges.items[i].mapping);
	address_range_vector_deinit(&map->ranges);
	opened_mapping_deinit(&map->nowhere);
}
