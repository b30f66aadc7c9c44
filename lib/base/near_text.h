/* SPDX-License-Identifier: Apache-2.0 */
/** Finds which of some names a misspelt or abbreviated one means. Nothing is allocated. */
#ifndef LIB_BASE_NEAR_TEXT_H
#define LIB_BASE_NEAR_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** All candidates are shown to it one after the other. */
struct near_text {
	/** Borrowed. */
	const char *text;
	size_t length;
	/** Rank of the best candidate so far; lower is nearer. */
	uint32_t rank;
};

void near_text_init(struct near_text *near, const char *text, size_t length);

/**
 * Whether @candidate is nearer than all before it. Near are names with few errors, one in four characters; else those that
 * the text begins; else those that begin with it but for few errors, and for a text of three characters those with one error.
 * An error is a character that is added, missing or replaced, or two that are swapped.
 */
bool near_text_improves(struct near_text *near, const char *candidate);

#endif
