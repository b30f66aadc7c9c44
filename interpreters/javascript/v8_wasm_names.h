/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names of a WebAssembly module's functions, from the section `name` of its bytes, which V8 keeps in the memory of the
 * process. Every byte is hostile.
 *
 * Source: https://webassembly.github.io/spec/core/binary/modules.html, and appendix "Custom Sections" there.
 */
#ifndef INTERPRETERS_JAVASCRIPT_V8_WASM_NAMES_H
#define INTERPRETERS_JAVASCRIPT_V8_WASM_NAMES_H

#include <stdint.h>

#include "lib/host/remote_memory.h"

enum {
	/** V8's limit (wasm/wasm-limits.h). */
	V8_WASM_MAX_FUNCTIONS = 1000000,
	/** Larger modules have no names. */
	V8_WASM_MAX_MODULE_BYTES = 1 << 30,
	/** Limit of the part of the section that is read. */
	V8_WASM_MAX_NAMES_BYTES = 16 << 20,
	V8_WASM_MAX_SECTIONS = 1000,
};

/** Where the names of one module's functions are. */
struct v8_wasm_names {
	/** Address of the module's first byte. */
	uint64_t module;
	/** For each function, the offset in the module of its name; 0: it has none. Owned. */
	uint32_t *offsets;
	uint32_t count;
};

/**
 * Finds the names in the module of @bytes bytes at @module. -ENOENT: it has none; -EBADMSG: it is no module, or is malformed
 * before its names; -E2BIG over a limit; -ENOMEM, -EFAULT, -ESRCH. Names behind a malformed one are missing.
 */
int v8_wasm_names_read(struct remote_memory *memory, uint64_t module, uint64_t bytes,
		       struct v8_wasm_names *names);
void v8_wasm_names_deinit(struct v8_wasm_names *names);

/**
 * Reads the name of function @index, cut to fit @capacity bytes with its NUL. -ENOENT: it has none; -EBADMSG, -EFAULT,
 * -ESRCH.
 */
int v8_wasm_names_find(struct remote_memory *memory, const struct v8_wasm_names *names,
		       uint32_t index, char *name, size_t capacity);

#endif
