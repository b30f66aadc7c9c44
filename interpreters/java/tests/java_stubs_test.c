/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/java/java_stubs.h"

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "interpreters/java/java_attach.h"
#include "interpreters/java/tests/made_code.h"

enum {
	/* Offset of the made variables of libjvm.so. */
	DATA_AT = 0x300,
	DATA_BYTES = 64,
	NAMES_AT = 0xf000,
	/* A stub's block, blob and code, in segments of 64 bytes after the made method. */
	STUB_SEGMENT = 48,
	STUB_CODE = 0x40,
	STUB_DATA = 0x100,
	MAX_CALLS = 8,
	/* Offset after all made code. */
	ZEROES_AT = 0x8000,
};

static struct made_vm vm;
static struct java_layout layout;
static struct java_heaps heaps;
static struct java_process process;
static struct java_data_ranges ranges;
static void *data;
static uint32_t data_bytes;

/* Arguments of the calls of the analysis. */
static struct {
	uint32_t count;
	int err;
	struct runtime_code code[MAX_CALLS];
	uint64_t starts[MAX_CALLS][MAX_CALLS];
	uint8_t first_bytes[MAX_CALLS];
} asked;

static int fake_analyse(uint16_t machine, const struct runtime_code *code, size_t count,
			struct stack_deltas *deltas)
{
	static const struct unwind_rule rules[2] = { { .cfa = CFA_NONE }, { .cfa = CFA_SP } };

	assert_int_equal(machine, layout.machine);
	assert_true(count <= MAX_CALLS);
	asked.count = (uint32_t)count;
	for (size_t i = 0; i < count; i++) {
		asked.code[i] = code[i];
		asked.first_bytes[i] = code[i].bytes[0];
		assert_true(code[i].start_count <= MAX_CALLS);
		memcpy(asked.starts[i], code[i].starts, code[i].start_count * sizeof(uint64_t));
	}
	if (asked.err)
		return asked.err;
	*deltas = (struct stack_deltas){
		.text_start = code->address,
		.page_count = 2,
		.row_count = 3,
		.rule_count = 2,
		.page_index = calloc(3, sizeof(uint32_t)),
		.rows = calloc(1, stack_deltas_row_bytes(3)),
		.rules = malloc(sizeof(rules)),
	};
	deltas->page_index[2] = 3;
	stack_deltas_offsets(deltas)[1] = 77;
	memcpy(deltas->rules, rules, sizeof(rules));
	return 0;
}

static uint64_t stub_code(uint32_t segment)
{
	return MADE_VM_BASE + MADE_CODE_AT + (segment << MADE_LOG2_SEGMENT_SIZE) +
	       MADE_BLOCK_BYTES + STUB_CODE;
}

static void add_stub(uint32_t segment, const char *name, uint32_t frame_words, uint8_t first_byte)
{
	uint32_t block = MADE_CODE_AT + (segment << MADE_LOG2_SEGMENT_SIZE);
	uint32_t blob = block + MADE_BLOCK_BYTES;

	for (uint32_t i = 0; i < 5; i++)
		made_code_set_segment(&vm, segment + i, (uint8_t)i);
	made_vm_put(&vm, block + 8, 1, 1);
	made_vm_put(&vm, blob, made_vm_string(&vm, name), 8);
	made_vm_put(&vm, blob + 8, STUB_DATA, 4);
	made_vm_put(&vm, blob + 12, 0x38, 2);
	made_vm_put(&vm, blob + 16, frame_words, 4);
	made_vm_put(&vm, blob + 20, 0xffff, 2);
	made_vm_put(&vm, blob + 24, STUB_DATA, 4);
	made_vm_put(&vm, blob + 28, STUB_CODE, 4);
	vm.bytes[blob + STUB_CODE] = first_byte;
}

/* Sets the end of the stub's code, as an offset from the blob's beginning. */
static void put_stub_end(uint32_t segment, uint32_t end)
{
	uint32_t blob = MADE_CODE_AT + (segment << MADE_LOG2_SEGMENT_SIZE) + MADE_BLOCK_BYTES;

	made_vm_put(&vm, blob + 8, end, 4);
	made_vm_put(&vm, blob + 24, end, 4);
}

