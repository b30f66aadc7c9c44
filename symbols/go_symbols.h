/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names of Go's code from Go's own table (.gopclntab), which stripped files have too: function,
 * file and line, with the inlined functions, as in runtime.CallersFrames(). A struct symbol_lookup
 * for Go's code only: it does not name C code in the same file.
 *
 * Nothing of a file is read before an address in it is looked up, and then only what is needed for
 * the address. Answers are cached; the least recently used are dropped above a limit. The cached
 * parts of tables are freed when the lookup's rest() is called, and earlier for the least recently
 * used tables. A file in which look-ups are slow gets a share of the CPU for them; once it is used
 * up its code has no names. A damaged table loses only the names in its own file.
 */
#ifndef SYMBOLS_GO_SYMBOLS_H
#define SYMBOLS_GO_SYMBOLS_H

#include <stdbool.h>

#include "lib/model/symbol_lookup.h"

enum {
	/** Tables with cached parts; 1 MiB of each at most. */
	GO_SYMBOLS_MAX_OPEN = 8,
	/** Limits of the answers, and of what is kept of tables that are not open. */
	GO_SYMBOLS_MAX_ANSWER_BYTES = 6 << 20,
	GO_SYMBOLS_MAX_TABLE_BYTES = 4 << 20,
	/** Limit of everything. */
	GO_SYMBOLS_MAX_BYTES = (GO_SYMBOLS_MAX_OPEN << 20) + GO_SYMBOLS_MAX_ANSWER_BYTES +
			       GO_SYMBOLS_MAX_TABLE_BYTES,
};

/** Used by one thread at a time. */
struct go_symbols;
struct path_judge;

/**
 * @reads_remote: reads also files whose file system may never answer, which may hang the caller.
 */
int go_symbols_create(struct go_symbols **symbols, bool reads_remote,
		      const struct path_judge *judge);
void go_symbols_destroy(struct go_symbols *symbols);

/** Borrowed; valid while @symbols exists. */
struct symbol_lookup *go_symbols_lookup(struct go_symbols *symbols);

#endif
