/* SPDX-License-Identifier: Apache-2.0 */
/** A module of WebAssembly in a made process, with V8's objects for it: three chunks of code, and names of functions. */
#ifndef INTERPRETERS_JAVASCRIPT_TESTS_MADE_WASM_H
#define INTERPRETERS_JAVASCRIPT_TESTS_MADE_WASM_H

#include "interpreters/javascript/tests/made_heap.h"

enum {
	MADE_WASM_CODE_SIZE = 64,
	MADE_WASM_CODE_BYTES = 128,
	MADE_NATIVE_MODULE_BYTES = 640,
	MADE_INSTANCE_BYTES = 256,
	/** Offsets in a std::map, and in its nodes. */
	MADE_WASM_MAP_ROOT = 16,
	MADE_WASM_MAP_BYTES = 48,
	MADE_WASM_NODE_BYTES = 48,
	MADE_WASM_NODE_KEY = 32,
	MADE_WASM_NODE_RIGHT = 24,
};

/** Function 2 is "add", function 3 has no name, function 5 is "a€b"; a section of another name comes first. */
static const char made_wasm_bytes[] = "\0asm\1\0\0\0"
				      "\1\3\1\x60\0"
				      "\0\7\5nameX "
				      "\0\x1f\4name"
				      "\0\6\5known"
				      "\1\x0d\2\2\3add\5\5a\xe2\x82\xac"
				      "b"
				      "\2\1\0";

struct made_wasm {
	/** Tagged: what a frame has, and the Script. */
	uint64_t instance;
	uint64_t script;
	/** Addresses of the NativeModule, of its module's bytes, and of the code that is in its map, of a table, and new. */
	uint64_t native;
	uint64_t module;
	uint64_t code[3];
};

static inline void made_wasm_put(struct made_heap *made, uint64_t address, uint64_t word)
{
	made_put(made, address, &word, sizeof(word));
}

/** Makes a WasmCode of function @index; returns its address. */
static inline uint64_t made_wasm_code(struct made_heap *made, uint64_t native, uint64_t start,
				      int32_t index)
{
	const uint64_t code = made_room(made, MADE_WASM_CODE_BYTES);

	made_wasm_put(made, code, native);
	made_wasm_put(made, code + 8, start);
	made_int(made, code + V8_TAG, made->layout.wasm_code_size, MADE_WASM_CODE_SIZE);
	made_int(made, code + V8_TAG, made->layout.wasm_code_index, index);
	return code;
}

static inline uint64_t made_wasm_node(struct made_heap *made, uint64_t start, uint64_t code)
{
	const uint64_t node = made_room(made, MADE_WASM_NODE_BYTES);

	made_wasm_put(made, node + MADE_WASM_NODE_KEY, start);
	made_wasm_put(made, node + MADE_WASM_NODE_KEY + 8, code);
	return node;
}

static inline void made_wasm_init(struct made_wasm *wasm, struct made_heap *made)
{
	const struct v8_layout *layout = &made->layout;
	const uint64_t foreign = made_object(made, layout->type_fixed_array, 16);
	const uint64_t owner = made_room(made, 32), pointer = made_room(made, 16);
	const uint64_t bytes = made_room(made, 16), codes = made_room(made, 8);
	const uint64_t object = made_object(made, layout->type_wasm_module, 64);
	uint64_t instance = made_object(made, layout->type_fixed_array, MADE_INSTANCE_BYTES), map;
	uint64_t nodes[2];

	*wasm = (struct made_wasm){ .native = made_room(made, MADE_NATIVE_MODULE_BYTES),
				    .module = made_room(made, sizeof(made_wasm_bytes)) };
	made_put(made, wasm->module, made_wasm_bytes, sizeof(made_wasm_bytes));
	wasm->script =
		made_script(made, made_text(made, ""), made_text(made, "wasm://wasm/known-12ab"));
	made_word(made, wasm->script, layout->script_id, made_smi(9));
	made_word(made, instance, layout->wasm_instance_module, object);
	wasm->instance = instance;
	if (layout->wasm_trusted_instance != V8_ABSENT) {
		wasm->instance = made_object(made, layout->type_fixed_array, MADE_INSTANCE_BYTES);
		made_word(made, wasm->instance, layout->wasm_trusted_instance, instance);
	}
	made_word(made, object, layout->wasm_module_native, foreign);
	made_word(made, object, layout->wasm_module_script, wasm->script);
	made_word(made, foreign, 8, owner);
	made_wasm_put(made, owner + 24, pointer);
	made_wasm_put(made, pointer, wasm->native);
	made_wasm_put(made, wasm->native + (uint64_t)layout->wasm_bytes, bytes);
	made_wasm_put(made, bytes, wasm->module);
	made_wasm_put(made, bytes + 8, sizeof(made_wasm_bytes) - 1);
	for (int i = 0; i < 3; i++)
		wasm->code[i] = made_room(made, MADE_WASM_CODE_SIZE);
	map = wasm->native + (uint64_t)layout->wasm_code;
	for (int i = 0; i < 2; i++)
		nodes[i] = made_wasm_node(made, wasm->code[i],
					  made_wasm_code(made, wasm->native, wasm->code[i],
							 i ? -1 : 2));
	made_wasm_put(made, map + MADE_WASM_MAP_ROOT, nodes[0]);
	made_wasm_put(made, nodes[0] + MADE_WASM_NODE_RIGHT, nodes[1]);
	made_wasm_put(made, codes, made_wasm_code(made, wasm->native, wasm->code[2], 3));
	made_wasm_put(made, map + MADE_WASM_MAP_BYTES, codes);
	made_wasm_put(made, map + MADE_WASM_MAP_BYTES + 8, codes + 8);
}

#endif