static int read_stubs(void)
{
	const struct attach_target target = { .memory = &vm.memory,
					      .bias = MADE_VM_BIAS,
					      .analyse = fake_analyse };

	free(data);
	data = NULL;
	memset(&asked.code, 0, sizeof(asked.code));
	asked.count = 0;
	return java_stubs_read(&layout, &heaps, &ranges, &target, &process, &data, &data_bytes);
}

static int setup(void **state)
{
	(void)state;
	made_code_init(&vm);
	layout = made_code_layout();
	layout.machine = EM_X86_64;
	memset(&asked, 0, sizeof(asked));
	ranges = (struct java_data_ranges){
		.ranges = { { MADE_VM_BASE - MADE_VM_BIAS + DATA_AT, DATA_BYTES } }, .count = 1
	};
	return java_attach_read(&layout, &vm.memory, &heaps, &process);
}

static int teardown(void **state)
{
	(void)state;
	free(data);
	data = NULL;
	return 0;
}

static void rows_of_stubs_stand_behind_what_the_kernel_side_is_told(void **state)
{
	const struct java_process *made;
	const struct cell *cells;

	(void)state;
	add_stub(STUB_SEGMENT, "StubRoutines (1)", 0, 0x55);
	assert_int_equal(read_stubs(), 0);
	assert_int_equal(asked.count, 1);
	assert_int_equal(asked.code[0].address, stub_code(STUB_SEGMENT));
	assert_int_equal(asked.code[0].size, STUB_DATA - STUB_CODE);
	assert_int_equal(asked.first_bytes[0], 0x55);
	made = data;
	cells = data;
	assert_memory_equal(made, &process, offsetof(struct java_process, stubs));
	assert_int_equal(made->stubs.text_start, stub_code(STUB_SEGMENT));
	assert_int_equal(made->stubs.page_count, 2);
	assert_int_equal(made->stubs.page_index_cell, sizeof(process) / CELL_BYTES);
	assert_int_equal(((const uint32_t *)(cells + made->stubs.page_index_cell))[2], 3);
	assert_int_equal(made->stubs.row_count, 3);
	assert_int_equal(((const uint8_t *)(cells + made->stubs.row_cell))[1], 77);
	assert_int_equal(made->stubs.rule_count, 2);
	assert_int_equal(((const struct unwind_rule *)(cells + made->stubs.rule_cell))[1].cfa,
			 CFA_SP);
	assert_int_equal(data_bytes, (made->stubs.rule_cell + 2) * CELL_BYTES);
}

static void stubs_start_where_the_jvms_variables_point_to(void **state)
{
	const uint64_t code = stub_code(STUB_SEGMENT);

	(void)state;
	add_stub(STUB_SEGMENT, "StubRoutines (1)", 0, 0x55);
	made_vm_put(&vm, DATA_AT, code + 0x40, 8);
	made_vm_put(&vm, DATA_AT + 8, code + 0x20, 8);
	made_vm_put(&vm, DATA_AT + 16, code + 0x40, 8);
	/* A pointer into a routine, one outside of code, one that is not aligned, and one after the data. */
	made_vm_put(&vm, DATA_AT + 24, code + 0x34, 8);
	made_vm_put(&vm, DATA_AT + 32, code + 0x1000, 8);
	made_vm_put(&vm, DATA_AT + 44, code + 0x50, 8);
	made_vm_put(&vm, DATA_AT + DATA_BYTES, code + 0x60, 8);
	assert_int_equal(read_stubs(), 0);
	assert_int_equal(asked.code[0].start_count, 3);
	assert_int_equal(asked.starts[0][0], code);
	assert_int_equal(asked.starts[0][1], code + 0x20);
	assert_int_equal(asked.starts[0][2], code + 0x40);
}

