/* SPDX-License-Identifier: Apache-2.0 */
/* Functions come from files that processes write: names and numbers can be anything. */
#include "lib/host/code_names.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"

enum {
	/* The cost of functions in the worst order grows with its square. */
	BATCH_FUNCTIONS = 1024,
	/* Text offset of a function whose name did not fit. */
	NO_TEXT = UINT32_MAX,
};

struct range {
	uint64_t start;
	uint64_t end;
};

struct code_batch {
	struct code_names *names;
	/* In the order of the file; once overlaps are removed, sorted by start. */
	struct code_function functions[BATCH_FUNCTIONS];
	uint32_t count;
	/* The ranges that the functions cover, without overlaps, the highest first. */
	struct range covered[BATCH_FUNCTIONS];
	uint32_t covered_count;
};

void code_names_deinit(struct code_names *names)
{
	code_functions_deinit(&names->functions);
	code_text_deinit(&names->text);
	names->dead_text_bytes = 0;
	names->left_out_count = 0;
}

size_t code_names_bytes(const struct code_names *names)
{
	return names->functions.capacity * sizeof(*names->functions.items) + names->text.capacity;
}

/* --- batches --- */

static uint64_t function_end(const struct code_function *function)
{
	return function->start + function->size;
}

static void drop_text(struct code_names *names, const struct code_function *function)
{
	if (function->text != NO_TEXT)
		names->dead_text_bytes += function->text_bytes;
}

/* Adds @function's range to the covered ones; false if it overlaps one of them. */
static bool cover(struct code_batch *batch, const struct code_function *function)
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
	/* One range replaces those from @low to @next. */
	memmove(covered + low + 1, covered + next,
		(batch->covered_count - next) * sizeof(*covered));
	batch->covered_count += low + 1 - next;
	covered[low] = range;
	return next == low;
}

static int compare_functions(const void *left, const void *right)
{
	const struct code_function *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* Removes functions that a later one of the batch overlaps, whether the later one stays or not. */
static void part_overlaps(struct code_names *names, struct code_batch *batch)
{
	struct code_function *functions = batch->functions;
	uint32_t first = batch->count;

	batch->covered_count = 0;
	for (uint32_t i = batch->count; i-- > 0;) {
		if (cover(batch, &functions[i]))
			functions[--first] = functions[i];
		else
			drop_text(names, &functions[i]);
	}
	batch->count -= first;
	memmove(functions, functions + first, batch->count * sizeof(*functions));
}

/* Removes functions from the table that functions of the batch overlap. */
static void erase_covered(struct code_names *names, const struct code_batch *batch)
{
	struct code_function *items = names->functions.items;
	uint32_t left = batch->covered_count;
	size_t kept = 0;

	for (size_t i = 0; i < names->functions.count; i++) {
		while (left && batch->covered[left - 1].end <= items[i].start)
			left--;
		if (left && batch->covered[left - 1].start < function_end(&items[i]))
			drop_text(names, &items[i]);
		else
			items[kept++] = items[i];
	}
	names->functions.count = kept;
}

/* Keeps the first functions of the batch that have names, as far as the table has room for them. */
static void leave_out(struct code_names *names, struct code_batch *batch)
{
	size_t room = CODE_NAMES_MAX_FUNCTIONS - names->functions.count;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < batch->count; i++) {
		struct code_function *function = &batch->functions[i];

		if (kept < room && function->text != NO_TEXT) {
			batch->functions[kept++] = *function;
			continue;
		}
		drop_text(names, function);
		names->left_out_count++;
	}
	batch->count = kept;
}

/* Merges from the end, so that it works within the array: merged functions are behind @write. */
static void merge_behind(struct code_names *names, const struct code_batch *batch)
{
	struct code_function *items = names->functions.items;
	size_t old = names->functions.count, write = old + batch->count;

	names->functions.count = write;
	for (size_t added = batch->count; added;) {
		if (old && items[old - 1].start > batch->functions[added - 1].start)
			items[--write] = items[--old];
		else
			items[--write] = batch->functions[--added];
	}
}

static int merge(struct code_names *names, struct code_batch *batch)
{
	part_overlaps(names, batch);
	erase_covered(names, batch);
	leave_out(names, batch);
	if (code_functions_reserve(&names->functions, names->functions.count + batch->count))
		return -ENOMEM;
	qsort(batch->functions, batch->count, sizeof(*batch->functions), compare_functions);
	merge_behind(names, batch);
	batch->count = 0;
	return 0;
}

