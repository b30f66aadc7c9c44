/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The traces that the JIT has compiled (zend_jit_traces in ext/opcache/jit/zend_jit_trace.c). Each has the instruction that it
 * starts with, its code, and a list of exits: at exit n the interpreter continues with an instruction that the list has.
 *
 * The table has no symbol. Code of a trace leaves it by a jump to code that pushes the number of the exit; that code ends in a
 * jump to code that calls zend_jit_trace_exit(), which uses the table. A candidate is the table if its elements have their own
 * indexes. All content is hostile.
 */
#ifndef INTERPRETERS_PHP_PHP_TRACES_H
#define INTERPRETERS_PHP_PHP_TRACES_H

#include "interpreters/php/php_layout.h"
#include "lib/host/remote_memory.h"

enum {
	/** Limit of the elements; opcache.jit_max_root_traces and jit_max_side_traces give 1,152 by default. */
	PHP_TRACES_MAX = 1 << 17,
	/** Limit of the searches for the table in a process. */
	PHP_TRACES_MAX_SEARCHES = 64,
};

/** State for one process. */
struct php_traces {
	const struct php_layout *layout;
	/** Address of the table; 0: not found. */
	uint64_t table;
	uint32_t searches;
};

/** An element of the table. */
struct php_trace {
	/** The function, and the first instruction; 0 for a trace that continues another one. */
	uint64_t function;
	uint64_t first;
	uint64_t code;
	uint64_t code_end;
	uint64_t exits;
	uint32_t exit_count;
};

void php_traces_init(struct php_traces *traces, const struct php_layout *layout);

/**
 * The number of the exit that a jump to @address takes. -ENOENT: it is not the code of an exit. Looks for the table if it is
 * not known.
 */
int php_traces_exit_at(struct php_traces *traces, struct remote_memory *memory, uint64_t address,
		       uint32_t *number);
/** The trace with code at @address. -ENOENT, -EFAULT, -ESRCH. */
int php_traces_find(const struct php_traces *traces, struct remote_memory *memory, uint64_t address,
		    struct php_trace *trace);
/** The address of the instruction at which the exit of that number continues. */
int php_traces_exit(const struct php_traces *traces, struct remote_memory *memory,
		    const struct php_trace *trace, uint32_t number, uint64_t *opline);
/**
 * The same for an exit that another trace has replaced: the last one below number @limit, or below the number of
 * exits.
 */
int php_traces_replaced_exit(const struct php_traces *traces, struct remote_memory *memory,
			     const struct php_trace *trace, uint32_t limit, uint64_t *opline);

#endif
