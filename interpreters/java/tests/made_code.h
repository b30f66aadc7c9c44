/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A code cache made by a test: one heap, a block in it, and a layout of its own, in which the fields of an
 * object follow one another.
 */
#ifndef INTERPRETERS_JAVA_TESTS_MADE_CODE_H
#define INTERPRETERS_JAVA_TESTS_MADE_CODE_H

#include "interpreters/java/java_layout.h"
#include "interpreters/java/tests/made_vm.h"

enum {
	/** Offsets in the made memory. */
	MADE_STATICS_AT = 0x100,
	MADE_ARRAY_AT = 0x140,
	MADE_ARRAY_DATA_AT = 0x180,
	MADE_HEAP_AT = 0x200,
	MADE_QUEUE_AT = 0x280,
	MADE_MAP_AT = 0x800,
	MADE_CODE_AT = 0x4000,
	MADE_CODE_BYTES = 0x8000,
	MADE_LOG2_SEGMENT_SIZE = 6,
	/** Parts of the block: header, blob, code. */
	MADE_BLOCK_SEGMENT = 16,
	MADE_BLOCK_BYTES = 16,
	MADE_BLOB_AT =
		MADE_CODE_AT + (MADE_BLOCK_SEGMENT << MADE_LOG2_SEGMENT_SIZE) + MADE_BLOCK_BYTES,
	MADE_BLOB_HEADER_BYTES = 0x80,
	MADE_BLOB_CODE = 0xa0,
	MADE_BLOB_DATA = 0x400,
	MADE_BLOB_BYTES = 0x500,
	/** Offsets in the blob at which tests put its debug information. */
	MADE_METADATA = 0x400,
	MADE_SCOPES = 0x440,
	MADE_RECORDS = 0x480,
	/** Offset from the beginning of the code. */
	MADE_INTERPRETER = 0x4000,
	MADE_INTERPRETER_BYTES = 0x1000,
};

static inline struct java_layout made_code_layout(void)
{
	return (struct java_layout){
		.version = 11,
		.heaps = MADE_VM_BASE + MADE_STATICS_AT,
		.call_stub_return_address = MADE_VM_BASE + MADE_STATICS_AT + 8,
		.interpreter_code = MADE_VM_BASE + MADE_STATICS_AT + 16,
		.vm_info = MADE_VM_BASE + MADE_STATICS_AT + 24,
		.queue_buffer = { 0, 8 },
		.queue_buffer_limit = { 8, 4 },
		.array_length = { 0, 4 },
		.array_data = { 8, 8 },
		.heap_memory = { 0, 0 },
		.heap_segment_map = { 32, 0 },
		.heap_log2_segment_size = { 64, 4 },
		.space_low = { 0, 8 },
		.space_high = { 8, 8 },
		.space_low_boundary = { 16, 8 },
		.space_high_boundary = { 24, 8 },
		.block_used = { 8, 1 },
		.block_bytes = MADE_BLOCK_BYTES,
		.blob_name = { 0, 8 },
		.blob_size = { 8, 4 },
		.blob_header_size = { 12, 2 },
		.blob_frame_size = { 16, 4 },
		.blob_frame_complete = { 20, 2 },
		.blob_data_offset = { 24, 4 },
		.blob_code_begin = { JAVA_NO_FIELD, 0 },
		.blob_code_offset = { 28, 4 },
		.blob_oop_maps = { 56, 8 },
		.oop_map_count = { 0, 4 },
		.nmethod_bytes = MADE_BLOB_HEADER_BYTES,
		.nmethod_method = { 32, 8 },
		.nmethod_compile_id = { 40, 4 },
		.nmethod_comp_level = { 44, 1 },
		.nmethod_state = { 45, 1 },
		.nmethod_entry_bci = { 48, 4 },
		.nmethod_deopt_handler = { JAVA_NO_FIELD, 0 },
		.nmethod_deopt_mh_handler = { JAVA_NO_FIELD, 0 },
		.nmethod_original_pc = { JAVA_NO_FIELD, 0 },
		.nmethod_scopes_pcs = { 64, 4 },
		.nmethod_scopes_pcs_end = { 68, 4 },
		.nmethod_scopes_data = { 72, 4 },
		.nmethod_immutable_data = { JAVA_NO_FIELD, 0 },
		.nmethod_metadata = { 76, 4 },
		.blob_mutable_data = { JAVA_NO_FIELD, 0 },
		.blob_relocation_size = { JAVA_NO_FIELD, 0 },
		.pc_desc_bytes = 16,
		.pc_desc_offset = { 0, 4 },
		.pc_desc_scope = { 4, 4 },
		.method_const_method = { 8, 8 },
		.const_method_bytes = 48,
		.const_method_constants = { 8, 8 },
		.const_method_code_size = { 16, 2 },
		.const_method_name = { 18, 2 },
		.const_method_signature = { 20, 2 },
		.const_method_size = { 24, 4 },
		.const_method_flags = { 28, 2 },
		.has_lines_flag = 1,
		.constant_pool_source_file = { 20, 2 },
		.klass_source_file = { JAVA_NO_FIELD, 0 },
		.constant_pool_bytes = 24,
		.constant_pool_holder = { 8, 8 },
		.constant_pool_length = { 16, 4 },
		.constant_pool_version = { 0, 4 },
		.klass_name = { 16, 8 },
		.symbol_length = { 4, 2 },
		.symbol_body = { 6, 0 },
	};
}

