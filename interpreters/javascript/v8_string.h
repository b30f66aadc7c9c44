/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reads V8's strings of every kind from outside: sequential, cons (two strings joined), sliced (a part of another
 * string), thin (a reference to another string) and external (characters on the C++ heap), of Latin-1 or UTF-16.
 *
 * Source: objects/string.tq, objects/string.h @ V8 9.4 to 14.6. Strings are hostile: lengths may be wrong, and the
 * parts of a cons string may be the string itself. So a string never gives more characters than the length that was
 * read first, and at most V8_STRING_MAX_PARTS strings are visited.
 */
#ifndef INTERPRETERS_JAVASCRIPT_V8_STRING_H
#define INTERPRETERS_JAVASCRIPT_V8_STRING_H

#include "interpreters/javascript/v8_heap.h"

enum {
	/** V8's own limit (String::kMaxLength) is a little lower. */
	V8_STRING_MAX_CHARACTERS = 1 << 29,
	/** Limit of second parts of cons strings that wait for their first parts. */
	V8_STRING_MAX_DEPTH = 256,
	V8_STRING_MAX_PARTS = 1 << 16,
	V8_STRING_CHUNK_CHARACTERS = 4096,
};

/** @count characters of the string at tagged @string, beginning at @from. */
struct v8_string_part {
	uint64_t string;
	uint32_t from;
	uint32_t count;
};

/** Owned by one thread. The struct is large. */
struct v8_string_reader {
	/** Borrowed. */
	const struct v8_heap *heap;
	/** Parts that are not read yet; the last one is next. */
	struct v8_string_part parts[V8_STRING_MAX_DEPTH];
	uint32_t part_count;
	uint32_t parts_left;
	/** Address and number of the characters that are left in the current part. */
	uint64_t address;
	uint32_t left;
	bool is_one_byte;
	/** The last chunk. */
	uint16_t chunk[V8_STRING_CHUNK_CHARACTERS];
	/** Buffer for characters of one byte. */
	uint8_t bytes[V8_STRING_CHUNK_CHARACTERS];
};

/** Checks whether tagged @object is a string. -EBADMSG: it is no object; -EFAULT, -ESRCH. */
int v8_is_string(const struct v8_heap *heap, uint64_t object, bool *is_string);

/** Starts to read the string at tagged @string, which has *@length characters. -EBADMSG, -EFAULT, -ESRCH. */
int v8_string_open(struct v8_string_reader *reader, const struct v8_heap *heap, uint64_t string,
		   uint32_t *length);

/**
 * Reads the next characters to reader->chunk as UTF-16; *@count is 0 at the end. -EBADMSG: it is no string, or an
 * external one without a pointer to its characters; -E2BIG over a limit; -EFAULT, -ESRCH.
 */
int v8_string_next(struct v8_string_reader *reader, uint32_t *count);

/**
 * Reads a string as UTF-8 with a final NUL, cut to fit @capacity bytes. A NUL or a single surrogate in it becomes
 * U+FFFD. *@length does not count the final NUL. Errors as above.
 */
int v8_string_read(const struct v8_heap *heap, uint64_t string, char *text, size_t capacity,
		   size_t *length);

#endif
