/* SPDX-License-Identifier: Apache-2.0 */
/**
 * JSON text (RFC 8259) as a list of its values: eight bytes each, so that a large file needs little more memory than its
 * text. Strings are decoded in place when they are asked for. The text is hostile: depth and number of values have limits.
 */
#ifndef VIEWER_OPEN_JSON_INDEX_H
#define VIEWER_OPEN_JSON_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vector.h"

/** The position of no value. */
#define JSON_NONE UINT32_MAX

struct json_value {
	/** Offset of its first byte in the text. */
	uint32_t offset;
	/** Position in the list behind the value and all values in it. */
	uint32_t end;
};

VECTOR_DEFINE(json_value_vector, struct json_value)

struct json_index {
	/** Borrowed; decoded strings end with a NUL. */
	char *text;
	/** Each value before those that are in it; keys of objects are values, too. */
	struct json_value_vector values;
};

/** False if the first bytes cannot be JSON with an object or array. */
bool json_is_likely(const char *text, size_t count);

/**
 * Reads @text, which ends with a NUL at @count and is changed. -EBADMSG with a text for users, -E2BIG if there are more
 * than @max_values, -ENOMEM. Deinit in any case.
 */
int json_index_init(struct json_index *index, char *text, size_t count, size_t max_values);
void json_index_deinit(struct json_index *index);

/** The value of @key in the object @object; JSON_NONE if there is none, or if @object is no object. */
uint32_t json_member(struct json_index *index, uint32_t object, const char *key);

/** The first value of an array, or first key of an object; JSON_NONE if it has none or is neither. */
uint32_t json_first(const struct json_index *index, uint32_t parent);
/** The value behind @value in @parent; JSON_NONE behind the last. */
uint32_t json_next(const struct json_index *index, uint32_t parent, uint32_t value);
/** The number of values of an array; of an object twice that of its keys. */
size_t json_count(const struct json_index *index, uint32_t parent);

bool json_is_object(const struct json_index *index, uint32_t value);
bool json_is_array(const struct json_index *index, uint32_t value);
/** The decoded string; NULL if @value is none. */
const char *json_string_at(struct json_index *index, uint32_t value);
/** @otherwise if @value is no number. */
double json_number(const struct json_index *index, uint32_t value, double otherwise);

#endif
