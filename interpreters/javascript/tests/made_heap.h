/* SPDX-License-Identifier: Apache-2.0 */
/** The memory of a process with V8's objects, made by a test. */
#ifndef INTERPRETERS_JAVASCRIPT_TESTS_MADE_HEAP_H
#define INTERPRETERS_JAVASCRIPT_TESTS_MADE_HEAP_H

#include <errno.h>

#include "interpreters/javascript/tests/made_node.h"
#include "interpreters/javascript/v8_heap.h"

enum {
	/** Two code pages of V8 up to 11.3. */
	MADE_HEAP_BYTES = 1 << 19,
	MADE_HEAP_BASE = 0x40000000,
	/** Offset from which code is put. */
	MADE_HEAP_CODE_AT = 1 << 18,
	MADE_HEAP_MAPS = 64,
	MADE_MAP_BYTES = 80,
};

struct made_heap {
	struct remote_memory memory;
	struct v8_layout layout;
	struct v8_heap heap;
	/** Memory from MADE_HEAP_BASE on; other reads fail. */
	uint8_t bytes[MADE_HEAP_BYTES];
	uint32_t used;
	/** Tagged Maps, and their instance types. */
	uint64_t maps[MADE_HEAP_MAPS];
	int32_t map_types[MADE_HEAP_MAPS];
	uint32_t map_count;
};

static inline int made_heap_read(struct remote_memory *memory, uint64_t address, void *buffer,
				 size_t bytes)
{
	struct made_heap *made = (struct made_heap *)memory;

	if (address < MADE_HEAP_BASE || address - MADE_HEAP_BASE > MADE_HEAP_BYTES ||
	    bytes > MADE_HEAP_BYTES - (address - MADE_HEAP_BASE))
		return -EFAULT;
	memcpy(buffer, made->bytes + (address - MADE_HEAP_BASE), bytes);
	return 0;
}

static inline void made_heap_init(struct made_heap *made, enum v8_line line)
{
	static const struct remote_memory_ops ops = { .read = made_heap_read };

	memset(made, 0, sizeof(*made));
	made->memory.ops = &ops;
	made->layout = made_layout(line);
	made->heap = (struct v8_heap){ .layout = &made->layout, .memory = &made->memory };
	made->used = 64;
}

static inline void made_put(struct made_heap *made, uint64_t address, const void *bytes,
			    size_t count)
{
	if (address < MADE_HEAP_BASE || address - MADE_HEAP_BASE + count > MADE_HEAP_BYTES)
		abort();
	memcpy(made->bytes + (address - MADE_HEAP_BASE), bytes, count);
}

/** Writes a field of the object at tagged @object, if the layout has the field. */
static inline void made_word(struct made_heap *made, uint64_t object, int32_t offset, uint64_t word)
{
	if (offset != V8_ABSENT)
		made_put(made, object - V8_TAG + (uint64_t)offset, &word, sizeof(word));
}

static inline void made_int(struct made_heap *made, uint64_t object, int32_t offset, int32_t value)
{
	made_put(made, object - V8_TAG + (uint64_t)offset, &value, sizeof(value));
}

static inline uint64_t made_smi(int32_t value)
{
	return (uint64_t)(uint32_t)value << V8_SMI_SHIFT;
}

/** Allocates zeroed memory; the address is untagged. */
static inline uint64_t made_room(struct made_heap *made, size_t bytes)
{
	uint64_t address = MADE_HEAP_BASE + made->used;

	made->used += (uint32_t)((bytes + 7) / 8 * 8);
	if (made->used > MADE_HEAP_CODE_AT)
		abort();
	return address;
}

static inline uint64_t made_map(struct made_heap *made, int32_t type)
{
	const uint16_t number = (uint16_t)type;
	uint32_t i = 0;

	while (i < made->map_count && made->map_types[i] != type)
		i++;
	if (i == MADE_HEAP_MAPS || type < 0 || type > UINT16_MAX)
		abort();
	if (i == made->map_count) {
		made->map_count++;
		made->map_types[i] = type;
		made->maps[i] = made_room(made, MADE_MAP_BYTES) + V8_TAG;
		made_put(made, made->maps[i] - V8_TAG + made->layout.map_instance_type, &number,
			 sizeof(number));
	}
	return made->maps[i];
}

