/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/java/java_attach.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

#include <cmocka.h>

#include "interpreters/java/tests/made_code.h"

static struct made_vm vm;
static struct java_layout layout;
static struct java_heaps heaps;
static struct java_process process;

static int attach(void)
{
	return java_attach_read(&layout, &vm.memory, &heaps, &process);
}

static int setup(void **state)
{
	(void)state;
	made_code_init(&vm);
	layout = made_code_layout();
	return 0;
}

static void the_kernel_side_is_told_where_code_is(void **state)
{
	(void)state;
	assert_int_equal(attach(), 0);
	assert_int_equal(heaps.count, 1);
	assert_int_equal(process.heaps[0].start, MADE_VM_BASE + MADE_CODE_AT);
	assert_int_equal(process.heaps[0].bytes, MADE_CODE_BYTES);
	assert_int_equal(process.heaps[0].segment_map, MADE_VM_BASE + MADE_MAP_AT);
	assert_int_equal(process.heaps[0].log2_segment_size, MADE_LOG2_SEGMENT_SIZE);
	assert_int_equal(process.heaps[1].bytes, 0);
	assert_int_equal(process.code_start, MADE_VM_BASE + MADE_CODE_AT);
	assert_int_equal(process.code_bytes, MADE_CODE_BYTES);
	assert_int_equal(process.interpreter_start, MADE_VM_BASE + MADE_CODE_AT + MADE_INTERPRETER);
	assert_int_equal(process.interpreter_end - process.interpreter_start,
			 MADE_INTERPRETER_BYTES);
	assert_int_equal(process.call_stub_return, MADE_VM_BASE + MADE_CODE_AT);
}

static void what_is_read_of_a_blob_holds_all_that_is_wanted(void **state)
{
	(void)state;
	assert_int_equal(attach(), 0);
	/* The last field is the offset of the code, 4 bytes at 28. */
	assert_int_equal(process.head_bytes, MADE_BLOCK_BYTES + 32);
	assert_int_equal(process.blob_code, 28);
	assert_int_equal(process.code_is_address, 0);
	layout.blob_code_begin = (struct vm_field){ 88, 8 };
	assert_int_equal(attach(), 0);
	assert_int_equal(process.head_bytes, MADE_BLOCK_BYTES + 96);
	assert_int_equal(process.blob_code, 88);
	assert_int_equal(process.code_is_address, 1);
}

static void fields_that_the_kernel_side_cannot_read_are_refused(void **state)
{
	struct vm_field *const fields[] = {
		&layout.blob_header_size,    &layout.blob_frame_size,
		&layout.blob_frame_complete, &layout.blob_code_offset,
		&layout.blob_data_offset,    &layout.block_used,
		&layout.nmethod_method,	     &layout.nmethod_compile_id,
		&layout.method_const_method, &layout.const_method_constants,
		&layout.blob_name,	     &layout.blob_oop_maps,
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		setup(state);
		fields[i]->bytes = 3;
		assert_int_equal(attach(), -EOPNOTSUPP);
	}
	setup(state);
	layout.blob_data_offset.offset = JAVA_HEAD_MAX_BYTES - MADE_BLOCK_BYTES;
	assert_int_equal(attach(), -EOPNOTSUPP);
	setup(state);
	layout.blob_data_offset.offset = 26;
	assert_int_equal(attach(), -EOPNOTSUPP);
	setup(state);
	layout.block_bytes = 12;
	assert_int_equal(attach(), -EOPNOTSUPP);
	setup(state);
	layout.block_used.offset = MADE_BLOCK_BYTES;
	assert_int_equal(attach(), -EOPNOTSUPP);
	setup(state);
	layout.blob_oop_maps.offset += 4;
	assert_int_equal(attach(), -EOPNOTSUPP);
	setup(state);
	layout.nmethod_method.offset += 4;
	assert_int_equal(attach(), -EOPNOTSUPP);
	setup(state);
	layout.const_method_name.offset += 2;
	assert_int_equal(attach(), -EOPNOTSUPP);
	setup(state);
	layout.const_method_constants.offset = layout.const_method_code_size.offset - 40;
	assert_int_equal(attach(), -EOPNOTSUPP);
}

