/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/java/java_attach.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "interpreters/java/java_counters.h"
#include "interpreters/java/java_fields.h"
#include "lib/base/error.h"

enum {
	/** Bytes to read of the vm_info text; the kind of HotSpot is near its beginning. */
	VM_INFO_BYTES = 48,
	MAX_INTERPRETER_BYTES = 1 << 24,
	STACK_ALIGNMENT = 16,
	/*
	 * interpreter_frame_bcp_offset of frame_x86.hpp and frame_aarch64.hpp, negated, in words. Since 9 the
	 * frame has a mirror too, and on arm64 one more word for alignment.
	 */
	BCP_SLOT_X86 = 8,
	BCP_SLOT_X86_OF_8 = 7,
	BCP_SLOT_ARM64 = 9,
	BCP_SLOT_ARM64_OF_8 = 7,
};

_Static_assert((int)JAVA_MAX_HEAPS == (int)JAVA_CODE_HEAPS_MAX, "all heaps are published");
_Static_assert((int)JAVA_FREE_SEGMENT == (int)JAVA_SEGMENT_FREE, "both sides read the same maps");

/* Refuses Zero, a HotSpot that interprets bytecodes in C++: it never makes code, so waiting is useless. */
static int refuse_zero(const struct java_layout *layout, struct remote_memory *memory)
{
	char text[VM_INFO_BYTES + 1] = "";
	uint64_t address = 0;
	int err = remote_memory_read(memory, layout->vm_info, &address, sizeof(address));

	/* -EFAULT: the string is at the end of its page, and too short to be the one that is wanted. */
	if (!err && address)
		err = remote_memory_read(memory, address, text, VM_INFO_BYTES);
	if (err && err != -EFAULT)
		return err;
	if (strstr(text, "Zero VM"))
		return fail(-EOPNOTSUPP, "HotSpot Zero, whose frames are those of its C++");
	return 0;
}

/* All heaps are parts of one reserved range, so nothing else lies between them. */
static void take_code(struct java_process *process)
{
	uint64_t low = UINT64_MAX, high = 0;

	for (uint32_t i = 0; i < JAVA_CODE_HEAPS_MAX && process->heaps[i].bytes; i++) {
		const struct java_code_heap *heap = &process->heaps[i];

		low = heap->start < low ? heap->start : low;
		high = heap->start + heap->bytes > high ? heap->start + heap->bytes : high;
	}
	process->code_start = low;
	process->code_bytes = high > low ? high - low : 0;
}

static void take_heaps(const struct java_heaps *heaps, struct java_process *process)
{
	for (uint32_t i = 0; i < heaps->count; i++)
		process->heaps[i] = (struct java_code_heap){
			.start = heaps->heaps[i].low,
			.segment_map = heaps->heaps[i].segment_map,
			.bytes = (uint32_t)(heaps->heaps[i].high - heaps->heaps[i].low),
			.log2_segment_size = heaps->heaps[i].log2_segment_size,
		};
	take_code(process);
}

static int read_interpreter(const struct java_layout *layout, struct remote_memory *memory,
			    struct java_process *process)
{
	uint64_t queue = 0, buffer = 0, bytes = 0;
	int err = remote_memory_read(memory, layout->interpreter_code, &queue, sizeof(queue));

	if (!err)
		err = java_field_read(memory, queue, layout->queue_buffer, &buffer);
	if (!err)
		err = java_field_read(memory, queue, layout->queue_buffer_limit, &bytes);
	if (err)
		return err;
	if (!bytes || bytes > MAX_INTERPRETER_BYTES)
		return fail(-EBADMSG, "an interpreter of %llu bytes", (unsigned long long)bytes);
	process->interpreter_start = buffer;
	process->interpreter_end = buffer + bytes;
	return remote_memory_read(memory, layout->call_stub_return_address,
				  &process->call_stub_return, sizeof(process->call_stub_return));
}

/*
 * Extends the part of a block and its CodeBlob that is read, so that it includes @field. False if the size of
 * @field is not one of the two.
 */
static bool take_field(struct vm_field field, uint8_t bytes, uint8_t other_bytes,
		       struct java_process *process, uint16_t *offset)
{
	uint32_t end = process->block_bytes + (uint32_t)field.offset + field.bytes;

	if ((field.bytes != bytes && field.bytes != other_bytes) || field.offset % field.bytes ||
	    end > JAVA_HEAD_MAX_BYTES)
		return false;
	if (end > process->head_bytes)
		process->head_bytes = (uint16_t)end;
	*offset = field.offset;
	return true;
}

static int take_blob(const struct java_layout *layout, struct java_process *process)
{
	bool has_address = layout->blob_code_begin.bytes != 0;
	struct vm_field code = has_address ? layout->blob_code_begin : layout->blob_code_offset;
	uint8_t code_bytes = has_address ? 8 : 4;

	if (layout->block_used.bytes != 1 || layout->block_bytes % 8 ||
	    layout->block_used.offset >= layout->block_bytes)
		return fail(-EOPNOTSUPP, "HotSpot's HeapBlock has other fields");
	process->block_used = layout->block_used.offset;
	process->block_bytes = layout->block_bytes;
	if (!take_field(layout->blob_header_size, 2, 4, process, &process->blob_header_size) ||
	    !take_field(layout->blob_frame_size, 4, 4, process, &process->blob_frame_size) ||
	    !take_field(layout->blob_frame_complete, 2, 4, process,
			&process->blob_frame_complete) ||
	    !take_field(code, code_bytes, code_bytes, process, &process->blob_code) ||
	    !take_field(layout->blob_data_offset, 4, 4, process, &process->blob_data))
		return fail(-EOPNOTSUPP, "HotSpot's CodeBlob has other fields");
	if (layout->blob_name.bytes != 8)
		return fail(-EOPNOTSUPP, "HotSpot's CodeBlob has another name");
	process->blob_name = layout->blob_name.offset;
	process->header_size_bytes = layout->blob_header_size.bytes;
	process->frame_complete_bytes = layout->blob_frame_complete.bytes;
	process->code_is_address = has_address;
	return 0;
}