/** Makes an object of @type with @bytes bytes; returns it tagged. */
static inline uint64_t made_object(struct made_heap *made, int32_t type, size_t bytes)
{
	uint64_t map = made_map(made, type);
	uint64_t object = made_room(made, bytes) + V8_TAG;

	made_word(made, object, 0, map);
	return object;
}

/** Makes a sequential string of @count characters, one or two bytes each. */
static inline uint64_t made_string(struct made_heap *made, const void *characters, uint32_t count,
				   bool is_one_byte)
{
	const size_t bytes = (size_t)count * (is_one_byte ? 1 : 2);
	uint64_t string = made_object(made, is_one_byte ? V8_STRING_ONE_BYTE : 0, 16 + bytes);

	made_int(made, string, made->layout.string_length, (int32_t)count);
	made_put(made, string - V8_TAG + 16, characters, bytes);
	return string;
}

static inline uint64_t made_text(struct made_heap *made, const char *text)
{
	return made_string(made, text, (uint32_t)strlen(text), true);
}

static inline uint64_t made_cons(struct made_heap *made, uint64_t first, uint64_t second,
				 int32_t length)
{
	uint64_t string = made_object(made, V8_STRING_CONS | V8_STRING_ONE_BYTE, 32);

	made_int(made, string, made->layout.string_length, length);
	made_word(made, string, made->layout.cons_first, first);
	made_word(made, string, made->layout.cons_second, second);
	return string;
}

/** Makes a ByteArray, or a TrustedByteArray if the version has them. */
static inline uint64_t made_bytes(struct made_heap *made, const void *bytes, size_t count)
{
	const struct v8_layout *layout = &made->layout;
	const int32_t type = layout->type_trusted_byte_array != V8_ABSENT ?
				     layout->type_trusted_byte_array :
				     layout->type_byte_array;
	uint64_t array = made_object(made, type, 16 + count);

	made_word(made, array, layout->array_length, made_smi((int32_t)count));
	made_put(made, array - V8_TAG + 16, bytes, count);
	return array;
}

/** Makes a FixedArray of @count words. */
static inline uint64_t made_array(struct made_heap *made, const uint64_t *words, size_t count)
{
	uint64_t array = made_object(made, made->layout.type_fixed_array, 16 + count * 8);

	made_word(made, array, made->layout.array_length, made_smi((int32_t)count));
	made_put(made, array - V8_TAG + 16, words, count * 8);
	return array;
}

/** Makes a Script with the tagged strings @source and @name. */
static inline uint64_t made_script(struct made_heap *made, uint64_t source, uint64_t name)
{
	uint64_t script = made_object(made, made->layout.type_script, 128);

	made_word(made, script, made->layout.script_source, source);
	made_word(made, script, made->layout.script_name, name);
	return script;
}

/** Makes a SharedFunctionInfo with a name or a scope, and a script. */
static inline uint64_t made_shared(struct made_heap *made, uint64_t name, uint64_t script)
{
	uint64_t shared = made_object(made, made->layout.type_shared, 72);

	made_word(made, shared, made->layout.shared_name, name);
	made_word(made, shared, made->layout.shared_script, script);
	return shared;
}

static inline uint64_t made_function(struct made_heap *made, uint64_t shared)
{
	uint64_t function = made_object(made, made->layout.type_function, 64);

	made_word(made, function, made->layout.function_shared, shared);
	return function;
}

/** Makes a BytecodeArray of @count bytes with a table of positions. */
static inline uint64_t made_bytecodes(struct made_heap *made, const uint8_t *bytes, size_t count,
				      uint64_t positions)
{
	const struct v8_layout *layout = &made->layout;
	uint64_t array = made_object(made, layout->type_bytecodes, layout->bytecodes_data + count);

	made_word(made, array, layout->bytecodes_length, made_smi((int32_t)count));
	made_word(made, array, layout->bytecodes_positions, positions);
	made_put(made, array - V8_TAG + (uint64_t)layout->bytecodes_data, bytes, count);
	return array;
}

#endif
