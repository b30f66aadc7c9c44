// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * Stacks of HotSpot's code on arm64, for each position at which a thread may be interrupted. The unwind is that of
 * arm64, compiled into this test.
 */
#define __TARGET_ARCH_arm64
/* Other names for the linker: the unwind of this machine may be in the same program. */
#define emulated_executables arm64_executables
#define emulated_slabs arm64_slabs
#define emulated_find_vma arm64_find_vma
#define emulated_machine arm64_machine
#define emulated_map_lookup_elem arm64_map_lookup_elem
#define emulated_probe_read_kernel arm64_probe_read_kernel
#define emulated_probe_read_user arm64_probe_read_user
#define emulated_stack_pointer arm64_stack_pointer
#define emulated_unwind arm64_unwind
#include "ebpf/host/emulated_unwind.c"

#include "ebpf/host/tests/java_fixture.h"

enum {
	FP = 29,
	LINK = 30,
	SP = 31,
	PC = 32,
	ARM64_METHOD = 12,
	ARM64_BCP = 22,

	NOP = 0xd503201f,
	RET = 0xd65f03c0,
	BL = 0x94000040,
	PUSH_PAIR = (int)0xa9bf7bfd,
	POP_PAIR = (int)0xa8c17bfd,
	/* sub sp, sp, #48; stp x29, x30, [sp, #32], and back */
	LOWER_SP = (int)0xd100c3ff,
	STORE_PAIR = (int)0xa9027bfd,
	LOAD_PAIR = (int)0xa9427bfd,
	RAISE_SP = (int)0x9100c3ff,

	/* An interpreter's frame: its pair at this word. */
	PAIR_WORD = LEAF_WORD + 20,
	INSTRUCTIONS_MAX = 64,
};

/* Where the caller's pair is, or that it is in registers, and the stack is the caller's words further up. */
struct arm64_caller {
	bool is_in_registers;
	uint32_t words;
};

static void put_instructions(struct java *java, uint64_t address, const uint32_t *code,
			     size_t count)
{
	put_code(java, address, code, count * sizeof(code[0]));
}

/* All of the code that tests stand in does nothing, unless they say what. */
static void clear_code(struct java *java)
{
	for (uint64_t at = CODE_START; at < CODE_START + CODE_BYTES; at += 4)
		if (java->map[(at - CODE_START) >> SEGMENT_SHIFT] == JAVA_SEGMENT_FREE ||
		    at >= INTERPRETER)
			put_number(java, at, NOP, 4);
	for (uint32_t i = 0; i < CODE_LENGTH; i += 4) {
		put_number(java, java_code_at(SEGMENT_COMPILED, i), NOP, 4);
		put_number(java, java_code_at(SEGMENT_CALLER, i), NOP, 4);
		put_number(java, java_code_at(SEGMENT_STUB, i), NOP, 4);
	}
}

static int setup(void **state)
{
	int err = java_setup(state);
	struct java *java = *state;

	clear_code(java);
	return err;
}

static void set_up_again(void **state)
{
	java_teardown(state);
	setup(state);
}

static uint64_t behind_call(struct java *java, uint32_t segment)
{
	uint64_t address = java_code_at(segment, 0x200);

	put_number(java, address - 4, BL, 4);
	return address;
}

static void set_registers(struct java *java, uint64_t pc, uint32_t sp_word, uint64_t fp)
{
	uint64_t *registers = (uint64_t *)java->world->start.registers;

	registers[PC] = pc;
	registers[SP] = stack_address(sp_word);
	registers[FP] = fp;
}

/* Lays a compiled leaf, whose caller is as in @caller. */
static void lay_leaf(struct java *java, uint64_t pc, const struct arm64_caller *caller)
{
	uint32_t end = LEAF_WORD + caller->words;

	set_registers(java, pc, LEAF_WORD, 1);
	java->world->start.registers[LINK] = 1;
	if (caller->is_in_registers) {
		java->world->start.registers[LINK] = behind_call(java, SEGMENT_CALLER);
	} else {
		put_word(java, end - 2, 1);
		put_word(java, end - 1, behind_call(java, SEGMENT_CALLER));
	}
	put_caller(java, end);
}

/* Asserts that at each instruction of @code, which begins at @offset, the caller is as in @callers. */
static void assert_callers(void **state, uint32_t offset, uint32_t complete, const uint32_t *code,
			   const struct arm64_caller *callers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct java *java;

		set_up_again(state);
		java = *state;
		put_number(java, blob_at(SEGMENT_COMPILED) + BLOB_FRAME_COMPLETE, complete, 2);
		put_instructions(java, java_code_at(SEGMENT_COMPILED, offset), code, count);
		lay_leaf(java, java_code_at(SEGMENT_COMPILED, offset + 4 * (uint32_t)i),
			 &callers[i]);
		assert_java_unwind(java, "CCsE");
	}
}