static void bytecodes_are_where_the_version_keeps_them(void **state)
{
	static const struct {
		uint16_t machine;
		uint32_t version;
		uint8_t slot;
	} rows[] = {
		{ EM_X86_64, 25, 8 },
		{ EM_X86_64, 8, 7 },
		{ EM_AARCH64, 25, 9 },
		{ EM_AARCH64, 8, 7 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		layout.machine = rows[i].machine;
		layout.version = rows[i].version;
		assert_int_equal(attach(), 0);
		assert_int_equal(process.bcp_slot, rows[i].slot);
	}
}

static void deoptimized_frames_are_known_by_their_nmethod_s_handlers(void **state)
{
	static const struct {
		struct vm_field handler, mh_handler, original_pc;
		uint16_t bytes;
	} rows[] = {
		{ { 184, 8 }, { 192, 8 }, { 200, 4 }, 8 },
		{ { 64, 4 }, { 60, 4 }, { 200, 4 }, 4 },
		{ { 196, 4 }, { JAVA_NO_FIELD, 0 }, { 200, 4 }, 4 },
		/* The fields are unknown, or not in the part that is read. */
		{ { 184, 8 }, { 192, 8 }, { JAVA_NO_FIELD, 0 }, 0 },
		{ { JAVA_NO_FIELD, 0 }, { 192, 8 }, { 200, 4 }, 0 },
		{ { 184, 8 }, { 192, 4 }, { 200, 4 }, 0 },
		{ { 184, 2 }, { 184, 2 }, { 200, 4 }, 0 },
		{ { 188, 8 }, { 192, 8 }, { 200, 4 }, 0 },
		{ { 184, 8 }, { 48, 8 }, { 200, 4 }, 0 },
		{ { 184, 8 }, { 192, 8 }, { 200, 8 }, 0 },
		{ { 184, 8 }, { 192, 8 }, { 208, 4 }, 0 },
	};

	(void)state;
	layout.nmethod_compile_id.offset = 204;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		layout.nmethod_deopt_handler = rows[i].handler;
		layout.nmethod_deopt_mh_handler = rows[i].mh_handler;
		layout.nmethod_original_pc = rows[i].original_pc;
		assert_int_equal(attach(), 0);
		assert_int_equal(process.deopt_handler_bytes, rows[i].bytes);
		if (!rows[i].bytes)
			continue;
		assert_int_equal(process.nmethod_deopt_handler, rows[i].handler.offset);
		assert_int_equal(process.nmethod_deopt_mh_handler,
				 rows[i].mh_handler.bytes ? rows[i].mh_handler.offset :
							    rows[i].handler.offset);
		assert_int_equal(process.nmethod_original_pc, rows[i].original_pc.offset);
	}
	/* The fields are farther apart than the part that is read. */
	layout.nmethod_deopt_handler = (struct vm_field){ 184, 8 };
	layout.nmethod_deopt_mh_handler = (struct vm_field){ 192, 8 };
	layout.nmethod_original_pc = (struct vm_field){ 200, 4 };
	layout.nmethod_compile_id.offset = layout.blob_oop_maps.offset + JAVA_IDENTITY_MAX_BYTES;
	assert_int_equal(attach(), 0);
	assert_int_equal(process.deopt_handler_bytes, 0);
}

static void what_a_continuation_s_entry_has_is_aligned(void **state)
{
	(void)state;
	assert_int_equal(attach(), 0);
	assert_int_equal(process.continuation_bytes, 0);
	layout.continuation_entry_bytes = 0x38;
	assert_int_equal(attach(), 0);
	assert_int_equal(process.continuation_bytes, 0x40);
}

static void a_jvm_without_code_of_its_own_is_refused_in_words(void **state)
{
	(void)state;
	made_vm_put(&vm, MADE_STATICS_AT + 24, made_vm_string(&vm, "OpenJDK 64-Bit Zero VM (25)"),
		    8);
	/* The state in which other kinds of HotSpot would be retried. */
	made_vm_put(&vm, MADE_STATICS_AT + 8, 0, 8);
	assert_int_equal(attach(), -EOPNOTSUPP);
	assert_non_null(strstr(error_text(), "Zero"));
}

static void a_jvm_that_is_not_set_up_is_waited_for(void **state)
{
	(void)state;
	made_vm_put(&vm, MADE_STATICS_AT + 8, 0, 8);
	assert_int_equal(attach(), -EAGAIN);
}

static void a_forged_interpreter_is_refused(void **state)
{
	(void)state;
	made_vm_put(&vm, MADE_QUEUE_AT + 8, 0, 4);
	assert_int_equal(attach(), -EBADMSG);
	made_vm_put(&vm, MADE_QUEUE_AT + 8, (uint32_t)-1, 4);
	assert_int_equal(attach(), -EBADMSG);
	made_vm_put(&vm, MADE_STATICS_AT + 16, 8, 8);
	assert_int_equal(attach(), -EFAULT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_kernel_side_is_told_where_code_is, setup),
		cmocka_unit_test_setup(what_is_read_of_a_blob_holds_all_that_is_wanted, setup),
		cmocka_unit_test_setup(fields_that_the_kernel_side_cannot_read_are_refused, setup),
		cmocka_unit_test_setup(bytecodes_are_where_the_version_keeps_them, setup),
		cmocka_unit_test_setup(deoptimized_frames_are_known_by_their_nmethod_s_handlers,
				       setup),
		cmocka_unit_test_setup(what_a_continuation_s_entry_has_is_aligned, setup),
		cmocka_unit_test_setup(a_jvm_without_code_of_its_own_is_refused_in_words, setup),
		cmocka_unit_test_setup(a_jvm_that_is_not_set_up_is_waited_for, setup),
		cmocka_unit_test_setup(a_forged_interpreter_is_refused, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
