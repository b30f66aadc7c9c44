/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reads Ruby's strings, arrays and symbols in the memory of a process (include/ruby/internal/core/rstring.h, rarray.h,
 * symbol.c). Lengths and pointers are hostile: no more than the limit of a name is read.
 */
#ifndef INTERPRETERS_RUBY_RUBY_STRINGS_H
#define INTERPRETERS_RUBY_RUBY_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include "interpreters/language.h"
#include "interpreters/ruby/ruby_layout.h"
#include "lib/host/remote_memory.h"

/** Buffer for a string with its NUL. */
typedef char ruby_text[FRAME_NAME_MAX_BYTES + 1];

/**
 * Reads the String at @address as UTF-8 with a final NUL, cut at a character; invalid UTF-8 becomes U+FFFD. -EBADMSG if
 * there is no string, -EFAULT, -ESRCH.
 */
int ruby_string_read(struct remote_memory *memory, const struct ruby_layout *layout,
		     uint64_t address, ruby_text text, size_t *length);

/** Reads the element @index of the Array at @address; -EBADMSG if there is none. */
int ruby_array_get(struct remote_memory *memory, uint64_t address, uint64_t index, uint64_t *value);

/** Reads the path of an instruction sequence: the String at @address, or the first element of an Array of two. */
int ruby_path_read(struct remote_memory *memory, const struct ruby_layout *layout, uint64_t address,
		   ruby_text text, size_t *length);

/** Reads the name of the symbol @id; ruby_global_symbols is at @symbols. */
int ruby_symbol_read(struct remote_memory *memory, const struct ruby_layout *layout,
		     uint64_t symbols, uint64_t id, ruby_text text, size_t *length);

#endif
