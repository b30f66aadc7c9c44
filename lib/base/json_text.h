/* SPDX-License-Identifier: Apache-2.0 */
/** Writes JSON (RFC 8259) to a stream value by value, where a tree of the whole would take too much memory. */
#ifndef LIB_BASE_JSON_TEXT_H
#define LIB_BASE_JSON_TEXT_H

#include <stddef.h>
#include <stdio.h>

/**
 * Writes a string. @text is valid UTF-8, as names are (text_builder_append_name()). `<` is escaped, so that the text can
 * stand in a script element of HTML.
 */
void json_text_write(FILE *out, const char *text);
void json_text_write_bytes(FILE *out, const char *text, size_t length);

#endif
