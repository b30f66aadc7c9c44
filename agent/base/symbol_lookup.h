/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The way by which outputs get names of native frames; symbols/ implements it, tests put a fake in.
 * Called by output threads only, never while a stack is taken or converted.
 */
#ifndef AGENT_BASE_SYMBOL_LOOKUP_H
#define AGENT_BASE_SYMBOL_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/binary.h"

struct symbol {
	/** Borrowed from the lookup, valid until its next call. */
	const char *function;
	/** NULL and 0 where the source line is not known. */
	const char *file;
	uint32_t line;
	/** Named by Go's own table: all symbols of an address are, or none. */
	bool is_go;
	/** Inlined, also where what it is inlined into is not told of. */
	bool is_inlined;
	/** Made by Go's compiler around the function that it calls: Go shows it only in panics. */
	bool is_wrapper;
	/** It is no name: the file, and where in it the function begins. */
	bool is_place;
};

/** What a function is to the stacks that it stands in. */
enum symbol_part {
	SYMBOL_ORDINARY,
	/** Its only name is that of a wrapper. */
	SYMBOL_WRAPPER,
	/** The first of several names is that of a wrapper, inlined. */
	SYMBOL_IN_WRAPPER,
	/** Begins a panic in Go: a wrapper that calls it is shown. */
	SYMBOL_PANIC,
};

struct symbol_lookup;

/** To be called by one thread at a time. */
struct symbol_lookup_ops {
	/**
	 * Fills at most @capacity symbols for ELF virtual address @address, innermost inlined
	 * function first, the physical function last. Returns their number, 0 if there is no name.
	 */
	uint32_t (*resolve)(struct symbol_lookup *lookup, struct binary *binary, uint64_t address,
			    struct symbol *symbols, uint32_t capacity);
	/**
	 * What the physical function at @address is. May be NULL: all are ordinary.
	 */
	enum symbol_part (*part)(struct symbol_lookup *lookup, struct binary *binary,
				 uint64_t address);
	/** No call will come for a while: gives memory back that is quickly had again. May be NULL. */
	void (*rest)(struct symbol_lookup *lookup);
};

struct symbol_lookup {
	const struct symbol_lookup_ops *ops;
};

#endif
