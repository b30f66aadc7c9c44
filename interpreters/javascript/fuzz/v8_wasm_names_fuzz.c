/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte 0: whether the rest is the contents of the section with names, or all sections of a module of WebAssembly.
 *
 * covers: v8_wasm_names.c
 */
#include "interpreters/javascript/v8_wasm_names.h"

#include "interpreters/fuzz/check_text.h"
#include "interpreters/javascript/tests/made_wasm.h"

enum {
	MODULE_AT = 64,
	MODULE_MAX_BYTES = 1 << 16,
	HEADER_BYTES = 8,
	NAME_BYTES = 16,
	/* Of its size's number, in front of "\4name". */
	NUMBER_BYTES = 5,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Puts the beginning of the section with names, whose contents have @size bytes; returns its number of bytes. */
static size_t put_section(struct made_heap *made, uint64_t address, size_t size)
{
	uint8_t bytes[1 + NUMBER_BYTES + sizeof("\4name") - 1] = { 0 };

	size += sizeof("\4name") - 1;
	for (int i = 0; i < NUMBER_BYTES; i++)
		bytes[1 + i] =
			(uint8_t)((size >> 7 * i & 0x7f) | (i < NUMBER_BYTES - 1 ? 0x80 : 0));
	memcpy(bytes + 1 + NUMBER_BYTES, "\4name", sizeof("\4name") - 1);
	made_put(made, address, bytes, sizeof(bytes));
	return sizeof(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct remote_memory_ops ops = { .read = made_heap_read };
	static struct made_heap made;
	const uint64_t module = MADE_HEAP_BASE + MODULE_AT;
	struct v8_wasm_names names = { 0 };
	char name[NAME_BYTES];
	size_t bytes = HEADER_BYTES;

	made.memory.ops = &ops;
	if (!size || size > MODULE_MAX_BYTES)
		return 0;
	made_put(&made, module, made_wasm_bytes, bytes);
	if (data[0] & 1)
		bytes += put_section(&made, module + bytes, size - 1);
	made_put(&made, module + bytes, data + 1, size - 1);
	bytes += size - 1;
	/* The bytes behind the module are no part of it. */
	memset(made.bytes + MODULE_AT + bytes, 0xff, 64);
	if (!v8_wasm_names_read(&made.memory, module, bytes, &names)) {
		if (!names.count || names.count > V8_WASM_MAX_FUNCTIONS)
			abort();
		for (uint32_t i = 0; i <= names.count; i++)
			if (!v8_wasm_names_find(&made.memory, &names, i, name, sizeof(name)))
				check_text(name);
	}
	v8_wasm_names_deinit(&names);
	return 0;
}
