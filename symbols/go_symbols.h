/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names of Go's code from Go's own table (.gopclntab), which stripped files have too: function, file
 * and line, with the functions that are inlined there, as runtime.CallersFrames() says. A struct
 * symbol_lookup that answers for nothing else: C in the same file is for others to name.
 *
 * Nothing is read of a file before an address in it is asked for, and then only what is needed for
 * it. Answers are kept, the least recently used go above a limit; what of tables is in memory goes when
 * the lookup is told to rest, and from the least recently used tables before. A file that makes look-ups
 * slow gets a share of a CPU for them, and beyond it its code has no names; a damaged table costs the
 * names in that file.
 */
#ifndef SYMBOLS_GO_SYMBOLS_H
#define SYMBOLS_GO_SYMBOLS_H

#include <stdbool.h>

#include "lib/model/symbol_lookup.h"

enum {
	/** Tables of which something is in memory, 1 MiB of each at most. */
	GO_SYMBOLS_MAX_OPEN = 8,
	/** Of answers, and of what stays of tables that are not open. */
	GO_SYMBOLS_MAX_ANSWER_BYTES = 6 << 20,
	GO_SYMBOLS_MAX_TABLE_BYTES = 4 << 20,
	/** All in all. */
	GO_SYMBOLS_MAX_BYTES = (GO_SYMBOLS_MAX_OPEN << 20) + GO_SYMBOLS_MAX_ANSWER_BYTES +
			       GO_SYMBOLS_MAX_TABLE_BYTES,
};

/** Used by one thread at a time. */
struct go_symbols;
struct path_judge;

/** @reads_remote: also files whose file system may never answer, by which the caller may hang. */
int go_symbols_create(struct go_symbols **symbols, bool reads_remote,
		      const struct path_judge *judge);
void go_symbols_destroy(struct go_symbols *symbols);

/** Borrowed: it lives as long as @symbols. */
struct symbol_lookup *go_symbols_lookup(struct go_symbols *symbols);

#endif
