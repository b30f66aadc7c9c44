/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names as their programmers wrote them, out of linkage names: C++ (Itanium ABI) and Rust, both
 * schemes, by libiberty. Linkage names are hostile: what one of them grows into is bounded.
 */
#ifndef SYMBOLS_DEMANGLE_H
#define SYMBOLS_DEMANGLE_H

#include <stdbool.h>

#include "lib/base/text_builder.h"

enum {
	/** Longer linkage names, and those that would become longer than this, stay as they are. */
	DEMANGLE_MAX_BYTES = 64 << 10,
};

/**
 * Replaces @text by what linkage name @name means. False, with @text empty, if it means nothing else
 * than what it says.
 */
bool demangle(const char *name, struct text_builder *text);

#endif
