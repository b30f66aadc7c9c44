/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The way by which outputs get names of native frames; symbols/ implements it, tests put a fake in.
 * Called by output threads only, never while a stack is taken or converted.
 */
#ifndef AGENT_BASE_SYMBOL_LOOKUP_H
#define AGENT_BASE_SYMBOL_LOOKUP_H

#include <stdint.h>

#include "agent/base/binary.h"

struct symbol {
	/** Borrowed from the lookup, valid until it is destroyed. */
	const char *function;
	/** NULL and 0 where the source line is not known. */
	const char *file;
	uint32_t line;
};

struct symbol_lookup;

struct symbol_lookup_ops {
	/**
	 * Fills at most @capacity symbols for ELF virtual address @address, innermost inlined
	 * function first, the physical function last. Returns their number, 0 if there is no name.
	 */
	uint32_t (*resolve)(struct symbol_lookup *lookup, struct binary *binary, uint64_t address,
			    struct symbol *symbols, uint32_t capacity);
};

struct symbol_lookup {
	const struct symbol_lookup_ops *ops;
};

#endif