static void at_its_beginning_a_method_makes_its_frame(void **state)
{
	/* nop; sub x9, sp, #81920; str xzr, [x9]; ...; ldr w8, ... */
	static const uint32_t code[] = {
		NOP,	    0xd14053e9, 0xf900013f, (uint32_t)LOWER_SP, (uint32_t)STORE_PAIR,
		0x18000128, NOP
	};
	static const struct arm64_caller callers[] = { { true, 0 }, { true, 0 }, { true, 0 },
						       { true, 0 }, { true, 6 }, { false, 6 },
						       { false, 6 } };
	/* A large frame: stp x29, x30, [sp, #-16]!; mov x8, #32; sub sp, sp, x8 */
	static const uint32_t large[] = { NOP, (uint32_t)PUSH_PAIR, 0xd2800408, 0xcb2863ff, NOP };
	static const struct arm64_caller large_callers[] = {
		{ true, 0 }, { true, 0 }, { false, 2 }, { false, 2 }, { false, 6 }
	};

	assert_callers(state, 0, 7 * 4, code, callers, 7);
	assert_callers(state, 0, 5 * 4, large, large_callers, 5);
	assert_callers(state, 64, 64 + 7 * 4, code, callers, 7);
}

static void at_its_end_a_method_has_no_frame(void **state)
{
	/* ldr x8, [x28, #48]; cmp sp, x8; b.hi; and what polled before: ldr wzr, [x8] */
	static const uint32_t code[] = { NOP,	     (uint32_t)LOAD_PAIR, (uint32_t)RAISE_SP,
					 0xf9401b88, 0xeb2863ff,	  0x54000048,
					 RET };
	static const uint32_t old[] = { NOP,	    (uint32_t)LOAD_PAIR, (uint32_t)RAISE_SP,
					0x90000008, 0xb940011f,		 RET };
	static const uint32_t large[] = { NOP, 0x910083ff, (uint32_t)POP_PAIR, 0xf9401b88, RET };
	static const struct arm64_caller callers[] = { { false, 6 }, { false, 6 }, { true, 6 },
						       { true, 0 },  { true, 0 },  { true, 0 },
						       { true, 0 } };
	static const struct arm64_caller large_callers[] = {
		{ false, 6 }, { false, 6 }, { false, 2 }, { true, 0 }, { true, 0 }
	};

	assert_callers(state, IN_CODE, 0, code, callers, 7);
	assert_callers(state, IN_CODE, 0, old, callers, 6);
	assert_callers(state, IN_CODE, 0, large, large_callers, 5);
}

static void where_a_poll_at_the_return_goes_there_is_no_frame(void **state)
{
	/* adr x8; str x8, [x28, #1128]; b, and the same by a register */
	static const uint32_t near[] = { 0x10ffe388, 0xf9023788, 0x17ffff00 };
	static const uint32_t far[] = { 0x10ffe388, 0xf9023788, 0x90000008 };
	/* A call of the JVM has the same code, but within a frame. */
	static const uint32_t call[] = { 0x10ffe388, 0xf9023788, 0xf9000794 };
	static const struct arm64_caller callers[] = { { true, 0 }, { true, 0 }, { true, 0 } };
	static const struct arm64_caller in_frame_callers[] = { { false, 6 },
								{ false, 6 },
								{ false, 6 } };

	assert_callers(state, IN_CODE, 0, near, callers, 3);
	assert_callers(state, IN_CODE, 0, far, callers, 3);
	assert_callers(state, IN_CODE, 0, call, in_frame_callers, 3);
}

static void a_return_further_away_or_behind_a_jump_is_another_path_s(void **state)
{
	static const uint32_t jump[] = { NOP, 0x14000010, RET };
	static const uint32_t call[] = { NOP, BL, RET };
	static const uint32_t frame[] = { NOP, (uint32_t)LOWER_SP, RET };
	static const struct arm64_caller callers[] = { { false, 6 }, { false, 6 } };

	assert_callers(state, IN_CODE, 0, jump, callers, 2);
	assert_callers(state, IN_CODE, 0, call, callers, 2);
	assert_callers(state, IN_CODE, 0, frame, callers, 2);
}

