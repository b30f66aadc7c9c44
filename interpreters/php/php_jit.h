/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The line of an address in code that PHP's JIT has generated. The JIT keeps no map from its code to instructions. But
 * the code itself has their addresses: it stores one in the execute_data before calls that may read it, and where a check
 * fails, it continues with an instruction, by an exit of the trace (php_traces.h) or in code of its own. So around an address
 * there are points whose instruction is known. An address between two of them executes one of the instructions between. If
 * all of them are on one line, that line is certain; else the line of the next point is taken, and is marked.
 *
 * All code and tables are hostile: a wrong line is the worst that can come of them.
 */
#ifndef INTERPRETERS_PHP_PHP_JIT_H
#define INTERPRETERS_PHP_PHP_JIT_H

#include "interpreters/language.h"
#include "interpreters/php/php_traces.h"

/** State for one process; one thread at a time uses it. */
struct php_jit {
	const struct php_layout *layout;
	struct php_traces traces;
};

/** Borrows the layout, which is static. */
void php_jit_init(struct php_jit *jit, const struct php_layout *layout);

/** Sets the line of @frame, and whether it is approximate, if the code at the address in the third word shows them. */
void php_jit_improve(struct php_jit *jit, struct remote_memory *memory, const uint64_t *words,
		     struct interpreted_frame *frame);

#endif