static void what_is_entered_otherwise_says_so(void **state)
{
	const uint64_t code = stub_code(STUB_SEGMENT);

	(void)state;
	add_stub(STUB_SEGMENT, "SafepointBlob", 4, 0x53);
	add_stub(STUB_SEGMENT + 8, "ExceptionBlob", 2, 0x52);
	add_stub(STUB_SEGMENT + 16, "StubRoutines (2)", 0, 0x52);
	add_stub(STUB_SEGMENT + 24, "C1 Runtime forward_exception_blob", 8, 0x49);
	made_vm_put(&vm, DATA_AT, code, 8);
	assert_int_equal(read_stubs(), 0);
	assert_int_equal(asked.count, 4);
	assert_int_equal(asked.code[0].start_count, 1);
	assert_int_equal(asked.starts[0][0], code);
	/* Begins with push rbx, which makes room for the return address; the next one with push rdx, which has it. */
	assert_true(asked.code[0].is_thrown_to);
	assert_int_equal(asked.starts[1][0], stub_code(STUB_SEGMENT + 8));
	assert_true(asked.code[1].is_thrown_to);
	assert_int_equal(asked.code[1].frame_bytes, 0);
	assert_int_equal(asked.starts[2][0], stub_code(STUB_SEGMENT + 16));
	assert_false(asked.code[2].is_thrown_to);
	/* It is jumped to from within a frame. */
	assert_int_equal(asked.code[3].frame_bytes, 64);
	layout.machine = EM_AARCH64;
	assert_int_equal(read_stubs(), 0);
	assert_false(asked.code[0].is_thrown_to);
}

static void assert_call_stub(uint32_t offset, uint16_t before, uint16_t bytes)
{
	const struct java_process *made;

	process.call_stub_return = stub_code(STUB_SEGMENT) + offset;
	assert_int_equal(read_stubs(), 0);
	made = data;
	assert_int_equal(made->call_stub_return, process.call_stub_return);
	assert_int_equal(made->call_stub_before, before);
	assert_int_equal(made->call_stub_bytes, bytes);
}

static void call_stub_lies_between_two_starts(void **state)
{
	const uint64_t code = stub_code(STUB_SEGMENT);

	(void)state;
	add_stub(STUB_SEGMENT, "StubRoutines (1)", 0, 0x55);
	/* Only its block is known. */
	assert_call_stub(0x48, 0x48, STUB_DATA - STUB_CODE);
	made_vm_put(&vm, DATA_AT, code + 0x20, 8);
	made_vm_put(&vm, DATA_AT + 8, code + 0x80, 8);
	assert_call_stub(0x48, 0x28, 0x60);
	/* The first and the last routine of the block. A return address is never at the start of a routine. */
	assert_call_stub(0x10, 0x10, 0x20);
	assert_call_stub(0x20, 0, 0x60);
	assert_call_stub(0x90, 0x10, STUB_DATA - STUB_CODE - 0x80);
	/* A start in the next block does not end the routine. */
	add_stub(STUB_SEGMENT + 8, "StubRoutines (2)", 0, 0x55);
	made_vm_put(&vm, DATA_AT + 16, stub_code(STUB_SEGMENT + 8) + 0x20, 8);
	assert_call_stub(0x90, 0x10, STUB_DATA - STUB_CODE - 0x80);
}

static void a_call_stub_that_is_in_no_stub_or_too_long_is_none(void **state)
{
	(void)state;
	add_stub(STUB_SEGMENT, "StubRoutines (1)", 0, 0x55);
	assert_call_stub(0x1000, 0, 0);
	/* 1,024 bytes are the limit. */
	put_stub_end(STUB_SEGMENT, STUB_CODE + 1024);
	assert_call_stub(0x48, 0x48, 1024);
	put_stub_end(STUB_SEGMENT, STUB_CODE + 1025);
	assert_call_stub(0x48, 0, 0);
}

