/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/base/text.h"

#include <string.h>

bool text_starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends_with(const char *text, const char *suffix)
{
	size_t length = strlen(text);
	size_t suffix_length = strlen(suffix);

	return length >= suffix_length && !strcmp(text + length - suffix_length, suffix);
}

int text_hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

void text_trim(const char **start, const char **end)
{
	while (*start < *end && is_blank(**start))
		(*start)++;
	while (*start < *end && is_blank((*end)[-1]))
		(*end)--;
}

bool text_decode_percents(const char *from, const char *end, char *to, size_t capacity,
			  size_t *length)
{
	size_t count = 0;

	while (from < end && count < capacity) {
		char c = *from++;

		if (c == '%') {
			int high = from < end ? text_hex_value(from[0]) : -1;
			int low = high >= 0 && from + 1 < end ? text_hex_value(from[1]) : -1;

			if (low < 0 || !(high | low))
				return false;
			c = (char)(high << 4 | low);
			from += 2;
		}
		to[count++] = c;
	}
	*length = count;
	return true;
}

size_t text_cut_length(const char *text, size_t length, size_t max_bytes)
{
	if (length <= max_bytes)
		return length;
	length = max_bytes;
	/* Back to the first byte of the character that is cut. */
	while (length && ((unsigned char)text[length] & 0xc0) == 0x80)
		length--;
	return length;
}
