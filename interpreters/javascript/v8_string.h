/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Strings of every kind, read from outside: sequential, cons (two strings one behind the other), sliced (a part of
 * another one), thin (another one in its place) and external (characters on the C++ heap), of Latin-1 or UTF-16.
 *
 * Source: objects/string.tq, objects/string.h @ V8 9.4 to 14.6. Strings are hostile: lengths lie, and the parts of a
 * cons string may be the string itself. So a string gives no more characters than it has itself said at first, and
 * visits V8_STRING_MAX_PARTS strings at most.
 */
#ifndef INTERPRETERS_JAVASCRIPT_V8_STRING_H
#define INTERPRETERS_JAVASCRIPT_V8_STRING_H

#include "interpreters/javascript/v8_heap.h"

enum {
	/** V8's own limit (String::kMaxLength) is a little lower. */
	V8_STRING_MAX_CHARACTERS = 1 << 29,
	/** Second halves of cons strings that wait for the first ones. */
	V8_STRING_MAX_DEPTH = 256,
	V8_STRING_MAX_PARTS = 1 << 16,
	V8_STRING_CHUNK_CHARACTERS = 4096,
};

/** Characters from @from on, @count of them, of the string at tagged @string. */
struct v8_string_part {
	uint64_t string;
	uint32_t from;
	uint32_t count;
};

/** One thread's; large. */
struct v8_string_reader {
	/** Borrowed. */
	const struct v8_heap *heap;
	/** What is still to come; the last one is the next. */
	struct v8_string_part parts[V8_STRING_MAX_DEPTH];
	uint32_t part_count;
	uint32_t parts_left;
	/** Characters that are found already: where, and how many are left. */
	uint64_t address;
	uint32_t left;
	bool is_one_byte;
	/** The last chunk. */
	uint16_t chunk[V8_STRING_CHUNK_CHARACTERS];
	/** What of it was read, one byte for each character. */
	uint8_t bytes[V8_STRING_CHUNK_CHARACTERS];
};

/** Whether tagged @object is a string. -EBADMSG: not even an object; -EFAULT, -ESRCH. */
int v8_is_string(const struct v8_heap *heap, uint64_t object, bool *is_string);

/** Starts at the beginning of the string at tagged @string; *@length characters. -EBADMSG, -EFAULT, -ESRCH. */
int v8_string_open(struct v8_string_reader *reader, const struct v8_heap *heap, uint64_t string,
		   uint32_t *length);

/**
 * The next characters, as UTF-16: *@count of them in reader->chunk; 0 at the end. -EBADMSG: no string, or an external
 * one without a pointer to its characters; -E2BIG over a limit; -EFAULT, -ESRCH.
 */
int v8_string_next(struct v8_string_reader *reader, uint32_t *count);

/**
 * Reads a string as UTF-8 with a NUL behind it, cut to fit @capacity bytes. A NUL or half a pair in it becomes
 * U+FFFD. *@length is without the NUL. Errors as above.
 */
int v8_string_read(const struct v8_heap *heap, uint64_t string, char *text, size_t capacity,
		   size_t *length);

#endif
