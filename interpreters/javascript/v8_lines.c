/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/v8_lines.h"

#include <errno.h>
#include <stdlib.h>

#include "interpreters/javascript/v8_string.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/vector.h"

enum {
	LINE_SEPARATOR = 0x2028,
	PARAGRAPH_SEPARATOR = 0x2029,
	/** Words of line_ends that are read at once. */
	ENDS_AT_ONCE = 512,
};

VECTOR_DEFINE(line_ends, uint32_t)

static int push_end(struct line_ends *ends, uint32_t offset)
{
	if (ends->count == V8_LINES_MAX_COUNT)
		return fail(-E2BIG, "a script of more than %d lines", V8_LINES_MAX_COUNT);
	return line_ends_push(ends, offset);
}

/* Counts the lines in the source. \r\n is one terminator, and ends its line at \n. */
static int count_lines(struct v8_string_reader *reader, struct line_ends *ends)
{
	uint32_t offset = 0, count = 0;
	bool is_behind_return = false;
	int err;

	do {
		err = v8_string_next(reader, &count);
		for (uint32_t i = 0; !err && i < count; i++, offset++) {
			uint16_t unit = reader->chunk[i];

			if (is_behind_return && unit != '\n')
				err = push_end(ends, offset - 1);
			is_behind_return = unit == '\r';
			if (!err &&
			    (unit == '\n' || unit == LINE_SEPARATOR || unit == PARAGRAPH_SEPARATOR))
				err = push_end(ends, offset);
		}
	} while (!err && count);
	if (!err && is_behind_return)
		err = push_end(ends, offset - 1);
	return err ? err : push_end(ends, offset);
}

static int count_in_source(const struct v8_heap *heap, uint64_t source, struct line_ends *ends)
{
	_cleanup_(free_pointer) struct v8_string_reader *reader = malloc(sizeof(*reader));
	uint32_t length = 0;
	int err;

	if (!reader)
		return -ENOMEM;
	err = v8_string_open(reader, heap, source, &length);
	if (!err && length > V8_LINES_MAX_CHARACTERS)
		err = fail(-E2BIG, "a script has %u characters, more than %u", length,
			   V8_LINES_MAX_CHARACTERS);
	return err ? err : count_lines(reader, ends);
}

/* Reads the ends from a FixedArray of Smis. */
static int read_line_ends(const struct v8_heap *heap, uint64_t array, struct line_ends *ends)
{
	const uint64_t data = array - V8_TAG + heap->layout->array_data;
	uint64_t words[ENDS_AT_ONCE];
	int32_t count = 0;
	int err = v8_field_smi(heap, array, heap->layout->array_length, &count);

	if (!err && (count < 0 || count > V8_LINES_MAX_COUNT))
		err = fail(-E2BIG, "a script of %d lines", count);
	for (uint32_t i = 0, part; !err && i < (uint32_t)count; i += part) {
		part = (uint32_t)count - i < ENDS_AT_ONCE ? (uint32_t)count - i : ENDS_AT_ONCE;
		err = remote_memory_read(heap->memory, data + (uint64_t)i * V8_TAGGED_BYTES, words,
					 part * sizeof(words[0]));
		for (uint32_t j = 0; !err && j < part; j++) {
			int32_t end = 0;

			if (!v8_smi(words[j], &end) || end < 0 ||
			    (ends->count && (uint32_t)end < ends->items[ends->count - 1]))
				err = fail(-EBADMSG, "line ends that do not ascend");
			else
				err = push_end(ends, (uint32_t)end);
		}
	}
	return err;
}

static int find_ends(const struct v8_heap *heap, uint64_t script, struct line_ends *ends)
{
	const struct v8_layout *layout = heap->layout;
	uint64_t array = 0, source = 0;
	int err = v8_field(heap, script, layout->script_line_ends, &array);

	if (err)
		return err;
	/* The field is undefined or the Smi 0 until V8 itself needs the lines. */
	if (v8_is_object(array) && !v8_check_type(heap, &array, layout->type_fixed_array) &&
	    !read_line_ends(heap, array, ends) && ends->count)
		return 0;
	ends->count = 0;
	err = v8_field(heap, script, layout->script_source, &source);
	return err ? err : count_in_source(heap, source, ends);
}

int v8_lines_read(const struct v8_heap *heap, uint64_t script, struct v8_lines *lines)
{
	const struct v8_layout *layout = heap->layout;
	struct v8_lines found = { 0 };
	struct line_ends ends = { 0 };
	int err = v8_check_type(heap, &script, layout->type_script);

	if (!err)
		err = v8_field_smi(heap, script, layout->script_line_offset, &found.line_offset);
	if (!err)
		err = v8_field_smi(heap, script, layout->script_column_offset,
				   &found.column_offset);
	if (!err)
		err = find_ends(heap, script, &ends);
	if (err) {
		line_ends_deinit(&ends);
		return err;
	}
	found.count = (uint32_t)ends.count;
	found.ends = vector_shrink(ends.items, ends.count * sizeof(*ends.items));
	*lines = found;
	return 0;
}

void v8_lines_deinit(struct v8_lines *lines)
{
	free(lines->ends);
	*lines = (struct v8_lines){ 0 };
}

int v8_lines_locate(const struct v8_lines *lines, uint32_t offset, struct v8_location *location)
{
	uint32_t low = 0, high = lines->count, column;

	/* Finds the first line that ends at or after @offset. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (lines->ends[middle] < offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == lines->count)
		return fail(-ENOENT, "character %u is behind the script's end", offset);
	column = low ? offset - lines->ends[low - 1] - 1 : offset + (uint32_t)lines->column_offset;
	location->line = low + (uint32_t)lines->line_offset + 1;
	location->column = column + 1;
	return 0;
}
