/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The way by which outputs get names of native frames; symbols/ implements it, tests put a fake in.
 * Called by output threads only, never while a stack is taken or converted.
 */
#ifndef LIB_MODEL_SYMBOL_LOOKUP_H
#define LIB_MODEL_SYMBOL_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/model/binary.h"

enum symbol_flag {
	/** Inlined, also where what it is inlined into is not told of. */
	SYMBOL_INLINED = 1 << 0,
	/** Made by a compiler around the function that it calls (enum function_trait). */
	SYMBOL_GENERATED = 1 << 1,
	/** It is no name: the file, and where in it the function begins. */
	SYMBOL_PLACE = 1 << 2,
};

struct symbol {
	/** Borrowed from the lookup, valid until its next call. */
	const char *function;
	/** NULL and 0 where the source line is not known. */
	const char *file;
	uint32_t line;
	/** enum frame_kind of the language whose own table named it: of all symbols of an address, or of none; or 0. */
	uint8_t language;
	/** enum symbol_flag */
	uint8_t flags;
};

/**
 * What a physical function is to the stacks that it stands in: compilers generate functions around others, which
 * languages leave out of what they show, but where another one asks for them (Go's wrappers, of which a panic tells).
 */
enum function_trait {
	/** Its only name is that of a generated one. */
	FUNCTION_IS_GENERATED = 1 << 0,
	/** The first of several names is that of a generated one, inlined. */
	FUNCTION_BEGINS_GENERATED = 1 << 1,
	/** A generated function that calls it is shown. */
	FUNCTION_SHOWS_GENERATED = 1 << 2,
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
	/** enum function_trait of the physical function at @address. May be NULL: none has any. */
	uint32_t (*traits)(struct symbol_lookup *lookup, struct binary *binary, uint64_t address);
	/** No call will come for a while: gives memory back that is quickly had again. May be NULL. */
	void (*rest)(struct symbol_lookup *lookup);
};

struct symbol_lookup {
	const struct symbol_lookup_ops *ops;
};

#endif