/* Frees the text of functions that were removed. */
static int compact_text(struct code_names *names)
{
	struct code_text text = { 0 };

	if (code_text_reserve(&text, names->text.count - names->dead_text_bytes))
		return -ENOMEM;
	for (size_t i = 0; i < names->functions.count; i++) {
		struct code_function *function = &names->functions.items[i];

		assert(text.items && text.capacity - text.count >= function->text_bytes);
		memcpy(text.items + text.count, names->text.items + function->text,
		       function->text_bytes);
		function->text = text.count;
		text.count += function->text_bytes;
	}
	code_text_deinit(&names->text);
	names->text = text;
	names->dead_text_bytes = 0;
	return 0;
}

static int finish_batch(struct code_names *names, struct code_batch *batch)
{
	int err = merge(names, batch);

	if (!err && (names->dead_text_bytes > names->text.count / 2 ||
		     (names->dead_text_bytes > CODE_NAMES_MAX_TEXT_BYTES / 8 &&
		      names->text.count > CODE_NAMES_MAX_TEXT_BYTES / 8 * 7)))
		err = compact_text(names);
	return err;
}

/* --- putting in --- */

struct code_batch *code_batch_begin(struct code_names *names)
{
	struct code_batch *batch = malloc(sizeof(*batch));

	if (!batch)
		return NULL;
	batch->names = names;
	batch->count = 0;
	return batch;
}

/* Reserves text for @function at the end; *@to is NULL if it did not fit. */
static int add_text(struct code_names *names, size_t bytes, struct code_function *function,
		    char **to)
{
	struct code_text *text = &names->text;

	function->text = NO_TEXT;
	function->text_bytes = 0;
	*to = NULL;
	if (bytes > CODE_NAMES_MAX_TEXT_BYTES - text->count)
		return 0;
	if (code_text_reserve(text, text->count + bytes))
		return -ENOMEM;
	function->text = text->count;
	function->text_bytes = bytes;
	*to = text->items + text->count;
	text->count += bytes;
	return 0;
}

static int add_function(struct code_batch *batch, uint64_t start, uint32_t size)
{
	batch->functions[batch->count].start = start;
	batch->functions[batch->count].size = size;
	return ++batch->count < BATCH_FUNCTIONS ? 0 : finish_batch(batch->names, batch);
}

int code_batch_add(struct code_batch *batch, uint64_t start, uint32_t size, const char *name,
		   size_t length, const void *more, uint32_t more_bytes)
{
	char *text;
	int err;

	length = text_cut_length(name, length, CODE_NAME_BYTES - 1);
	/* The text has only continuation bytes. */
	if (!length)
		length = CODE_NAME_BYTES - 1;
	err = add_text(batch->names, length + 1 + more_bytes, &batch->functions[batch->count],
		       &text);
	if (err)
		return err;
	if (text) {
		memcpy(text, name, length);
		text[length] = '\0';
		if (more_bytes)
			memcpy(text + length + 1, more, more_bytes);
	}
	return add_function(batch, start, size);
}

static const struct code_function *find_start(const struct code_batch *batch, uint64_t start)
{
	const struct code_function *function;

	for (uint32_t i = batch->count; i-- > 0;)
		if (batch->functions[i].start == start)
			return batch->functions[i].text == NO_TEXT ? NULL : &batch->functions[i];
	function = code_names_find(batch->names, start);
	return function && function->start == start ? function : NULL;
}

int code_batch_move(struct code_batch *batch, uint64_t old_start, uint64_t start, uint32_t size)
{
	const struct code_function *old = find_start(batch, old_start);
	char *text;
	int err;

	if (!old || old->size != size) {
		/* Functions that were there are removed. */
		batch->functions[batch->count].text = NO_TEXT;
		batch->functions[batch->count].text_bytes = 0;
		return add_function(batch, start, size);
	}
	err = add_text(batch->names, old->text_bytes, &batch->functions[batch->count], &text);
	if (err)
		return err;
	if (text)
		memcpy(text, batch->names->text.items + old->text, old->text_bytes);
	return add_function(batch, start, size);
}

int code_batch_end(struct code_batch *batch, int err)
{
	if (!err)
		err = finish_batch(batch->names, batch);
	free(batch);
	return err;
}

const struct code_function *code_names_find(const struct code_names *names, uint64_t address)
{
	const struct code_function *functions = names->functions.items;
	size_t low = 0, high = names->functions.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (address < functions[middle].start)
			high = middle;
		else if (address >= function_end(&functions[middle]))
			low = middle + 1;
		else
			return &functions[middle];
	}
	return NULL;
}
