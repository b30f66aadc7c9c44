/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines are taken in by batches: each is rid of overlaps, sorted and merged into the table, so that
 * a long file costs a few passes over the table and not one for each line.
 */
#include "agent/host/perf_map.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/text.h"

enum {
	/* The cost of lines in the worst order grows with its square. */
	BATCH_LINES = 1024,
	HEX_DIGITS_MAX = 16,
	/* Instead of the name of a function that there is no room for. */
	NO_NAME = UINT32_MAX,
};

struct range {
	uint64_t start;
	uint64_t end;
};

struct batch {
	/* As the lines come; once overlaps are out, by start. */
	struct perf_map_function functions[BATCH_LINES];
	uint32_t count;
	/* What all of the lines lie over, without overlaps, the highest first. */
	struct range covered[BATCH_LINES];
	uint32_t covered_count;
};

void perf_map_deinit(struct perf_map *map)
{
	perf_map_functions_deinit(&map->functions);
	perf_map_names_deinit(&map->names);
	map->dead_name_bytes = 0;
	map->left_out_count = 0;
}

size_t perf_map_bytes(const struct perf_map *map)
{
	return map->functions.capacity * sizeof(*map->functions.items) + map->names.capacity;
}

/* --- lines --- */

/* A number with the space behind it; moves *@at. */
static bool take_number(const char **at, const char *end, uint64_t *number)
{
	const char *start = *at;
	uint64_t value = 0;
	int digit;

	if (end - start > 2 && start[0] == '0' && (start[1] == 'x' || start[1] == 'X'))
		start += 2;
	*at = start;
	while (*at < end && (digit = text_hex_value(**at)) >= 0) {
		value = value << 4 | (unsigned int)digit;
		(*at)++;
	}
	if (*at == start || *at - start > HEX_DIGITS_MAX || *at == end || **at != ' ')
		return false;
	while (*at < end && **at == ' ')
		(*at)++;
	*number = value;
	return true;
}

static int add_name(struct perf_map *map, const char *name, size_t length, uint32_t *place)
{
	struct perf_map_names *names = &map->names;

	length = text_cut_length(name, length, PERF_MAP_NAME_BYTES - 1);
	if (names->count + length + 1 > PERF_MAP_MAX_NAME_BYTES) {
		*place = NO_NAME;
		return 0;
	}
	if (perf_map_names_reserve(names, names->count + length + 1))
		return -ENOMEM;
	*place = names->count;
	memcpy(names->items + names->count, name, length);
	names->count += length;
	names->items[names->count++] = '\0';
	return 0;
}

static int take_line(struct perf_map *map, struct batch *batch, const char *line, const char *end)
{
	struct perf_map_function *added = &batch->functions[batch->count];
	uint64_t start, size;
	int err;

	if (!take_number(&line, end, &start) || !take_number(&line, end, &size))
		return 0;
	if (end > line && end[-1] == '\r')
		end--;
	/* Nothing, or more than any function has. */
	if (line == end || *line == '\0' || !size || size > UINT32_MAX || start + size < start)
		return 0;
	end = line + strnlen(line, end - line);
	err = add_name(map, line, end - line, &added->name);
	if (err)
		return err;
	added->start = start;
	added->size = size;
	batch->count++;
	return 0;
}

/* --- batches --- */

static uint64_t function_end(const struct perf_map_function *function)
{
	return function->start + function->size;
}

static void drop_name(struct perf_map *map, const struct perf_map_function *function)
{
	if (function->name != NO_NAME)
		map->dead_name_bytes += strlen(map->names.items + function->name) + 1;
}

/* Adds @function to what is covered; false if some of it was already. */
static bool cover(struct batch *batch, const struct perf_map_function *function)
{
	struct range range = { .start = function->start, .end = function_end(function) };
	struct range *covered = batch->covered;
	uint32_t low = 0, high = batch->covered_count, next;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (covered[middle].start >= range.end)
			low = middle + 1;
		else
			high = middle;
	}
	for (next = low; next < batch->covered_count && covered[next].end > range.start; next++) {
		if (covered[next].start < range.start)
			range.start = covered[next].start;
		if (covered[next].end > range.end)
			range.end = covered[next].end;
	}
	/* One takes the place of those from @low to @next. */
	memmove(covered + low + 1, covered + next,
		(batch->covered_count - next) * sizeof(*covered));
	batch->covered_count += low + 1 - next;
	covered[low] = range;
	return next == low;
}

