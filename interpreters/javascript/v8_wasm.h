/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finds the function of WebAssembly at an address, by its module's instance, which its frame has. V8 has a C++ object for
 * the code of a module, a NativeModule, with a WasmCode for each chunk of code. Their layouts belong to a version; a WasmCode
 * is used only if it says that it is the NativeModule's and that it has the address.
 *
 * Source: wasm/wasm-objects.tq, wasm/wasm-code-manager.h and .cc (NativeModule::Lookup) @ V8 9.4 to 14.6.
 */
#ifndef INTERPRETERS_JAVASCRIPT_V8_WASM_H
#define INTERPRETERS_JAVASCRIPT_V8_WASM_H

#include "interpreters/javascript/v8_function.h"

/** A function of a module. */
struct v8_wasm_function {
	/** Number of the function in its module. */
	uint32_t index;
	/** Tagged: the module's Script. */
	uint64_t script;
	/** Address and size of the module's bytes; 0 if they were not found. */
	uint64_t module;
	uint64_t module_bytes;
};

/**
 * Finds the function whose code has @pc; @instance: tagged, what a frame of wasm has. -ENOENT: it is code of no function, such as
 * a table of jumps, or unknown; -EBADMSG: @instance is no instance; -E2BIG, -EFAULT, -ESRCH.
 */
int v8_wasm_find(const struct v8_heap *heap, uint64_t instance, uint64_t pc,
		 struct v8_wasm_function *function);

#endif
