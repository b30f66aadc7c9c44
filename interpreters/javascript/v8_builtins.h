/* SPDX-License-Identifier: Apache-2.0 */
/**
 * V8's builtins: machine code that is part of the file (the embedded blob), found by the symbols Builtins_* of .symtab.
 * An address may be in the file's mapping or in a second one that V8 makes near its own code. Both are mappings of the
 * file, so an ELF virtual address is enough here. Files without .symtab are refused.
 *
 * Source: snapshot/embedded/embedded-file-writer.cc, builtins/builtins-definitions.h, execution/frames.cc
 * (ComputeBuiltinFrameType) @ V8 9.4 to 14.6.
 */
#ifndef INTERPRETERS_JAVASCRIPT_V8_BUILTINS_H
#define INTERPRETERS_JAVASCRIPT_V8_BUILTINS_H

#include <stdint.h>

#include "ebpf/abi/javascript.h"
#include "lib/elf/elf_image.h"

enum {
	V8_BUILTIN_NAME_BYTES = 128,
	/** The newest V8 has 2,415. */
	V8_BUILTINS_MAX = 1 << 13,
};

struct v8_builtin {
	/** Range in bytes, relative to v8_builtins.start. */
	uint32_t start;
	uint32_t end;
	enum javascript_builtin_class builtin_class;
	/** V8's name: "ArrayMap". */
	const char *name;
};

/** Read-only after init. */
struct v8_builtins {
	/** ELF virtual address of the first builtin. */
	uint64_t start;
	/** Sorted by start. Owned, and so are the names. */
	struct v8_builtin *items;
	uint32_t count;
	char *names;
};

/** -ENOENT: there are no symbols of builtins; other errors as elf_symbols_init(). */
int v8_builtins_init(struct v8_builtins *builtins, const struct elf_image *image);
void v8_builtins_deinit(struct v8_builtins *builtins);

/** The builtin at ELF virtual address @address; NULL: there is none. */
const struct v8_builtin *v8_builtins_find(const struct v8_builtins *builtins, uint64_t address);

/**
 * Makes the name that programs use for the builtin @builtin whose function is named @function: "Array.prototype.map"
 * from "ArrayMap" and "map". The result is @function if the two names do not match, and @builtin if @function is empty.
 * It is cut to fit @capacity bytes.
 */
void v8_builtin_function_name(const char *builtin, const char *function, char *name,
			      size_t capacity);

#endif
