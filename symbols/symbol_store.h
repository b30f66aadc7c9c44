/* SPDX-License-Identifier: Apache-2.0 */
/**
 * symbols/ names native code on the host. The symbol store implements a struct symbol_lookup
 * (lib/model/symbol_lookup.h) with the binary's open file, so that exited processes and deleted
 * files have names too. Go's code is named by Go's own table (go_symbols.h). All other code, and Go
 * code that the table does not name, is named by symbol caches (symbol_cache.h): functions, inlined
 * functions, files and lines. As long as there are no symbol caches, or without a source of them, names
 * come from .symtab and .dynsym.
 *
 * Symbol tables are read when a binary is first looked up, and the least recently used ones are
 * dropped above a limit of bytes. Returned strings are valid until the next call.
 */
#ifndef SYMBOLS_SYMBOL_STORE_H
#define SYMBOLS_SYMBOL_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/host/judged_path.h"
#include "lib/model/symbol_lookup.h"
#include "symbols/build/make_symbol_cache.h"

struct symbol_cache_source;

struct symbol_store_options {
	/** Borrowed; NULL: no symbol caches. */
	struct symbol_cache_source *caches;
	enum symbol_depth depth;
	/** Ranges of binaries of other machines. Borrowed; NULL: they have no names. */
	struct symbol_cache_source *uploaded;
	/**
	 * Limit of the cached symbol tables; a single table may exceed it. Names of Go use
	 * GO_SYMBOLS_MAX_BYTES of it; if it is not larger than that, they use additional memory. 0:
	 * names of other code come only from symbol caches, and only Go's files are read.
	 */
	size_t table_limit_bytes;
	/** Also reads files whose file system may never answer. */
	bool reads_remote;
	/**
	 * For opening files by path that no process runs any more. Borrowed; NULL: those are not
	 * read.
	 */
	const struct path_judge *judge;
	/**
	 * For code without a name, uses "file+0x" and the address at which the function begins, if
	 * .eh_frame has it. Only where files are read.
	 */
	bool names_starts;
	/** Returns demangled names (demangle.h; glibc's without __GI_) instead of linkage names. */
	bool demangles;
};

/** Used by one thread at a time. */
struct symbol_store;

int symbol_store_create(const struct symbol_store_options *options, struct symbol_store **store);
void symbol_store_destroy(struct symbol_store *store);

/** The store as a lookup. Borrowed; valid while the store exists. */
struct symbol_lookup *symbol_store_lookup(struct symbol_store *store);

#endif