/* A method that has called a stub, of which a leaf has the return address in its register. */
static void lay_stub(struct java *java, uint32_t return_word)
{
	set_registers(java, java_code_at(SEGMENT_STUB, IN_CODE), LEAF_WORD, 1);
	java->world->start.registers[LINK] = behind_call(java, SEGMENT_COMPILED);
	put_word(java, LEAF_WORD + return_word, behind_call(java, SEGMENT_CALLER));
	put_caller(java, LEAF_WORD + return_word + 1);
}

static void what_is_saved_around_a_call_is_passed_over(void **state)
{
	static const struct {
		uint32_t code[4];
		uint32_t words;
	} rows[] = {
		{ { NOP, NOP, NOP, NOP }, 0 },
		/* add sp, sp, #16 */
		{ { 0x910043ff, NOP, NOP, NOP }, 2 },
		/* ldp x0, x1, [sp], #32; ldp q0, q1, [sp], #32; b */
		{ { 0xa8c207e0, 0xacc107e0, 0x17ffff00, NOP }, 8 },
		/* The frame's own end. */
		{ { (uint32_t)LOAD_PAIR, 0xa8c207e0, 0x17ffff00, NOP }, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct java *java;

		set_up_again(state);
		java = *state;
		put_instructions(java, java_code_at(SEGMENT_COMPILED, 0x200), rows[i].code, 4);
		lay_stub(java, rows[i].words + FRAME_WORDS - 1);
		assert_java_unwind(java, "sC?CsE");
	}
}

static void signatures_of_return_addresses_are_taken_off(void **state)
{
	struct java *java = *state;
	const struct arm64_caller caller = { false, 6 };

	lay_leaf(java, java_code_at(SEGMENT_COMPILED, IN_CODE), &caller);
	java->world->stack[LEAF_WORD + 5] |= 0x2bULL << 56;
	assert_java_unwind(java, "CCsE");
}

static void a_deoptimized_frame_returns_to_its_handler(void **state)
{
	struct java *java = *state;
	const struct arm64_caller caller = { false, 6 };
	uint64_t handler = java_code_at(SEGMENT_CALLER, 0x300);

	lay_leaf(java, java_code_at(SEGMENT_COMPILED, IN_CODE), &caller);
	put_word(java, LEAF_WORD + 5, handler);
	assert_java_unwind(java, "C!");
	/* adr x30, to itself */
	put_number(java, handler, 0x1000001e, 4);
	assert_java_unwind(java, "CCsE");
}

static void a_deoptimized_frame_is_where_it_was(void **state)
{
	enum { ORIGINAL_WORD = 3 };
	const struct arm64_caller caller = { false, 6 };
	/* adr x30, to itself; from 26 on b, to bl or to adrp, add and blr in front */
	static const struct {
		uint32_t code, before;
	} handlers[] = {
		{ 0x1000001e, 0xd503201f },
		{ 0x17ffffff, 0x94000040 },
		{ 0x17fffffd, 0xd63f0100 },
	};

	for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
		struct java *java;
		uint64_t handler = java_code_at(SEGMENT_CALLER, 0x300);

		java_teardown(state);
		setup(state);
		java = *state;
		lay_leaf(java, java_code_at(SEGMENT_COMPILED, IN_CODE), &caller);
		put_word(java, LEAF_WORD + 5, handler);
		put_number(java, handler - 4, handlers[i].before, 4);
		put_number(java, handler, handlers[i].code, 4);
		put_number(java, blob_at(SEGMENT_CALLER) + BLOB_DEOPT_HANDLER, handler, 8);
		put_number(java, blob_at(SEGMENT_CALLER) + BLOB_ORIGINAL_PC, 8 * ORIGINAL_WORD, 4);
		/* Signed, as return addresses may be. */
		put_word(java, LEAF_WORD + 6 + ORIGINAL_WORD,
			 java_code_at(SEGMENT_CALLER, 0x200) | 0x2bULL << 56);
		assert_java_unwind(java, "CCsE");
		assert_int_equal(java->world->trace.words[3] >> 32, JAVA_COMPILED | 0x200);
	}
}

/* The interpreter's frame with its pair at PAIR_WORD, called by a compiled method. */
static void lay_interpreted(struct java *java, uint64_t pc)
{
	uint64_t fp = stack_address(PAIR_WORD);

	set_registers(java, pc, LEAF_WORD, fp);
	java->world->start.registers[LINK] = 1;
	java->world->start.registers[ARM64_METHOD] = METHOD;
	java->world->start.registers[ARM64_BCP] = BYTECODES + 4;
	put_word(java, PAIR_WORD, 1);
	put_word(java, PAIR_WORD + 1, behind_call(java, SEGMENT_CALLER));
	put_word(java, PAIR_WORD - JAVA_SENDER_SP_SLOT, stack_address(PAIR_WORD + 10));
	put_word(java, PAIR_WORD - JAVA_METHOD_SLOT, METHOD);
	put_word(java, PAIR_WORD - BCP_SLOT, BYTECODES + 8);
	put_caller(java, PAIR_WORD + 10);
}

