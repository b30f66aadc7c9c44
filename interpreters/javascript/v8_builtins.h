/* SPDX-License-Identifier: Apache-2.0 */
/**
 * V8's builtins: machine code that is part of the file (the embedded blob), by the symbols Builtins_* of .symtab. An
 * address may lie in the file's mapping or in a second one that V8 makes near its own code; both are mappings of the
 * file, so an ELF virtual address is all that is needed here. Files without .symtab are refused.
 *
 * Source: snapshot/embedded/embedded-file-writer.cc, builtins/builtins-definitions.h, execution/frames.cc
 * (ComputeBuiltinFrameType) @ V8 9.4 to 14.6.
 */
#ifndef INTERPRETERS_JAVASCRIPT_V8_BUILTINS_H
#define INTERPRETERS_JAVASCRIPT_V8_BUILTINS_H

#include <stdbool.h>

#include "agent/host/elf_symbols.h"

enum { V8_BUILTIN_NAME_BYTES = 128 };

/** Owned by one thread; the image is borrowed for its life. */
struct v8_builtins {
	const struct elf_image *image;
	struct elf_symbols symbols;
};

struct v8_builtin {
	/** As V8 has it: "ArrayMap". */
	char name[V8_BUILTIN_NAME_BYTES];
	/** A frame of it with a context is that of an interpreted function. */
	bool is_interpreter;
	/** Its frame is never a function's, though it has a context: the way from JavaScript to wasm. */
	bool is_wasm_wrapper;
};

/** -ENOENT: no symbols; or as elf_symbols_init() says. */
int v8_builtins_init(struct v8_builtins *builtins, const struct elf_image *image);
void v8_builtins_deinit(struct v8_builtins *builtins);

/** The builtin at ELF virtual @address; -ENOENT: there is none. */
int v8_builtins_find(const struct v8_builtins *builtins, uint64_t address,
		     struct v8_builtin *builtin);

/**
 * What a program calls the function named @function that is the builtin @builtin: "Array.prototype.map" of "ArrayMap"
 * and "map". @function where the two do not fit together, and @builtin without one. Cut to fit @capacity bytes.
 */
void v8_builtin_function_name(const char *builtin, const char *function, char *name,
			      size_t capacity);

#endif
