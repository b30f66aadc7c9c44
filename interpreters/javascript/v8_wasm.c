/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/v8_wasm.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "interpreters/javascript/v8_code.h"
#include "lib/base/error.h"

enum {
	/** Offset in a Foreign of its address, and of what the object there points to. */
	FOREIGN_ADDRESS = 8,
	SHARED_POINTER = 24,
	/** Size of a std::map. */
	MAP_BYTES = 48,
	/** Offset in a WasmCode of the address of its instructions; the first word is the address of its NativeModule. */
	CODE_INSTRUCTIONS = 8,
	/** Limit of the newest chunks of code that are searched. */
	NEW_CODE_MAX = 512,
};

static int read_word(const struct v8_heap *heap, uint64_t address, uint64_t *word)
{
	return remote_memory_read(heap->memory, address, word, sizeof(*word));
}

/* Finds the WasmModuleObject of an instance. */
static int find_module(const struct v8_heap *heap, uint64_t instance, uint64_t *module)
{
	const struct v8_layout *layout = heap->layout;
	uint64_t object = instance;
	int err = 0;

	if (layout->wasm_trusted_instance != V8_ABSENT)
		err = v8_field(heap, object, layout->wasm_trusted_instance, &object);
	if (!err)
		err = v8_field(heap, object, layout->wasm_instance_module, &object);
	if (!err)
		err = v8_check_type(heap, &object, layout->type_wasm_module);
	if (!err)
		*module = object;
	return err;
}

/* Finds the NativeModule of a WasmModuleObject. */
static int find_native_module(const struct v8_heap *heap, uint64_t module, uint64_t *native)
{
	uint64_t word = 0;
	int err = v8_field(heap, module, heap->layout->wasm_module_native, &word);

	if (!err)
		err = v8_field(heap, word, FOREIGN_ADDRESS, &word);
	if (!err)
		err = read_word(heap, word + SHARED_POINTER, &word);
	/* The object there is a std::shared_ptr. */
	if (!err)
		err = read_word(heap, word, native);
	return err;
}

/* Reads the index of the function whose WasmCode is at @code; -ENOENT: it is not that of @pc, or no function's. */
static int read_index(const struct v8_heap *heap, uint64_t native, uint64_t code, uint64_t pc,
		      uint32_t *index)
{
	const struct v8_layout *layout = heap->layout;
	uint64_t words[2] = { 0 };
	uint32_t size = 0, found = 0;
	int err = remote_memory_read(heap->memory, code, words, sizeof(words));

	if (!err)
		err = remote_memory_read(heap->memory, code + (uint64_t)layout->wasm_code_size,
					 &size, sizeof(size));
	if (!err)
		err = remote_memory_read(heap->memory, code + (uint64_t)layout->wasm_code_index,
					 &found, sizeof(found));
	if (err)
		return err;
	if (words[0] != native || pc - words[CODE_INSTRUCTIONS / sizeof(words[0])] >= size ||
	    (int32_t)found < 0)
		return fail(-ENOENT, "no code of a function of WebAssembly at %#" PRIx64, pc);
	*index = found;
	return 0;
}

/* Finds the index among code that V8 has not put into the map yet: it does so only when it searches. */
static int find_new(const struct v8_heap *heap, uint64_t native, uint64_t vector, uint64_t pc,
		    uint32_t *index)
{
	uint64_t words[2] = { 0 }, codes[NEW_CODE_MAX], count;
	int err = remote_memory_read(heap->memory, vector, words, sizeof(words));

	if (err)
		return err;
	count = words[1] >= words[0] ? (words[1] - words[0]) / sizeof(codes[0]) : 0;
	if (count > NEW_CODE_MAX)
		count = NEW_CODE_MAX;
	if (count)
		err = remote_memory_read(heap->memory, words[1] - count * sizeof(codes[0]), codes,
					 count * sizeof(codes[0]));
	while (!err && count) {
		err = read_index(heap, native, codes[--count], pc, index);
		if (!err)
			return 0;
		err = err == -ENOENT ? 0 : err;
	}
	return err ? err : fail(-ENOENT, "no code of WebAssembly at %#" PRIx64, pc);
}

static int find_index(const struct v8_heap *heap, uint64_t native, uint64_t pc, uint32_t *index)
{
	const uint64_t map = native + (uint64_t)heap->layout->wasm_code;
	struct v8_map_node node = { 0 };
	int err = v8_map_find(heap, map, pc, &node);

	if (!err)
		err = read_index(heap, native, node.value, pc, index);
	return err == -ENOENT ? find_new(heap, native, map + MAP_BYTES, pc, index) : err;
}

int v8_wasm_find(const struct v8_heap *heap, uint64_t instance, uint64_t pc,
		 struct v8_wasm_function *function)
{
	struct v8_wasm_function found = { 0 };
	uint64_t module = 0, native = 0, pointer = 0, bytes[2] = { 0 };
	int err = find_module(heap, instance, &module);

	if (!err)
		err = find_native_module(heap, module, &native);
	if (!err)
		err = find_index(heap, native, pc, &found.index);
	if (!err)
		err = v8_field(heap, module, heap->layout->wasm_module_script, &found.script);
	if (err)
		return err;
	if (!read_word(heap, native + (uint64_t)heap->layout->wasm_bytes, &pointer) &&
	    !remote_memory_read(heap->memory, pointer, bytes, sizeof(bytes))) {
		found.module = bytes[0];
		found.module_bytes = bytes[1];
	}
	*function = found;
	return 0;
}
