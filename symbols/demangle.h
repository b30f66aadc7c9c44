/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Demangles linkage names of C++ (Itanium ABI) and Rust, both schemes, with libiberty. Linkage
 * names are hostile: the length of the result is limited.
 */
#ifndef SYMBOLS_DEMANGLE_H
#define SYMBOLS_DEMANGLE_H

#include <stdbool.h>

#include "lib/base/text_builder.h"

enum {
	/**
	 * Linkage names that are longer, or whose demangled name would be longer, stay as they are.
	 */
	DEMANGLE_MAX_BYTES = 64 << 10,
};

/**
 * Replaces @text by the demangled @name. False, with @text empty, if @name is not a mangled name.
 */
bool demangle(const char *name, struct text_builder *text);

#endif