/* True if @field has @bytes bytes and is read together with the nmethod's compile id. */
static bool is_beside_compile_id(const struct java_layout *layout, struct vm_field field,
				 uint8_t bytes)
{
	uint32_t start = layout->blob_oop_maps.offset;
	uint32_t end = (uint32_t)layout->nmethod_compile_id.offset + sizeof(uint32_t);

	return field.bytes == bytes && field.offset >= start && field.offset + bytes <= end &&
	       (field.offset - start) % bytes == 0 && end - start <= JAVA_IDENTITY_MAX_BYTES;
}

/* If the fields are unknown or not in the part that is read, a deoptimized frame shows its handler as its pc. */
static void take_deopt_handlers(const struct java_layout *layout, struct java_process *process)
{
	struct vm_field handler = layout->nmethod_deopt_handler;
	bool has_both = layout->nmethod_deopt_mh_handler.bytes != 0;
	struct vm_field other = has_both ? layout->nmethod_deopt_mh_handler : handler;

	if ((handler.bytes != 4 && handler.bytes != 8) ||
	    !is_beside_compile_id(layout, handler, handler.bytes) ||
	    !is_beside_compile_id(layout, other, handler.bytes) ||
	    !is_beside_compile_id(layout, layout->nmethod_original_pc, 4))
		return;
	process->nmethod_deopt_handler = handler.offset;
	process->nmethod_deopt_mh_handler = other.offset;
	process->nmethod_original_pc = layout->nmethod_original_pc.offset;
	process->deopt_handler_bytes = handler.bytes;
}

static int take_methods(const struct java_layout *layout, struct java_process *process)
{
	if (layout->nmethod_method.bytes != 8 || layout->nmethod_method.offset % 8 ||
	    layout->nmethod_compile_id.bytes != 4 || layout->nmethod_compile_id.offset % 4 ||
	    layout->blob_oop_maps.bytes != 8 || layout->blob_oop_maps.offset % 8 ||
	    layout->method_const_method.bytes != 8 || layout->const_method_constants.bytes != 8 ||
	    layout->const_method_name.offset != layout->const_method_code_size.offset + 2 ||
	    layout->const_method_signature.offset != layout->const_method_code_size.offset + 4 ||
	    layout->const_method_code_size.offset < layout->const_method_constants.offset ||
	    layout->const_method_code_size.offset + 8 - layout->const_method_constants.offset >
		    JAVA_CONST_METHOD_MAX_BYTES)
		return fail(-EOPNOTSUPP, "HotSpot's methods have other fields");
	/* gen_continuation_enter() aligns the size. */
	process->continuation_bytes = (layout->continuation_entry_bytes + STACK_ALIGNMENT - 1) &
				      -STACK_ALIGNMENT;
	process->blob_oop_maps = layout->blob_oop_maps.offset;
	process->nmethod_bytes = layout->nmethod_bytes;
	process->nmethod_method = layout->nmethod_method.offset;
	process->nmethod_compile_id = layout->nmethod_compile_id.offset;
	process->method_const_method = layout->method_const_method.offset;
	process->const_method_bytes = layout->const_method_bytes;
	process->const_method_constants = layout->const_method_constants.offset;
	process->const_method_code_size = layout->const_method_code_size.offset;
	process->constants_holder = layout->constant_pool_holder.offset;
	process->constants_version = layout->constant_pool_version.offset;
	take_deopt_handlers(layout, process);
	return 0;
}

static uint8_t bcp_slot(const struct java_layout *layout)
{
	if (layout->machine == EM_AARCH64)
		return layout->version == 8 ? BCP_SLOT_ARM64_OF_8 : BCP_SLOT_ARM64;
	return layout->version == 8 ? BCP_SLOT_X86_OF_8 : BCP_SLOT_X86;
}

int java_attach_read(const struct java_layout *layout, struct remote_memory *memory,
		     struct java_heaps *heaps, struct java_process *process)
{
	struct java_process made = { .bcp_slot = bcp_slot(layout) };
	struct java_heaps found = { .count = 0 };
	uint64_t unloads = 0, safepoints = 0;
	int err = refuse_zero(layout, memory);

	if (!err)
		err = java_heaps_read(layout, memory, &found);
	if (!err)
		err = read_interpreter(layout, memory, &made);
	if (!err)
		err = take_blob(layout, &made);
	if (!err)
		err = take_methods(layout, &made);
	if (!err)
		err = java_counter_find(layout, memory, "java.cls.unloadedClasses", &unloads);
	if (!err)
		err = java_counter_find(layout, memory, "sun.rt.safepoints", &safepoints);
	if (err)
		return err;
	made.unloads = unloads;
	made.safepoints = safepoints;
	take_heaps(&found, &made);
	*heaps = found;
	*process = made;
	return 0;
}
