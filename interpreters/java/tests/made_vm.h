/* SPDX-License-Identifier: Apache-2.0 */
/** The memory of a process with HotSpot's tables, made by a test. */
#ifndef INTERPRETERS_JAVA_TESTS_MADE_VM_H
#define INTERPRETERS_JAVA_TESTS_MADE_VM_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "interpreters/java/vm_structs.h"
#include "lib/host/remote_memory.h"

enum {
	MADE_VM_BYTES = 1 << 16,
	MADE_VM_BASE = 0x7000000,
	/** Address of a symbol in the process minus its ELF virtual address. */
	MADE_VM_BIAS = 0x1000000,
	MADE_FIELD_STRIDE = 48,
	MADE_TYPE_STRIDE = 40,
	MADE_CONSTANT_STRIDE = 16,
	/** Offsets of the parts of the memory; the entries of a table begin at its offset. */
	MADE_FIELDS_AT = 0x1000,
	MADE_TYPES_AT = 0x4000,
	MADE_CONSTANTS_AT = 0x5000,
	MADE_STRINGS_AT = 0x6000,
};

struct made_vm {
	struct remote_memory memory;
	/** Memory from MADE_VM_BASE on; other reads fail. */
	uint8_t bytes[MADE_VM_BYTES];
	struct vm_symbols symbols;
	uint32_t strings_end;
	uint32_t field_count;
	uint32_t type_count;
	uint32_t constant_count;
	uint32_t reads;
};

static inline int made_vm_read(struct remote_memory *memory, uint64_t address, void *buffer,
			       size_t bytes)
{
	struct made_vm *vm = (struct made_vm *)memory;

	vm->reads++;
	if (address < MADE_VM_BASE || address - MADE_VM_BASE > MADE_VM_BYTES ||
	    bytes > MADE_VM_BYTES - (address - MADE_VM_BASE))
		return -EFAULT;
	memcpy(buffer, vm->bytes + (address - MADE_VM_BASE), bytes);
	return 0;
}

static inline void made_vm_put(struct made_vm *vm, uint32_t offset, uint64_t value, size_t bytes)
{
	memcpy(vm->bytes + offset, &value, bytes);
}

static inline uint64_t made_vm_string(struct made_vm *vm, const char *text)
{
	uint64_t address = MADE_VM_BASE + vm->strings_end;

	strcpy((char *)vm->bytes + vm->strings_end, text);
	vm->strings_end += strlen(text) + 1;
	return address;
}

/** Sets the word of a symbol. */
static inline void made_vm_set_symbol(struct made_vm *vm, enum vm_symbol symbol, uint64_t value)
{
	made_vm_put(vm, 8 * symbol, value, 8);
}

static inline void made_vm_init(struct made_vm *vm)
{
	static const struct remote_memory_ops ops = { .read = made_vm_read };
	static const uint64_t values[VM_SYMBOL_COUNT] = {
		[VM_STRUCTS] = MADE_VM_BASE + MADE_FIELDS_AT,
		[VM_STRUCT_FIELD_NAME] = 8,
		[VM_STRUCT_TYPE_STRING] = 16,
		[VM_STRUCT_IS_STATIC] = 24,
		[VM_STRUCT_OFFSET] = 32,
		[VM_STRUCT_ADDRESS] = 40,
		[VM_STRUCT_STRIDE] = MADE_FIELD_STRIDE,
		[VM_TYPES] = MADE_VM_BASE + MADE_TYPES_AT,
		[VM_TYPE_SIZE] = 32,
		[VM_TYPE_STRIDE] = MADE_TYPE_STRIDE,
		[VM_INT_CONSTANTS] = MADE_VM_BASE + MADE_CONSTANTS_AT,
		[VM_INT_CONSTANT_VALUE] = 8,
		[VM_INT_CONSTANT_STRIDE] = MADE_CONSTANT_STRIDE,
	};

	memset(vm, 0, sizeof(*vm));
	vm->memory.ops = &ops;
	vm->strings_end = MADE_STRINGS_AT;
	for (int i = 0; i < VM_SYMBOL_COUNT; i++) {
		vm->symbols.addresses[i] = MADE_VM_BASE - MADE_VM_BIAS + 8 * i;
		made_vm_set_symbol(vm, i, values[i]);
	}
}

/** @value: an offset, or an address if @is_static. */
static inline void made_vm_add_field(struct made_vm *vm, const char *type, const char *name,
				     const char *type_string, bool is_static, uint64_t value)
{
	uint32_t entry = MADE_FIELDS_AT + MADE_FIELD_STRIDE * vm->field_count++;

	made_vm_put(vm, entry, made_vm_string(vm, type), 8);
	made_vm_put(vm, entry + 8, made_vm_string(vm, name), 8);
	made_vm_put(vm, entry + 16, type_string ? made_vm_string(vm, type_string) : 0, 8);
	made_vm_put(vm, entry + 24, is_static, 4);
	made_vm_put(vm, entry + (is_static ? 40 : 32), value, 8);
}

static inline void made_vm_add_type(struct made_vm *vm, const char *type, uint64_t size)
{
	uint32_t entry = MADE_TYPES_AT + MADE_TYPE_STRIDE * vm->type_count++;

	made_vm_put(vm, entry, made_vm_string(vm, type), 8);
	made_vm_put(vm, entry + 32, size, 8);
}

static inline void made_vm_add_constant(struct made_vm *vm, const char *name, int32_t value)
{
	uint32_t entry = MADE_CONSTANTS_AT + MADE_CONSTANT_STRIDE * vm->constant_count++;

	made_vm_put(vm, entry, made_vm_string(vm, name), 8);
	made_vm_put(vm, entry + 8, (uint32_t)value, 4);
}

#endif
