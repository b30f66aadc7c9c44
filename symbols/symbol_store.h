/* SPDX-License-Identifier: Apache-2.0 */
/**
 * symbols/ names native code on the host. The symbol store answers a struct symbol_lookup
 * (lib/model/symbol_lookup.h) from the binary's open file, so that exited processes and deleted files
 * have names too: code of Go by Go's own table (go_symbols.h), all else, and what that table does not
 * name, from ranges (range_file.h): functions, what is inlined into them, files and lines. Until there are
 * any, or without a source of them, names come from .symtab and .dynsym.
 *
 * Symbol tables are read when a binary is first asked for, and the least recently used ones are
 * dropped above a limit of bytes. Strings that are given out are valid until the next call.
 */
#ifndef SYMBOLS_SYMBOL_STORE_H
#define SYMBOLS_SYMBOL_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/host/judged_path.h"
#include "lib/model/symbol_lookup.h"
#include "symbols/build/make_ranges.h"

struct range_source;

struct symbol_store_options {
	/** Borrowed; NULL: no ranges. */
	struct range_source *ranges;
	enum range_depth depth;
	/** Of binaries that are elsewhere. Borrowed; NULL: they have no names. */
	struct range_source *uploaded;
	/**
	 * Of the symbol tables that are kept; one table may exceed it for itself. Names of Go take
	 * GO_SYMBOLS_MAX_BYTES of it, or are on top of it if it is not larger than that. 0: names of
	 * other code come from ranges alone, and no file is read but Go's.
	 */
	size_t table_limit_bytes;
	/** Reads files whose file system may never answer, too. */
	bool reads_remote;
	/** For files that no process runs any more, by their paths. Borrowed; NULL: those are not read. */
	const struct path_judge *judge;
	/**
	 * Where there is no name, what stands for it is "file+0x" and the address at which the function begins,
	 * if .eh_frame tells. Only where files are read.
	 */
	bool names_starts;
	/** Names as they were written (demangle.h; glibc's without __GI_), and not as linkers see them. */
	bool demangles;
};

/** Used by one thread at a time. */
struct symbol_store;

int symbol_store_create(const struct symbol_store_options *options, struct symbol_store **store);
void symbol_store_destroy(struct symbol_store *store);

/** The store as outputs see it. Borrowed: it lives as long as the store. */
struct symbol_lookup *symbol_store_lookup(struct symbol_store *store);

#endif
