/* SPDX-License-Identifier: Apache-2.0 */
/* A growing string with a sticky failure. Names come from hostile programs: every byte counts. */

#include "lib/base/text_builder.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/base/vector.h"

void text_builder_deinit(struct text_builder *builder)
{
	free(builder->text);
	memset(builder, 0, sizeof(*builder));
}

void text_builder_clear(struct text_builder *builder)
{
	builder->length = 0;
	builder->failed = false;
	if (builder->text)
		builder->text[0] = '\0';
}

void text_builder_cut(struct text_builder *builder, size_t length)
{
	if (length >= builder->length)
		return;
	builder->length = length;
	builder->text[length] = '\0';
}

const char *text_builder_text(const struct text_builder *builder)
{
	return builder->text ? builder->text : "";
}

/* Makes room for @count more bytes and the NUL. On false, the builder is marked as failed. */
static bool reserve(struct text_builder *builder, size_t count)
{
	size_t wanted;
	char *text;

	if (builder->failed)
		return false;
	if (builder->capacity - builder->length > count)
		return true;
	text = NULL;
	if (!__builtin_add_overflow(builder->length, count, &wanted) && wanted < SIZE_MAX)
		text = vector_grow(builder->text, &builder->capacity, wanted + 1, 1);
	if (!text) {
		builder->failed = true;
		return false;
	}
	builder->text = text;
	return true;
}

void text_builder_append_bytes(struct text_builder *builder, const char *bytes, size_t count)
{
	if (!reserve(builder, count))
		return;
	if (count)
		memcpy(builder->text + builder->length, bytes, count);
	builder->length += count;
	builder->text[builder->length] = '\0';
}

void text_builder_append(struct text_builder *builder, const char *string)
{
	text_builder_append_bytes(builder, string, strlen(string));
}

void text_builder_format(struct text_builder *builder, const char *format, ...)
{
	va_list arguments, again;
	int count;

	va_start(arguments, format);
	va_copy(again, arguments);
	count = vsnprintf(NULL, 0, format, arguments);
	if (count < 0) {
		builder->failed = true;
	} else if (reserve(builder, count)) {
		vsnprintf(builder->text + builder->length, (size_t)count + 1, format, again);
		builder->length += count;
	}
	va_end(again);
	va_end(arguments);
}

static bool is_continuation(unsigned char byte)
{
	return (byte & 0xc0) == 0x80;
}

/* Bytes of the well-formed UTF-8 character at @at (Unicode 15, table 3-7); 0 if there is none. */
static size_t character_bytes(const unsigned char *at)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t count;

	if (at[0] < 0x80)
		return 1;
	if (at[0] >= 0xc2 && at[0] <= 0xdf)
		return is_continuation(at[1]) ? 2 : 0;
	if (at[0] >= 0xe0 && at[0] <= 0xef) {
		count = 3;
		if (at[0] == 0xe0)
			low = 0xa0;
		else if (at[0] == 0xed)
			high = 0x9f;
	} else if (at[0] >= 0xf0 && at[0] <= 0xf4) {
		count = 4;
		if (at[0] == 0xf0)
			low = 0x90;
		else if (at[0] == 0xf4)
			high = 0x8f;
	} else {
		return 0;
	}
	if (at[1] < low || at[1] > high)
		return 0;
	for (size_t i = 2; i < count; i++) {
		if (!is_continuation(at[i]))
			return 0;
	}
	return count;
}

/* Whether the character at @at, of 2 bytes or more, changes the direction of the text behind it: U+061C, 200E, 200F, 202A
 * to 202E and 2066 to 2069. With them a name can look like another one, or change the look of a whole line. */
static bool is_bidirectional_control(const unsigned char *at)
{
	if (at[0] == 0xd8)
		return at[1] == 0x9c;
	if (at[0] != 0xe2)
		return false;
	if (at[1] == 0x80)
		return at[2] == 0x8e || at[2] == 0x8f || (at[2] >= 0xaa && at[2] <= 0xae);
	return at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9;
}

/* The replacement for the control character at @at; NULL if it is no control character. */
static const char *control_replacement(const unsigned char *at, size_t bytes)
{
	if (bytes == 1) {
		if (at[0] == '\n' || at[0] == '\r' || at[0] == '\v' || at[0] == '\f')
			return " ";
		return at[0] < 0x20 || at[0] == 0x7f ? "?" : NULL;
	}
	/* NEL, the other C1 controls, and the line and paragraph separators. */
	if (at[0] == 0xc2 && at[1] < 0xa0)
		return at[1] == 0x85 ? " " : "?";
	if (at[0] == 0xe2 && at[1] == 0x80 && (at[2] == 0xa8 || at[2] == 0xa9))
		return " ";
	return is_bidirectional_control(at) ? "?" : NULL;
}

void text_builder_append_name(struct text_builder *builder, const char *name)
{
	const unsigned char *at = (const unsigned char *)name;
	const unsigned char *plain = at;

	while (*at) {
		size_t bytes = character_bytes(at);
		const char *replacement = bytes ? control_replacement(at, bytes) : "?";

		if (replacement) {
			text_builder_append_bytes(builder, (const char *)plain, at - plain);
			text_builder_append(builder, replacement);
			plain = at + (bytes ? bytes : 1);
		}
		at += bytes ? bytes : 1;
	}
	text_builder_append_bytes(builder, (const char *)plain, at - plain);
}

void text_builder_append_fitted(struct text_builder *builder, const char *text, size_t columns)
{
	static const char dots[] = "..";
	size_t room = columns > strlen(dots) ? columns - strlen(dots) : 0;

	if (text_columns(text) <= columns) {
		text_builder_append(builder, text);
		return;
	}
	text_builder_append_bytes(builder, text, text_length_in_columns(text, room));
	for (size_t i = 0; i < strlen(dots) && room + i < columns; i++)
		text_builder_append(builder, ".");
}