static void an_interpreter_s_frame_has_its_caller_s_stack_pointer(void **state)
{
	struct java *java = *state;

	lay_interpreted(java, INTERPRETER + 0x80);
	assert_java_unwind(java, "ICsE");
	assert_int_equal(java->world->trace.words[1] >> 32, 4);
	/* The frame overlaps a caller that has moved its stack pointer further down. */
	put_word(java, PAIR_WORD - JAVA_SENDER_SP_SLOT, stack_address(LEAF_WORD - 20));
	put_caller(java, PAIR_WORD + 2);
	assert_java_unwind(java, "ICsE");
}

/*
 * and sp, x8, #-16; sub x20, sp, #96; stp x20, x22, [sp, #-96]!; stp x29, x30, [sp, #80];
 * add x29, sp, #80; stp xzr, x19, [sp, #64]; nop
 */
static const uint32_t entry[] = { 0x927ced1f, 0xd10183f4, 0xa9ba5bf4, 0xa9057bfd,
				  0x910143fd, 0xa9044fff, NOP };

static void at_the_interpreter_s_entry_the_caller_is_in_registers(void **state)
{
	for (uint32_t i = 0; i < 7; i++) {
		struct java *java;
		uint64_t pc = INTERPRETER + 0x100 + 4 * i;

		set_up_again(state);
		java = *state;
		put_instructions(java, INTERPRETER + 0x100, entry, 7);
		lay_interpreted(java, pc);
		java->world->start.registers[19] = stack_address(PAIR_WORD + 10);
		if (i < 5) {
			java->world->start.registers[LINK] = behind_call(java, SEGMENT_CALLER);
			java->world->start.registers[FP] = 1;
		} else if (i == 5) {
			put_word(java, PAIR_WORD - JAVA_SENDER_SP_SLOT, 1);
		}
		assert_java_unwind(java, "ICsE");
		assert_int_equal(java->world->trace.words[1] >> 32, i < 6 ? 0 : 4);
	}
}

/*
 * cmp; b.hi; and sp, x13, #-16; adrp x8; br x8, which throws; and sp, x20, #-16; add x29, sp, #80;
 * stp xzr, x13, [sp, #64]
 */
static const uint32_t native_entry[] = { 0xeb2063ff, 0x540000a8, 0x927cedbf, 0xb0ffff48,
					 0xd61f0100, 0x927cee9f, 0x910143fd, 0xa90437ff };

static void what_throws_at_an_entry_is_another_path(void **state)
{
	static const uint32_t indexes[] = { 0, 1, 5, 6 };

	for (size_t i = 0; i < sizeof(indexes) / sizeof(indexes[0]); i++) {
		struct java *java;

		set_up_again(state);
		java = *state;
		put_instructions(java, INTERPRETER + 0x100, native_entry, 8);
		lay_interpreted(java, INTERPRETER + 0x100 + 4 * indexes[i]);
		java->world->start.registers[13] = stack_address(PAIR_WORD + 10);
		java->world->start.registers[20] = stack_address(LEAF_WORD + 2);
		java->world->start.registers[LINK] = behind_call(java, SEGMENT_CALLER);
		java->world->start.registers[FP] = 1;
		assert_java_unwind(java, "ICsE");
		assert_int_equal(java->world->trace.words[1] >> 32, 0);
	}
}

static void an_entry_behind_a_jump_is_another_method_s(void **state)
{
	struct java *java = *state;
	static const uint32_t branch = 0xd61f0100;

	put_instructions(java, INTERPRETER + 0x110, entry, 7);
	put_instructions(java, INTERPRETER + 0x108, &branch, 1);
	lay_interpreted(java, INTERPRETER + 0x100);
	assert_java_unwind(java, "ICsE");
	assert_int_equal(java->world->trace.words[1] >> 32, 4);
}

static void at_its_end_the_interpreter_sets_the_stack_pointer(void **state)
{
	/* ldp x29, x30, [sp], #16; mov x20, x9; and sp, x20, #-16; ret */
	static const uint32_t code[] = { (uint32_t)POP_PAIR, 0xaa0903f4, 0x927cee9f, RET };

	for (uint32_t i = 0; i < 4; i++) {
		struct java *java;

		set_up_again(state);
		java = *state;
		put_instructions(java, INTERPRETER + 0x100, code, 4);
		lay_interpreted(java, INTERPRETER + 0x100 + 4 * i);
		java->world->start.registers[SP] =
			stack_address(i < 3 ? PAIR_WORD + 2 * (i > 0) : PAIR_WORD + 10);
		java->world->start.registers[9] = stack_address(PAIR_WORD + 10);
		if (i == 2)
			java->world->start.registers[20] = stack_address(PAIR_WORD + 10);
		if (i) {
			java->world->start.registers[LINK] = behind_call(java, SEGMENT_CALLER);
			java->world->start.registers[FP] = 1;
		}
		assert_java_unwind(java, i ? "sCsE" : "ICsE");
	}
}

