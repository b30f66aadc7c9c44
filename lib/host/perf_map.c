/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/host/perf_map.h"

#include <errno.h>
#include <string.h>

#include "lib/base/text.h"

enum {
	HEX_DIGITS_MAX = 16,
};

/* Reads a number and the space behind it; moves *@at. */
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

static int take_line(struct code_batch *batch, const char *line, const char *end)
{
	uint64_t start, size;

	if (!take_number(&line, end, &start) || !take_number(&line, end, &size))
		return 0;
	if (end > line && end[-1] == '\r')
		end--;
	/* The function has no name or no code, or more code than any function can have. */
	if (line == end || *line == '\0' || !size || size > UINT32_MAX || start + size < start)
		return 0;
	return code_batch_add(batch, start, size, line, strnlen(line, end - line), NULL, 0);
}

int perf_map_add(struct code_names *names, const char *text, size_t bytes, size_t *used_bytes)
{
	struct code_batch *batch = code_batch_begin(names);
	const char *line = text, *end = text + bytes;
	int err = 0;

	if (!batch)
		return -ENOMEM;
	while (!err && line < end) {
		const char *line_end = memchr(line, '\n', end - line);

		if (!line_end)
			break;
		err = take_line(batch, line, line_end);
		line = line_end + 1;
	}
	err = code_batch_end(batch, err);
	if (err)
		return err;
	*used_bytes = line - text;
	return 0;
}
