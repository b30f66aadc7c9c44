/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kind of a value is its first byte: { [ " or that of a word or number. A string that was decoded begins with
 * DECODED instead of its quote.
 */
#include "viewer/open/json_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/text.h"

enum {
	DEPTH_MAX = 64,
	DECODED = 's',
};

struct json_parser {
	struct json_index *index;
	size_t at;
	size_t count;
	size_t max_values;
	uint32_t open[DEPTH_MAX];
	uint32_t depth;
};

bool json_is_likely(const char *text, size_t count)
{
	size_t start = 0;

	while (start < count && strchr(" \t\r\n", text[start]) && text[start])
		start++;
	return start < count && (text[start] == '{' || text[start] == '[');
}

static int refuse(const struct json_parser *parser)
{
	return fail(-EBADMSG, "its JSON is damaged at byte %zu", parser->at);
}

static void skip_space(struct json_parser *parser)
{
	const char *text = parser->index->text;

	while (text[parser->at] == ' ' || text[parser->at] == '\t' || text[parser->at] == '\r' ||
	       text[parser->at] == '\n')
		parser->at++;
}

/* Moves to the byte behind the string's end. */
static int skip_string(struct json_parser *parser)
{
	const char *text = parser->index->text;

	for (parser->at++; parser->at < parser->count; parser->at++) {
		if (text[parser->at] == '"') {
			parser->at++;
			return 0;
		}
		if (text[parser->at] == '\\')
			parser->at++;
	}
	/* A backslash was the last byte. */
	parser->at = parser->count;
	return refuse(parser);
}

static int skip_word(struct json_parser *parser)
{
	static const char characters[] = "+-.0123456789EINaefilnrstuy";
	size_t length = strspn(parser->index->text + parser->at, characters);

	if (!length)
		return refuse(parser);
	parser->at += length;
	return 0;
}

static int add_value(struct json_parser *parser)
{
	struct json_value_vector *values = &parser->index->values;

	if (values->count == parser->max_values)
		return fail(-E2BIG, "its JSON has more than %zu values", parser->max_values);
	return json_value_vector_push(values, (struct json_value){
						      .offset = (uint32_t)parser->at,
						      .end = (uint32_t)values->count + 1,
					      });
}

static int begin_value(struct json_parser *parser)
{
	char first = parser->index->text[parser->at];
	int err = add_value(parser);

	if (err)
		return err;
	if (first == '"')
		return skip_string(parser);
	if (first != '{' && first != '[')
		return skip_word(parser);
	if (parser->depth == DEPTH_MAX)
		return fail(-EBADMSG, "its JSON is nested too deeply");
	parser->open[parser->depth++] = (uint32_t)parser->index->values.count - 1;
	parser->at++;
	return 0;
}

static bool is_in_object(const struct json_parser *parser)
{
	const struct json_index *index = parser->index;

	return index->text[index->values.items[parser->open[parser->depth - 1]].offset] == '{';
}

/* Ends all objects and arrays that end here. */
static void end_values(struct json_parser *parser)
{
	for (skip_space(parser); parser->depth; skip_space(parser)) {
		char wanted = is_in_object(parser) ? '}' : ']';
		struct json_value_vector *values = &parser->index->values;

		if (parser->index->text[parser->at] != wanted)
			return;
		values->items[parser->open[--parser->depth]].end = (uint32_t)values->count;
		parser->at++;
	}
}

/* Reads a key with its colon, if one is due. */
static int read_key(struct json_parser *parser)
{
	int err;

	if (!is_in_object(parser))
		return 0;
	if (parser->index->text[parser->at] != '"')
		return refuse(parser);
	err = begin_value(parser);
	if (err)
		return err;
	skip_space(parser);
	if (parser->index->text[parser->at] != ':')
		return refuse(parser);
	parser->at++;
	skip_space(parser);
	return 0;
}

static int parse(struct json_parser *parser)
{
	bool is_first;
	int err;

	skip_space(parser);
	err = begin_value(parser);
	while (!err) {
		/* An empty object or array ends at once; a value may be followed by a comma. */
		end_values(parser);
		if (!parser->depth)
			break;
		is_first = parser->index->values.count == parser->open[parser->depth - 1] + 1U;
		if (!is_first && parser->index->text[parser->at] != ',')
			return refuse(parser);
		parser->at += !is_first;
		skip_space(parser);
		err = read_key(parser);
		if (!err)
			err = begin_value(parser);
	}
	if (err)
		return err;
	skip_space(parser);
	return parser->at < parser->count ? refuse(parser) : 0;
}

int json_index_init(struct json_index *index, char *text, size_t count, size_t max_values)
{
	struct json_parser parser = { .index = index, .count = count, .max_values = max_values };

	*index = (struct json_index){ .text = text };
	if (count >= UINT32_MAX || max_values >= JSON_NONE)
		return fail(-E2BIG, "its JSON is too large");
	return parse(&parser);
}

void json_index_deinit(struct json_index *index)
{
	json_value_vector_deinit(&index->values);
}

/* --- values --- */

static char first_byte(const struct json_index *index, uint32_t value)
{
	return value == JSON_NONE ? '\0' : index->text[index->values.items[value].offset];
}

bool json_is_object(const struct json_index *index, uint32_t value)
{
	return first_byte(index, value) == '{';
}

bool json_is_array(const struct json_index *index, uint32_t value)
{
	return first_byte(index, value) == '[';
}

uint32_t json_first(const struct json_index *index, uint32_t parent)
{
	if ((!json_is_object(index, parent) && !json_is_array(index, parent)) ||
	    index->values.items[parent].end == parent + 1)
		return JSON_NONE;
	return parent + 1;
}

uint32_t json_next(const struct json_index *index, uint32_t parent, uint32_t value)
{
	uint32_t next = index->values.items[value].end;

	return next < index->values.items[parent].end ? next : JSON_NONE;
}

size_t json_count(const struct json_index *index, uint32_t parent)
{
	size_t count = 0;

	for (uint32_t i = json_first(index, parent); i != JSON_NONE;
	     i = json_next(index, parent, i))
		count++;
	return count;
}

uint32_t json_member(struct json_index *index, uint32_t object, const char *key)
{
	uint32_t name = json_is_object(index, object) ? json_first(index, object) : JSON_NONE;

	while (name != JSON_NONE) {
		uint32_t value = json_next(index, object, name);
		const char *text = json_string_at(index, name);

		if (value == JSON_NONE)
			return JSON_NONE;
		if (text && !strcmp(text, key))
			return value;
		name = json_next(index, object, value);
	}
	return JSON_NONE;
}

double json_number(const struct json_index *index, uint32_t value, double otherwise)
{
	const char *text;
	char *end;
	double number;

	if (value == JSON_NONE)
		return otherwise;
	text = index->text + index->values.items[value].offset;
	if (*text != '-' && (*text < '0' || *text > '9'))
		return otherwise;
	number = strtod(text, &end);
	return end > text ? number : otherwise;
}

/* UINT32_MAX if there are no four digits. */
static uint32_t read_hex(const char *text)
{
	uint32_t number = 0;

	for (int i = 0; i < 4; i++) {
		int digit = text_hex_value(text[i]);

		if (digit < 0)
			return UINT32_MAX;
		number = number << 4 | (uint32_t)digit;
	}
	return number;
}

/* Decodes the escape behind a backslash at *@from, and moves *@from to its last byte. */
static size_t decode_escape(const char **from, char *to)
{
	static const char letters[] = "nrtbf", bytes[] = "\n\r\t\b\f";
	const char *letter = strchr(letters, **from);
	uint32_t character, low;

	if (**from == 'u') {
		character = read_hex(*from + 1);
		/* The text never gets longer: it is decoded in place. */
		if (character == UINT32_MAX) {
			*to = '?';
			return 1;
		}
		*from += 4;
		if (character >= 0xd800 && character < 0xdc00 && (*from)[1] == '\\' &&
		    (*from)[2] == 'u') {
			low = read_hex(*from + 3);
			if (low >= 0xdc00 && low < 0xe000) {
				character = 0x10000 + ((character - 0xd800) << 10) + (low - 0xdc00);
				*from += 6;
			}
		}
		return text_encode_utf8(character, to);
	}
	*to = letter && *letter ? bytes[letter - letters] : **from;
	return 1;
}

const char *json_string_at(struct json_index *index, uint32_t value)
{
	char *start, *to;

	if (first_byte(index, value) != '"' && first_byte(index, value) != DECODED)
		return NULL;
	start = index->text + index->values.items[value].offset;
	if (*start == DECODED)
		return start + 1;
	*start = DECODED;
	to = start + 1;
	for (const char *from = to; *from && *from != '"'; from++) {
		if (*from == '\\' && from[1]) {
			from++;
			to += decode_escape(&from, to);
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
	return start + 1;
}
