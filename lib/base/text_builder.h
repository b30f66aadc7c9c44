/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Text put together chunk by chunk in memory of its own. All bytes zero is an empty builder. The
 * first allocation that fails marks the builder, and later appends do nothing: ask once at the end.
 */
#ifndef LIB_BASE_TEXT_BUILDER_H
#define LIB_BASE_TEXT_BUILDER_H

#include <stdbool.h>
#include <stddef.h>

struct text_builder {
	/** NUL-terminated once anything was appended; NULL before. */
	char *text;
	size_t length;
	size_t capacity;
	bool failed;
};

void text_builder_deinit(struct text_builder *builder);

/** Empties the builder, keeps its memory and clears the failure mark. */
void text_builder_clear(struct text_builder *builder);

/** Removes all behind the first @length bytes, which may be more than there are. */
void text_builder_cut(struct text_builder *builder, size_t length);

/** The text, "" if there is none; borrowed until the next change. */
const char *text_builder_text(const struct text_builder *builder);

void text_builder_append(struct text_builder *builder, const char *string);
void text_builder_append_bytes(struct text_builder *builder, const char *bytes, size_t count);
void text_builder_format(struct text_builder *builder, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * Appends a name that somebody else chose, so that it is valid UTF-8 without control characters: a
 * line end becomes a space, any other control, those for the direction of text too, and any byte that is
 * no UTF-8 a `?`.
 */
void text_builder_append_name(struct text_builder *builder, const char *name);

/** Appends @text, valid UTF-8 without control characters, in at most @columns columns of a terminal; it is cut with two dots. */
void text_builder_append_fitted(struct text_builder *builder, const char *text, size_t columns);

#endif
