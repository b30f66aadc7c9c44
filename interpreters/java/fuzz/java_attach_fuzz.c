/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HotSpot's code cache in hostile memory, with a layout that the process's own tables have given: what the kernel side
 * is told keeps the limits that its programs count on.
 *
 * covers: java_attach.c
 */
#include "interpreters/java/java_attach.h"

#include <assert.h>
#include <elf.h>

#include "interpreters/java/tests/made_code.h"
#include "lib/base/fuzz/edit_bytes.h"

enum { INTERPRETER_MAX_BYTES = 1 << 24 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Offsets and sizes that the reader of the tables lets through. */
static void edit_fields(struct byte_reader *reader, struct java_layout *layout)
{
	struct vm_field *const fields[] = {
		&layout->array_length,
		&layout->array_data,
		&layout->heap_memory,
		&layout->heap_segment_map,
		&layout->heap_log2_segment_size,
		&layout->space_low,
		&layout->space_high,
		&layout->space_high_boundary,
		&layout->block_used,
		&layout->queue_buffer,
		&layout->queue_buffer_limit,
		&layout->blob_name,
		&layout->blob_header_size,
		&layout->blob_frame_size,
		&layout->blob_frame_complete,
		&layout->blob_data_offset,
		&layout->blob_code_begin,
		&layout->blob_code_offset,
		&layout->blob_oop_maps,
		&layout->nmethod_method,
		&layout->nmethod_compile_id,
		&layout->nmethod_deopt_handler,
		&layout->nmethod_original_pc,
		&layout->method_const_method,
		&layout->const_method_constants,
		&layout->const_method_code_size,
		&layout->const_method_name,
		&layout->constant_pool_holder,
	};

	for (int i = 0; i < EDITS_MAX && byte_reader_left(reader) >= EDIT_BYTES; i++) {
		struct vm_field *field =
			fields[byte_reader_u8(reader) % (sizeof(fields) / sizeof(fields[0]))];
		uint8_t offset = byte_reader_u8(reader), kind = byte_reader_u8(reader);

		field->offset = kind & 16 ? offset * (JAVA_MAX_OFFSET / UINT8_MAX) : offset;
		field->bytes = kind & 8 ? field->bytes : 1 << kind % 4;
	}
	if (byte_reader_u8(reader) & 1)
		layout->block_bytes = byte_reader_u8(reader);
}

static void check(const struct java_heaps *heaps, const struct java_process *process)
{
	assert(heaps->count <= JAVA_CODE_HEAPS_MAX);
	assert(process->interpreter_end - process->interpreter_start <= INTERPRETER_MAX_BYTES);
	assert(process->head_bytes <= JAVA_HEAD_MAX_BYTES && process->block_bytes % 8 == 0);
	assert(process->block_used < process->block_bytes);
	assert(process->header_size_bytes == 2 || process->header_size_bytes == 4);
	assert(process->frame_complete_bytes == 2 || process->frame_complete_bytes == 4);
	assert(process->nmethod_method % 8 == 0 && process->nmethod_compile_id % 4 == 0);
	assert(!process->deopt_handler_bytes || process->deopt_handler_bytes == 4 ||
	       process->deopt_handler_bytes == 8);
	assert(process->bcp_slot);
}

static int attach(const struct java_layout *layout, struct made_vm *vm)
{
	struct java_process process;
	struct java_heaps heaps;
	int err = java_attach_read(layout, &vm->memory, &heaps, &process);

	if (!err)
		check(&heaps, &process);
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* The parts of the memory that are read before the code. */
	enum { HEADS_AT = MADE_STATICS_AT, HEADS_BYTES = MADE_MAP_AT - MADE_STATICS_AT };
	static struct made_vm vm;
	struct java_layout layout = made_code_layout();
	struct byte_reader reader;
	uint8_t kind;

	made_code_init(&vm);
	assert(!attach(&layout, &vm));
	byte_reader_init(&reader, data, size);
	kind = byte_reader_u8(&reader);
	layout.version = kind & 1 ? 8 : 25;
	layout.machine = kind & 2 ? EM_AARCH64 : EM_X86_64;
	if (kind & 4)
		layout.blob_code_begin = (struct vm_field){ 88, 8 };
	if (kind & 8) {
		layout.nmethod_deopt_handler = (struct vm_field){ 64, 4 };
		layout.nmethod_deopt_mh_handler = (struct vm_field){ 60, 4 };
		layout.nmethod_original_pc = (struct vm_field){ 200, 4 };
		layout.nmethod_compile_id = (struct vm_field){ 204, 4 };
	}
	if (kind & 16)
		strcpy((char *)vm.bytes + MADE_STRINGS_AT, "OpenJDK 64-Bit Zero VM");
	(void)attach(&layout, &vm);
	if (kind & 32)
		edit_bytes(&reader, vm.bytes + HEADS_AT, HEADS_BYTES);
	if (kind & 64)
		edit_bytes(&reader, vm.bytes, sizeof(vm.bytes));
	if (kind & 128)
		edit_fields(&reader, &layout);
	(void)attach(&layout, &vm);
	return 0;
}
