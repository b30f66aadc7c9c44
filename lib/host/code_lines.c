/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packed form has the names of the files, the rows, and the number of rows, unaligned. It was made here and
 * is trusted; the rows that are added are not.
 */
#include "lib/host/code_lines.h"

#include <errno.h>
#include <string.h>

void code_lines_deinit(struct code_lines *lines)
{
	code_line_rows_deinit(&lines->rows);
	code_text_deinit(&lines->files);
	lines->file_count = 0;
}

size_t code_lines_bytes(const struct code_lines *lines)
{
	return lines->rows.capacity * sizeof(*lines->rows.items) + lines->files.capacity;
}

void code_lines_clear(struct code_lines *lines)
{
	lines->rows.count = 0;
	lines->files.count = 0;
	lines->file_count = 0;
}

static int add_file(struct code_lines *lines, const char *file, size_t length, uint32_t *start)
{
	struct code_text *files = &lines->files;

	/* Most rows have the file of the row before. */
	for (uint32_t i = lines->file_count; i-- > 0;) {
		const char *known = files->items + lines->file_starts[i];

		if (!strncmp(known, file, length) && !known[length]) {
			*start = lines->file_starts[i];
			return 0;
		}
	}
	if (lines->file_count == CODE_LINES_MAX_FILES ||
	    files->count + length + 1 > CODE_LINES_MAX_FILE_BYTES)
		return -E2BIG;
	if (code_text_reserve(files, files->count + length + 1))
		return -ENOMEM;
	*start = lines->file_starts[lines->file_count++] = files->count;
	memcpy(files->items + files->count, file, length);
	files->count += length;
	files->items[files->count++] = '\0';
	return 0;
}

int code_lines_add(struct code_lines *lines, uint32_t offset, uint32_t line, const char *file,
		   size_t length)
{
	struct code_line row = { .offset = offset, .line = line };
	int err;

	if (lines->rows.count == CODE_LINES_MAX_ROWS)
		return -E2BIG;
	err = add_file(lines, file, strnlen(file, length), &row.file);
	return err ? err : code_line_rows_push(&lines->rows, row);
}

int code_lines_set_file(struct code_lines *lines, const char *file, size_t length)
{
	uint32_t start;
	int err;

	lines->files.count = 0;
	lines->file_count = 0;
	err = add_file(lines, file, length, &start);
	for (size_t i = 0; i < lines->rows.count && !err; i++)
		lines->rows.items[i].file = start;
	return err;
}

/* Rows at one offset are sorted by line, so that equal rows give equal bytes. */
static int compare_rows(const void *left, const void *right)
{
	const struct code_line *a = left, *b = right;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

static void leave_out_repeated(struct code_line_rows *rows)
{
	struct code_line *items = rows->items;
	size_t kept = 0;

	for (size_t i = 0; i < rows->count; i++)
		if (!kept || items[i].line != items[kept - 1].line ||
		    items[i].file != items[kept - 1].file)
			items[kept++] = items[i];
	rows->count = kept;
}

int code_lines_pack(struct code_lines *lines, const void **packed, uint32_t *bytes)
{
	struct code_text *text = &lines->files;
	size_t row_bytes;
	uint32_t count;

	if (lines->rows.count)
		qsort(lines->rows.items, lines->rows.count, sizeof(*lines->rows.items),
		      compare_rows);
	leave_out_repeated(&lines->rows);
	count = lines->rows.count;
	row_bytes = count * sizeof(*lines->rows.items);
	/* The rows are packed behind the files; code_lines_clear() removes them from there. */
	if (code_text_reserve(text, text->count + row_bytes + sizeof(count)))
		return -ENOMEM;
	if (count)
		memcpy(text->items + text->count, lines->rows.items, row_bytes);
	memcpy(text->items + text->count + row_bytes, &count, sizeof(count));
	*packed = text->items;
	*bytes = text->count + row_bytes + sizeof(count);
	return 0;
}

const char *code_lines_find(const void *packed, uint32_t bytes, uint32_t offset, uint32_t *line)
{
	const char *text = packed, *rows;
	uint32_t count, low = 0, high;
	struct code_line row;

	if (bytes < sizeof(count))
		return NULL;
	memcpy(&count, text + bytes - sizeof(count), sizeof(count));
	rows = text + bytes - sizeof(count) - count * sizeof(row);
	/* Rows below @low are at or below @offset. */
	for (high = count; low < high;) {
		uint32_t middle = low + (high - low) / 2;

		memcpy(&row, rows + middle * sizeof(row), sizeof(row));
		if (row.offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	memcpy(&row, rows + (low - 1) * sizeof(row), sizeof(row));
	*line = row.line;
	return text + row.file;
}
