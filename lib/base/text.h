/* SPDX-License-Identifier: Apache-2.0 */
/** Small tests and changes of text. Nothing is allocated. */
#ifndef LIB_BASE_TEXT_H
#define LIB_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	/** Bytes of the longest character in UTF-8. */
	TEXT_UTF8_MAX_BYTES = 4,
	/** Replaces bytes that are no character. */
	TEXT_REPLACEMENT = 0xfffd,
};

bool text_starts_with(const char *text, const char *prefix);
bool text_ends_with(const char *text, const char *suffix);

/** 0 to 15 for a hexadecimal digit of either case, else -1. */
int text_hex_value(char c);

/** Moves both ends of the text from *@start to *@end inwards, past spaces and tabs. */
void text_trim(const char **start, const char **end);

/**
 * Decodes percent-encoding (%41 is A, RFC 3986) of the text from @from to @end into at most @capacity bytes at
 * @to, without a NUL; further text is not looked at. @to may be @from or before it. False, with undefined bytes
 * at @to, if a % is not followed by two hexadecimal digits or encodes a NUL.
 */
bool text_decode_percents(const char *from, const char *end, char *to, size_t capacity,
			  size_t *length);

/** The length of @text, cut to at most @max_bytes, but not within a character of UTF-8. */
size_t text_cut_length(const char *text, size_t length, size_t max_bytes);

/**
 * Writes @character as UTF-8, without a NUL, and returns the number of bytes. Writes TEXT_REPLACEMENT for a
 * number that is no character: half a surrogate pair, a NUL, a number over U+10FFFF.
 */
size_t text_encode_utf8(uint32_t character, char to[TEXT_UTF8_MAX_BYTES]);

/**
 * Returns the character at the start of @bytes, of which there are @left > 0, and its length. A byte that
 * begins no character is one TEXT_REPLACEMENT.
 */
uint32_t text_decode_utf8(const uint8_t *bytes, size_t left, size_t *length);

/** The columns that @character takes on a terminal: 2 for wide ones of East Asia and pictures, 0 for marks on others. */
uint32_t text_character_columns(uint32_t character);

/** The columns that @text, valid UTF-8 without control characters, takes on a terminal. */
size_t text_columns(const char *text);

/** The length of the longest start of @text that takes at most @columns columns. */
size_t text_length_in_columns(const char *text, size_t columns);

#endif
