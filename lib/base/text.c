/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/text.h"

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
	/* Moves back to the first byte of the character that would be cut. */
	while (length && ((unsigned char)text[length] & 0xc0) == 0x80)
		length--;
	return length;
}

size_t text_encode_utf8(uint32_t character, char to[TEXT_UTF8_MAX_BYTES])
{
	if (!character || character > 0x10ffff || (character >= 0xd800 && character <= 0xdfff))
		character = TEXT_REPLACEMENT;
	if (character < 0x80) {
		to[0] = (char)character;
		return 1;
	}
	if (character < 0x800) {
		to[0] = (char)(0xc0 | character >> 6);
		to[1] = (char)(0x80 | (character & 63));
		return 2;
	}
	if (character < 0x10000) {
		to[0] = (char)(0xe0 | character >> 12);
		to[1] = (char)(0x80 | (character >> 6 & 63));
		to[2] = (char)(0x80 | (character & 63));
		return 3;
	}
	to[0] = (char)(0xf0 | character >> 18);
	to[1] = (char)(0x80 | (character >> 12 & 63));
	to[2] = (char)(0x80 | (character >> 6 & 63));
	to[3] = (char)(0x80 | (character & 63));
	return 4;
}

uint32_t text_decode_utf8(const uint8_t *bytes, size_t left, size_t *length)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint8_t first = bytes[0];
	size_t wanted = first < 0x80		      ? 1 :
			first >= 0xc2 && first < 0xe0 ? 2 :
			first >= 0xe0 && first < 0xf0 ? 3 :
			first >= 0xf0 && first < 0xf5 ? 4 :
							0;
	uint32_t character = wanted == 1 ? first : first & (0x7f >> wanted);

	*length = 1;
	if (!wanted || wanted > left)
		return TEXT_REPLACEMENT;
	for (size_t i = 1; i < wanted; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return TEXT_REPLACEMENT;
		character = character << 6 | (bytes[i] & 63);
	}
	if (character < least[wanted])
		return TEXT_REPLACEMENT;
	*length = wanted;
	return character;
}

struct character_range {
	uint32_t first;
	uint32_t last;
	uint32_t columns;
};

/* In ascending order: the wide ranges of Unicode's EastAsianWidth.txt, and combining and format characters. */
static const struct character_range column_ranges[] = {
	{ 0x300, 0x36f, 0 },	 { 0x1100, 0x115f, 2 },	  { 0x200b, 0x200f, 0 },
	{ 0x2e80, 0x303e, 2 },	 { 0x3041, 0xa4cf, 2 },	  { 0xac00, 0xd7a3, 2 },
	{ 0xf900, 0xfaff, 2 },	 { 0xfe00, 0xfe0f, 0 },	  { 0xfe30, 0xfe6f, 2 },
	{ 0xff00, 0xff60, 2 },	 { 0xffe0, 0xffe6, 2 },	  { 0x1f300, 0x1f64f, 2 },
	{ 0x1f680, 0x1f6ff, 2 }, { 0x1f900, 0x1faff, 2 }, { 0x20000, 0x3fffd, 2 },
};

uint32_t text_character_columns(uint32_t character)
{
	const size_t count = sizeof(column_ranges) / sizeof(column_ranges[0]);

	for (size_t i = 0; i < count && column_ranges[i].first <= character; i++) {
		if (character <= column_ranges[i].last)
			return column_ranges[i].columns;
	}
	return 1;
}

size_t text_columns(const char *text)
{
	size_t left = strlen(text), columns = 0, length;

	for (; left; text += length, left -= length)
		columns += text_character_columns(
			text_decode_utf8((const uint8_t *)text, left, &length));
	return columns;
}

size_t text_length_in_columns(const char *text, size_t columns)
{
	size_t left = strlen(text), used = 0, total = 0, length;

	for (; left; left -= length, total += length) {
		used += text_character_columns(
			text_decode_utf8((const uint8_t *)text + total, left, &length));
		if (used > columns)
			break;
	}
	return total;
}
