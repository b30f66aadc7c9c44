/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reads strings of CPython in the memory of another process: str in the layout of PEP 393, compact or not, with 1, 2
 * or 4 bytes a character (Include/cpython/unicodeobject.h), the str of 2.7, and bytes.
 */
#ifndef INTERPRETERS_PYTHON_PYTHON_STRINGS_H
#define INTERPRETERS_PYTHON_PYTHON_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include "interpreters/language.h"
#include "interpreters/python/python_layouts.h"
#include "lib/elf/elf_image.h"
#include "lib/host/remote_memory.h"

/** Buffer for a string with its NUL. */
typedef char python_text[FRAME_NAME_MAX_BYTES + 1];

/**
 * Reads the str at @address as UTF-8 with a final NUL, cut at a character. An invalid character (a single surrogate, a
 * NUL, a number over U+10FFFF, in 2.7 bytes that are no UTF-8) becomes U+FFFD. -EBADMSG if there is no string,
 * -EFAULT, -ESRCH.
 */
int python_string_read(struct remote_memory *memory, const struct python_layout *layout,
		       uint64_t address, python_text text, size_t *length);

/** Copies the contents of the bytes object at @address to newly allocated memory; -E2BIG over @limit. */
int python_bytes_read(struct remote_memory *memory, const struct python_layout *layout,
		      uint64_t address, size_t limit, struct elf_bytes *bytes);

#endif
