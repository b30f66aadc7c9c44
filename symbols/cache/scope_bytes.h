/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Functions and inlined calls, packed one behind the other: as they are collected, and in a range file those around
 * calls that are inlined too deeply for a block. A scope is meant by its offset; 0, at which a byte without meaning
 * stands, is none.
 *
 * ULEB128: distance back to the scope around it * 2 (0: a function by itself), plus 1 if the name is no linkage name;
 * name; if it is inlined, file and line of the call. Scopes around one another lie before it, so that chains end.
 */
#ifndef SYMBOLS_CACHE_SCOPE_BYTES_H
#define SYMBOLS_CACHE_SCOPE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/cache/varint.h"

enum {
	/** Offsets are below: two bits of a number are left. */
	SCOPE_BYTES_MAX = 1 << 30,
};

/** A function, or one that is inlined into scope @outer if that is not 0. */
struct range_scope {
	uint32_t outer;
	/** Strings by their numbers. */
	uint32_t name;
	uint32_t call_file;
	uint32_t call_line;
	/** The name is not the linkage name: a symbol's is better. */
	bool is_plain;
};

/** Appends to @bytes, which are by big_bytes.h. -E2BIG, -ENOMEM. */
int scope_bytes_add(struct byte_vector *bytes, const struct range_scope *scope, uint32_t *number);

/** False at what is no scope: of foreign bytes all can be asked for. */
bool scope_bytes_read(const uint8_t *bytes, size_t count, uint32_t number,
		      struct range_scope *scope);

#endif
