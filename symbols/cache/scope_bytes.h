/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Functions and inlined calls, packed one after the other. The writer collects scopes in this form,
 * and a symbol cache has the scopes around calls that are inlined too deeply for a block. A scope's
 * id is its offset. 0 is no scope; the byte at offset 0 is unused.
 *
 * ULEB128 numbers: distance back to the enclosing scope * 2 (0: a function), plus 1 if the name is
 * not a linkage name; name; the function's first line; for an inlined call, file and line of the call.
 * Enclosing scopes have lower offsets, so chains end.
 */
#ifndef SYMBOLS_CACHE_SCOPE_BYTES_H
#define SYMBOLS_CACHE_SCOPE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/cache/varint.h"

enum {
	/** Offsets are below this, which leaves two bits of a number free. */
	SCOPE_BYTES_MAX = 1 << 30,
};

/** A function, or a call that is inlined into scope @outer if that is not 0. */
struct symbol_scope {
	uint32_t outer;
	/** String ids. */
	uint32_t name;
	uint32_t call_file;
	uint32_t call_line;
	/** First line of the function; 0: unknown. */
	uint32_t start_line;
	/** The name is not the linkage name: a symbol's name is better. */
	bool is_plain;
};

/** Appends to @bytes, which big_bytes.h allocates. -E2BIG, -ENOMEM. */
int scope_bytes_add(struct byte_vector *bytes, const struct symbol_scope *scope, uint32_t *id);

/** False if @id is not a scope. The bytes may be untrusted, and @id may be anything. */
bool scope_bytes_read(const uint8_t *bytes, size_t count, uint32_t id, struct symbol_scope *scope);

#endif
