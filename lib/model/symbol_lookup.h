/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The interface by which outputs look up names of native frames; symbols/ implements it, tests use a fake. Only
 * output threads call it, never while a stack is taken or converted.
 */
#ifndef LIB_MODEL_SYMBOL_LOOKUP_H
#define LIB_MODEL_SYMBOL_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/model/binary.h"

enum symbol_flag {
	/** The function is inlined; the function that it is inlined into may be missing. */
	SYMBOL_INLINED = 1 << 0,
	/** The compiler generated this function around the one that it calls (enum function_trait). */
	SYMBOL_GENERATED = 1 << 1,
	/** The text is no name but the file, with the location at which the function begins. */
	SYMBOL_LOCATION = 1 << 2,
};

struct symbol {
	/** Borrowed from the lookup; valid until the next call. */
	const char *function;
	/** The name as linkers know it, if @function is made of one; else NULL. */
	const char *linkage_name;
	/** NULL and 0 where the source line is not known. */
	const char *file;
	uint32_t line;
	/** First line of the function; 0 if it is not known. */
	uint32_t start_line;
	/**
	 * enum frame_kind of the language whose own table gave the name, or 0. It is set for all symbols of an
	 * address or for none.
	 */
	uint8_t language;
	/** enum symbol_flag */
	uint8_t flags;
};

/**
 * Traits by which a language decides whether a generated function is shown. Compilers generate functions around
 * others. Languages leave these out of the stacks that they print, unless another function needs them (Go
 * prints wrappers below a panic).
 */
enum function_trait {
	/** The only name at its address is a generated function's. */
	FUNCTION_IS_GENERATED = 1 << 0,
	/** The first of several names is an inlined generated function's. */
	FUNCTION_BEGINS_GENERATED = 1 << 1,
	/** A generated function that calls it is shown. */
	FUNCTION_SHOWS_GENERATED = 1 << 2,
};

struct symbol_lookup;

/** Called by one thread at a time. */
struct symbol_lookup_ops {
	/**
	 * Fills at most @capacity symbols for ELF virtual address @address, innermost inlined
	 * function first, the physical function last. Returns their number, 0 if there is no name.
	 */
	uint32_t (*resolve)(struct symbol_lookup *lookup, struct binary *binary, uint64_t address,
			    struct symbol *symbols, uint32_t capacity);
	/**
	 * Returns enum function_trait of the physical function at @address. May be NULL: no function has
	 * traits.
	 */
	uint32_t (*traits)(struct symbol_lookup *lookup, struct binary *binary, uint64_t address);
	/** Called when no lookup will come for a while: frees memory that is quickly filled again. May be NULL. */
	void (*rest)(struct symbol_lookup *lookup);
};

struct symbol_lookup {
	const struct symbol_lookup_ops *ops;
};

#endif