/** Sets the entry of segment @segment in the map. */
static inline void made_code_set_segment(struct made_vm *vm, uint32_t segment, uint8_t value)
{
	vm->bytes[MADE_MAP_AT + segment] = value;
}

/** Memory with a code cache as the layout says, and a compiled method in it. */
static inline void made_code_init(struct made_vm *vm)
{
	const uint32_t blob = MADE_BLOB_AT;

	made_vm_init(vm);
	made_vm_put(vm, MADE_STATICS_AT, MADE_VM_BASE + MADE_ARRAY_AT, 8);
	made_vm_put(vm, MADE_STATICS_AT + 8, MADE_VM_BASE + MADE_CODE_AT, 8);
	made_vm_put(vm, MADE_STATICS_AT + 16, MADE_VM_BASE + MADE_QUEUE_AT, 8);
	made_vm_put(vm, MADE_STATICS_AT + 24,
		    made_vm_string(vm, "OpenJDK 64-Bit Server VM (11) for linux-amd64"), 8);
	made_vm_put(vm, MADE_QUEUE_AT, MADE_VM_BASE + MADE_CODE_AT + MADE_INTERPRETER, 8);
	made_vm_put(vm, MADE_QUEUE_AT + 8, MADE_INTERPRETER_BYTES, 4);
	made_vm_put(vm, MADE_ARRAY_AT, 1, 4);
	made_vm_put(vm, MADE_ARRAY_AT + 8, MADE_VM_BASE + MADE_ARRAY_DATA_AT, 8);
	made_vm_put(vm, MADE_ARRAY_DATA_AT, MADE_VM_BASE + MADE_HEAP_AT, 8);
	made_vm_put(vm, MADE_HEAP_AT, MADE_VM_BASE + MADE_CODE_AT, 8);
	made_vm_put(vm, MADE_HEAP_AT + 24, MADE_VM_BASE + MADE_CODE_AT + MADE_CODE_BYTES, 8);
	made_vm_put(vm, MADE_HEAP_AT + 32, MADE_VM_BASE + MADE_MAP_AT, 8);
	made_vm_put(vm, MADE_HEAP_AT + 64, MADE_LOG2_SEGMENT_SIZE, 4);
	memset(vm->bytes + MADE_MAP_AT, 0xff, MADE_CODE_BYTES >> MADE_LOG2_SEGMENT_SIZE);
	for (uint32_t i = 0; i <= MADE_BLOB_BYTES >> MADE_LOG2_SEGMENT_SIZE; i++)
		made_code_set_segment(vm, MADE_BLOCK_SEGMENT + i, (uint8_t)i);
	made_vm_put(vm, blob - MADE_BLOCK_BYTES + 8, 1, 1);
	made_vm_put(vm, blob, made_vm_string(vm, "nmethod"), 8);
	made_vm_put(vm, blob + 8, MADE_BLOB_BYTES, 4);
	made_vm_put(vm, blob + 12, MADE_BLOB_HEADER_BYTES, 2);
	made_vm_put(vm, blob + 16, 6, 4);
	made_vm_put(vm, blob + 20, 15, 2);
	made_vm_put(vm, blob + 24, MADE_BLOB_DATA, 4);
	made_vm_put(vm, blob + 28, MADE_BLOB_CODE, 4);
	made_vm_put(vm, blob + 32, MADE_VM_BASE + 0x5555, 8);
	made_vm_put(vm, blob + 40, 77, 4);
	made_vm_put(vm, blob + 44, 4, 1);
	made_vm_put(vm, blob + 45, 0xff, 1);
	made_vm_put(vm, blob + 48, (uint32_t)-1, 4);
}

/** Sets record @index: the pc at @offset has the scope at @scope. */
static inline void made_code_put_record(struct made_vm *vm, uint32_t index, int32_t offset,
					uint32_t scope)
{
	uint32_t at = MADE_BLOB_AT + MADE_RECORDS + 16 * index;

	made_vm_put(vm, at, (uint32_t)offset, 4);
	made_vm_put(vm, at + 4, scope, 4);
}

/** Writes a scope at @offset. Up to Java 19 numbers below 192 are single bytes. @method counts from 1. */
static inline void made_code_put_scope(struct made_vm *vm, uint32_t offset, uint8_t sender,
				       uint8_t method, int32_t bci)
{
	uint8_t *at = vm->bytes + MADE_BLOB_AT + MADE_SCOPES + offset;

	at[0] = sender;
	at[1] = method;
	at[2] = (uint8_t)(bci + 1);
}

#endif
