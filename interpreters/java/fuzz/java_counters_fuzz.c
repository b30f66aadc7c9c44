/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JVM's counters in hostile memory: a counter that is found lies in the memory that the table says it uses.
 *
 * covers: java_counters.c
 */
#include "interpreters/java/java_counters.h"

#include <assert.h>

#include "interpreters/java/tests/made_vm.h"
#include "lib/base/fuzz/edit_bytes.h"

enum {
	POINTER_AT = 0x100,
	START_AT = 0x200,
	PROLOGUE_BYTES = 32,
	ENTRY_BYTES = 64,
	NAME_AT = 20,
	DATA_AT = 56,
	ENTRIES = 3,
	USED_BYTES = PROLOGUE_BYTES + ENTRIES * ENTRY_BYTES,
	/* As in java_counters.c. */
	MAX_BYTES = 256 << 10,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[ENTRIES] = { "java.cls.unloadedClasses", "a", "sun.rt.safepoints" };

static void put_table(struct made_vm *vm)
{
	made_vm_put(vm, POINTER_AT, MADE_VM_BASE + START_AT, 8);
	made_vm_put(vm, START_AT, 0xc0c0feca, 4);
	made_vm_put(vm, START_AT + 4, 1, 1);
	made_vm_put(vm, START_AT + 8, USED_BYTES, 4);
	made_vm_put(vm, START_AT + 24, PROLOGUE_BYTES, 4);
	for (uint32_t i = 0; i < ENTRIES; i++) {
		uint32_t at = START_AT + PROLOGUE_BYTES + i * ENTRY_BYTES;

		made_vm_put(vm, at, ENTRY_BYTES, 4);
		made_vm_put(vm, at + 4, NAME_AT, 4);
		made_vm_put(vm, at + 12, 'J', 1);
		made_vm_put(vm, at + 16, DATA_AT, 4);
		memcpy(vm->bytes + at + NAME_AT, names[i], strlen(names[i]) + 1);
	}
}

/* The pointer, and the table's bytes, which follow it. */
static void look_up(struct made_vm *vm)
{
	const struct java_layout layout = { .counters = MADE_VM_BASE + POINTER_AT };
	uint64_t start, address;

	memcpy(&start, vm->bytes + POINTER_AT, sizeof(start));
	for (uint32_t i = 0; i < ENTRIES; i++) {
		if (java_counter_find(&layout, &vm->memory, names[i], &address) || !address)
			continue;
		assert(address - start <= MAX_BYTES - 8);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct made_vm vm;
	struct byte_reader reader;
	size_t bytes;

	made_vm_init(&vm);
	put_table(&vm);
	look_up(&vm);
	byte_reader_init(&reader, data, size);
	if (byte_reader_u8(&reader) % 4) {
		edit_bytes(&reader, vm.bytes + START_AT, USED_BYTES);
	} else {
		edit_bytes(&reader, vm.bytes + POINTER_AT, 8);
		bytes = byte_reader_left(&reader);
		if (bytes > MADE_VM_BYTES - START_AT)
			bytes = MADE_VM_BYTES - START_AT;
		if (bytes)
			memcpy(vm.bytes + START_AT, reader.position, bytes);
	}
	look_up(&vm);
	return 0;
}