static void blocks_that_are_no_stubs_are_left_out(void **state)
{
	(void)state;
	add_stub(STUB_SEGMENT, "I2C/C2I adapters", 0, 0x58);
	add_stub(STUB_SEGMENT + 8, "C1 temporary CodeBuffer", 0, 0x55);
	add_stub(STUB_SEGMENT + 16, "vtable chunks", 0, 0);
	add_stub(STUB_SEGMENT + 24, "slow_subtype_check Runtime1 stub", 0, 0x57);
	/* A block that is not in use. */
	add_stub(STUB_SEGMENT + 32, "StubRoutines (1)", 0, 0x55);
	vm.bytes[MADE_CODE_AT + ((STUB_SEGMENT + 32) << MADE_LOG2_SEGMENT_SIZE) + 8] = 0;
	assert_int_equal(read_stubs(), 0);
	assert_int_equal(asked.count, 2);
	assert_true(asked.code[0].is_flat);
	assert_int_equal(asked.code[0].address, stub_code(STUB_SEGMENT + 16));
	assert_false(asked.code[1].is_flat);
	/* The committed part of the heap ends before the stubs. */
	heaps.heaps[0].committed = heaps.heaps[0].low + (STUB_SEGMENT << MADE_LOG2_SEGMENT_SIZE);
	assert_int_equal(read_stubs(), 0);
	assert_int_equal(asked.count, 0);
	assert_int_equal(((const struct java_process *)data)->stubs.page_count, 0);
	assert_int_equal(data_bytes, sizeof(process));
}

/* Each segment has a block that cannot be read. */
static void stubs_are_found_behind_any_number_of_methods(void **state)
{
	(void)state;
	add_stub(STUB_SEGMENT, "StubRoutines (1)", 0, 0x55);
	heaps.heaps[heaps.count++] = heaps.heaps[0];
	heaps.heaps[0] = (struct java_heap){
		.low = MADE_VM_BASE + (1 << 30),
		.high = MADE_VM_BASE + (2U << 30),
		.committed = MADE_VM_BASE + (2U << 30),
		.segment_map = MADE_VM_BASE + ZEROES_AT,
		.log2_segment_size = 16,
	};
	assert_int_equal(read_stubs(), 0);
	assert_int_equal(asked.count, 1);
	assert_int_equal(asked.code[0].address, stub_code(STUB_SEGMENT));
}

/* The rule holds even if some of the methods were freed. */
static void a_heap_that_begins_with_methods_has_no_stubs(void **state)
{
	enum { FIRST = 200, COUNT = 128 };
	struct java_heap *heap = &heaps.heaps[heaps.count];

	(void)state;
	*heap = heaps.heaps[0];
	heap->low += FIRST << MADE_LOG2_SEGMENT_SIZE;
	heap->segment_map += FIRST;
	heaps.heaps[0].committed = heap->low;
	for (uint32_t i = FIRST; i < FIRST + COUNT; i++) {
		uint32_t block = MADE_CODE_AT + (i << MADE_LOG2_SEGMENT_SIZE);

		made_code_set_segment(&vm, i, 0);
		made_vm_put(&vm, block + 8, i % 2, 1);
		made_vm_put(&vm, block + MADE_BLOCK_BYTES + 12, MADE_BLOB_HEADER_BYTES, 2);
	}
	add_stub(FIRST + COUNT, "StubRoutines (1)", 0, 0x55);
	heaps.count++;
	assert_int_equal(read_stubs(), 0);
	assert_int_equal(asked.count, 0);
	/* One method less than the limit. */
	vm.bytes[MADE_CODE_AT + ((FIRST + 1) << MADE_LOG2_SEGMENT_SIZE) + 8] = 0;
	assert_int_equal(read_stubs(), 0);
	assert_int_equal(asked.count, 1);
}

static void without_rows_there_is_the_rest(void **state)
{
	(void)state;
	add_stub(STUB_SEGMENT, "StubRoutines (1)", 0, 0x55);
	asked.err = -E2BIG;
	assert_int_equal(read_stubs(), 0);
	assert_int_equal(asked.count, 1);
	assert_int_equal(data_bytes, sizeof(process));
	assert_int_equal(((const struct java_process *)data)->stubs.page_count, 0);
	asked.err = -ENOMEM;
	assert_int_equal(read_stubs(), -ENOMEM);
	/* The segment map and the variables cannot be read. */
	asked.err = 0;
	ranges.ranges[0].address += MADE_VM_BYTES;
	assert_int_equal(read_stubs(), 0);
	assert_int_equal(asked.code[0].start_count, 1);
	heaps.heaps[0].segment_map += MADE_VM_BYTES;
	assert_int_equal(read_stubs(), 0);
	assert_int_equal(asked.count, 0);
}