static int compare_functions(const void *left, const void *right)
{
	const struct perf_map_function *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* Takes out what a later line of the batch overlaps, whether that line stays or not. */
static void part_overlaps(struct perf_map *map, struct batch *batch)
{
	struct perf_map_function *functions = batch->functions;
	uint32_t first = batch->count;

	batch->covered_count = 0;
	for (uint32_t i = batch->count; i-- > 0;) {
		if (cover(batch, &functions[i]))
			functions[--first] = functions[i];
		else
			drop_name(map, &functions[i]);
	}
	batch->count -= first;
	memmove(functions, functions + first, batch->count * sizeof(*functions));
}

/* Takes out of the map what lies under the lines of the batch. */
static void erase_covered(struct perf_map *map, const struct batch *batch)
{
	struct perf_map_function *items = map->functions.items;
	uint32_t left = batch->covered_count;
	size_t kept = 0;

	for (size_t i = 0; i < map->functions.count; i++) {
		while (left && batch->covered[left - 1].end <= items[i].start)
			left--;
		if (left && batch->covered[left - 1].start < function_end(&items[i]))
			drop_name(map, &items[i]);
		else
			items[kept++] = items[i];
	}
	map->functions.count = kept;
}

/* Keeps the first functions of the batch that have names, as far as the map has room for them. */
static void leave_out(struct perf_map *map, struct batch *batch)
{
	size_t room = PERF_MAP_MAX_FUNCTIONS - map->functions.count;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < batch->count; i++) {
		struct perf_map_function *function = &batch->functions[i];

		if (kept < room && function->name != NO_NAME) {
			batch->functions[kept++] = *function;
			continue;
		}
		drop_name(map, function);
		map->left_out_count++;
	}
	batch->count = kept;
}

/* From the end on, so that it works within the array: behind @write stands what is merged. */
static void merge_behind(struct perf_map *map, const struct batch *batch)
{
	struct perf_map_function *items = map->functions.items;
	size_t old = map->functions.count, write = old + batch->count;

	map->functions.count = write;
	for (size_t added = batch->count; added;) {
		if (old && items[old - 1].start > batch->functions[added - 1].start)
			items[--write] = items[--old];
		else
			items[--write] = batch->functions[--added];
	}
}

static int merge(struct perf_map *map, struct batch *batch)
{
	part_overlaps(map, batch);
	erase_covered(map, batch);
	leave_out(map, batch);
	if (perf_map_functions_reserve(&map->functions, map->functions.count + batch->count))
		return -ENOMEM;
	qsort(batch->functions, batch->count, sizeof(*batch->functions), compare_functions);
	merge_behind(map, batch);
	batch->count = 0;
	return 0;
}

/* Names of functions that are gone make room. */
static int compact_names(struct perf_map *map)
{
	struct perf_map_names names = { 0 };

	if (perf_map_names_reserve(&names, map->names.count - map->dead_name_bytes))
		return -ENOMEM;
	for (size_t i = 0; i < map->functions.count; i++) {
		struct perf_map_function *function = &map->functions.items[i];
		const char *name = map->names.items + function->name;
		size_t bytes = strlen(name) + 1;

		assert(names.items && names.capacity - names.count >= bytes);
		function->name = names.count;
		memcpy(names.items + names.count, name, bytes);
		names.count += bytes;
	}
	perf_map_names_deinit(&map->names);
	map->names = names;
	map->dead_name_bytes = 0;
	return 0;
}

static int finish_batch(struct perf_map *map, struct batch *batch)
{
	int err = merge(map, batch);

	if (!err && (map->dead_name_bytes > map->names.count / 2 ||
		     (map->dead_name_bytes > PERF_MAP_MAX_NAME_BYTES / 8 &&
		      map->names.count > PERF_MAP_MAX_NAME_BYTES / 8 * 7)))
		err = compact_names(map);
	return err;
}

int perf_map_add(struct perf_map *map, const char *text, size_t bytes, size_t *used_bytes)
{
	_cleanup_(free_pointer) struct batch *batch = malloc(sizeof(*batch));
	const char *line = text, *end = text + bytes;
	int err = 0;

	if (!batch)
		return -ENOMEM;
	batch->count = 0;
	while (!err && line < end) {
		const char *line_end = memchr(line, '\n', end - line);

		if (!line_end)
			break;
		err = take_line(map, batch, line, line_end);
		line = line_end + 1;
		if (!err && batch->count == BATCH_LINES)
			err = finish_batch(map, batch);
	}
	if (!err)
		err = finish_batch(map, batch);
	if (err)
		return err;
	*used_bytes = line - text;
	return 0;
}

const char *perf_map_find(const struct perf_map *map, uint64_t address)
{
	const struct perf_map_function *functions = map->functions.items;
	size_t low = 0, high = map->functions.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (address < functions[middle].start)
			high = middle;
		else if (address >= function_end(&functions[middle]))
			low = middle + 1;
		else
			return map->names.items + functions[middle].name;
	}
	return NULL;
}
