/* SPDX-License-Identifier: Apache-2.0 */
/**
 * symbols/ names native code on the host. The symbol store answers a struct symbol_lookup
 * (agent/base/symbol_lookup.h) from the binary's open file, so that exited processes and deleted files
 * have names too: code of Go by Go's own table (go_symbols.h), all else, and what that table does not
 * name, from .symtab and .dynsym. Linkage names are given as they stand: demangling, debug files and
 * inlined functions of other languages are not done here yet.
 *
 * Symbol tables are read when a binary is first asked for, and the least recently used ones are
 * dropped above a limit of bytes; the names that were given out stay until the store is destroyed,
 * one per function; those of Go until the next call.
 */
#ifndef SYMBOLS_SYMBOL_STORE_H
#define SYMBOLS_SYMBOL_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "agent/base/symbol_lookup.h"

enum {
	/** Names given out, with what it takes to find them; beyond it functions have no name. */
	SYMBOL_STORE_MAX_NAME_BYTES = 64 << 20,
};

struct symbol_store;

/**
 * @table_limit_bytes: of the symbol tables that are kept; one table may exceed it for itself. Names of
 * Go take GO_SYMBOLS_MAX_BYTES of it, or are on top of it if it is not larger than that.
 */
int symbol_store_create(struct symbol_store **store, size_t table_limit_bytes);
void symbol_store_destroy(struct symbol_store *store);

/** The store as outputs see it. Borrowed: it lives as long as the store. */
struct symbol_lookup *symbol_store_lookup(struct symbol_store *store);

#endif