static void forged_blocks_overlap_nothing(void **state)
{
	(void)state;
	add_stub(STUB_SEGMENT, "StubRoutines (1)", 0, 0x55);
	add_stub(STUB_SEGMENT + 8, "StubRoutines (2)", 0, 0x55);
	/* The code of the first stub overlaps the second one. */
	made_vm_put(&vm,
		    MADE_CODE_AT + (STUB_SEGMENT << MADE_LOG2_SEGMENT_SIZE) + MADE_BLOCK_BYTES + 8,
		    0x600, 4);
	made_vm_put(&vm,
		    MADE_CODE_AT + (STUB_SEGMENT << MADE_LOG2_SEGMENT_SIZE) + MADE_BLOCK_BYTES + 24,
		    0x600, 4);
	assert_int_equal(read_stubs(), 0);
	assert_int_equal(asked.count, 1);
	assert_int_equal(asked.code[0].size, 0x600 - STUB_CODE);
}

static void a_stub_is_called_as_the_jvm_calls_it(void **state)
{
	java_text text;

	(void)state;
	add_stub(STUB_SEGMENT, "slow_subtype_check Runtime1 stub", 0, 0x57);
	add_stub(STUB_SEGMENT + 8, "", 0, 0x57);
	assert_int_equal(
		java_stub_name(&layout, &heaps, &vm.memory, stub_code(STUB_SEGMENT) + 9, text), 0);
	assert_string_equal(text, "[stub: slow_subtype_check Runtime1 stub]");
	assert_int_equal(java_stub_name(&layout, &heaps, &vm.memory, stub_code(STUB_SEGMENT + 8),
					text),
			 -EBADMSG);
	/* An address in a method, and one without code. */
	assert_int_equal(java_stub_name(&layout, &heaps, &vm.memory,
					MADE_VM_BASE + MADE_BLOB_AT + MADE_BLOB_CODE, text),
			 -ENOENT);
	assert_int_equal(java_stub_name(&layout, &heaps, &vm.memory, 8, text), -ENOENT);
}

static void variables_are_where_the_file_can_be_written(void **state)
{
	struct elf_segment segments[] = {
		{ .type = PT_LOAD, .flags = PF_R | PF_X, .address = 0, .memory_bytes = 100 },
		{ .type = PT_LOAD, .flags = PF_R | PF_W, .address = 1000, .memory_bytes = 200 },
		{ .type = PT_TLS, .flags = PF_R | PF_W, .address = 1000, .memory_bytes = 50 },
		{ .type = PT_LOAD,
		  .flags = PF_R | PF_W,
		  .address = 2000,
		  .memory_bytes = JAVA_MAX_DATA_BYTES },
	};
	const struct elf_image image = { .segments = segments, .segment_count = 4 };
	struct java_data_ranges found;

	(void)state;
	java_data_ranges_find(&image, &found);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.ranges[0].address, 1000);
	assert_int_equal(found.ranges[0].bytes, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			rows_of_stubs_stand_behind_what_the_kernel_side_is_told, setup, teardown),
		cmocka_unit_test_setup_teardown(stubs_start_where_the_jvms_variables_point_to,
						setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_entered_otherwise_says_so, setup, teardown),
		cmocka_unit_test_setup_teardown(call_stub_lies_between_two_starts, setup, teardown),
		cmocka_unit_test_setup_teardown(a_call_stub_that_is_in_no_stub_or_too_long_is_none,
						setup, teardown),
		cmocka_unit_test_setup_teardown(blocks_that_are_no_stubs_are_left_out, setup,
						teardown),
		cmocka_unit_test_setup_teardown(stubs_are_found_behind_any_number_of_methods, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_heap_that_begins_with_methods_has_no_stubs, setup,
						teardown),
		cmocka_unit_test_setup_teardown(without_rows_there_is_the_rest, setup, teardown),
		cmocka_unit_test_setup_teardown(forged_blocks_overlap_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(a_stub_is_called_as_the_jvm_calls_it, setup,
						teardown),
		cmocka_unit_test(variables_are_where_the_file_can_be_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