static void an_adapter_s_caller_has_another_stack_pointer(void **state)
{
	static const char name[] = "I2C/C2I adapters";
	/* mov x19, sp; sub sp, sp, #32 */
	static const uint32_t code[] = { 0x910003f3, 0xd10083ff, NOP };
	/* At the last two there is room for arguments. */
	static const uint32_t indexes[] = { 0, 1, 2, 28 };

	for (uint32_t j = 0; j < 4; j++) {
		uint32_t i = indexes[j];
		struct java *java;

		set_up_again(state);
		java = *state;
		put_instructions(java, java_code_at(SEGMENT_STUB, IN_CODE), code, 3);
		put_number(java, blob_at(SEGMENT_STUB) + BLOB_NAME, OBJECTS + 0x300, 8);
		memcpy(java->objects + 0x300, name, sizeof(name));
		set_registers(java, java_code_at(SEGMENT_STUB, IN_CODE + 4 * i),
			      LEAF_WORD - 4 * (i >= 2), 1);
		java->world->start.registers[LINK] = behind_call(java, SEGMENT_CALLER);
		java->world->start.registers[19] = stack_address(i ? LEAF_WORD : LEAF_WORD + 30);
		put_caller(java, LEAF_WORD);
		assert_java_unwind(java, "sCsE");
	}
}

static void behind_a_guess_methods_have_no_frame_that_is_known(void **state)
{
	struct java *java = *state;
	const struct mapping_row rows[] = {
		{ .start = TEXT_START,
		  .end = TEXT_START + (1 << 20),
		  .bias = TEXT_START - TEXT_ADDRESS,
		  .executable_id = EXECUTABLE_ID },
		{ .start = CODE_START - 4096,
		  .end = CODE_START + CODE_BYTES,
		  .executable_id = EXECUTABLE_ID_ANONYMOUS },
	};
	const struct arm64_caller caller = { false, 6 };

	world_set_mappings(java->world, 10, rows, 2);
	/* Native code that was made at run time, and keeps frames by x29. */
	lay_leaf(java, java_code_at(SEGMENT_COMPILED, 0x200), &caller);
	put_number(java, java_code_at(SEGMENT_COMPILED, 0x1fc), BL, 4);
	set_registers(java, CODE_START - 64, LEAF_WORD - 6, stack_address(LEAF_WORD - 2));
	put_word(java, LEAF_WORD - 2, stack_address(LEAF_WORD + 100));
	put_word(java, LEAF_WORD - 1, java_code_at(SEGMENT_COMPILED, 0x200));
	java->world->user[4] = (struct region){ CODE_START - 4096, 4096, java->objects };
	assert_java_unwind(java, "E!");
	/* The interpreter's are found by it. */
	put_word(java, LEAF_WORD - 1, INTERPRETER + 0x80);
	put_word(java, LEAF_WORD - 2, stack_address(PAIR_WORD));
	lay_interpreted(java, INTERPRETER + 0x80);
	set_registers(java, CODE_START - 64, LEAF_WORD - 6, stack_address(LEAF_WORD - 2));
	assert_java_unwind(java, "EI?CsE");
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, java_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(at_its_beginning_a_method_makes_its_frame),
		test(at_its_end_a_method_has_no_frame),
		test(where_a_poll_at_the_return_goes_there_is_no_frame),
		test(a_return_further_away_or_behind_a_jump_is_another_path_s),
		test(what_is_saved_around_a_call_is_passed_over),
		test(signatures_of_return_addresses_are_taken_off),
		test(a_deoptimized_frame_returns_to_its_handler),
		test(a_deoptimized_frame_is_where_it_was),
		test(an_interpreter_s_frame_has_its_caller_s_stack_pointer),
		test(at_the_interpreter_s_entry_the_caller_is_in_registers),
		test(what_throws_at_an_entry_is_another_path),
		test(an_entry_behind_a_jump_is_another_method_s),
		test(at_its_end_the_interpreter_sets_the_stack_pointer),
		test(an_adapter_s_caller_has_another_stack_pointer),
		test(behind_a_guess_methods_have_no_frame_that_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
