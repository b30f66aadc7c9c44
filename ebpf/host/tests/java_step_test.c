// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* Stacks of HotSpot's methods and stubs, for each position at which a thread may be interrupted. */
#include "ebpf/host/tests/java_fixture.h"

enum {
	/* Above the words that an adapter pushes. */
	SENDER_WORD = LEAF_WORD + 30,
};

static void compiled_frames_lead_to_call_stub_and_its_caller(void **state)
{
	struct java *java = *state;
	const struct emulated_trace *trace = &java->world->trace;

	lay_compiled(java, IN_CODE, &in_frame);
	assert_java_unwind(java, "CCsE");
	assert_int_equal(trace->words[0], frame_word(FRAME_JAVA, 0, blob_at(SEGMENT_COMPILED)));
	assert_int_equal(trace->words[1],
			 (uint64_t)(JAVA_COMPILED | IN_CODE) << 32 | fingerprint_of(METHOD, 77));
	assert_int_equal(trace->words[2],
			 frame_word(FRAME_JAVA, FRAME_RETURN_ADDRESS, blob_at(SEGMENT_CALLER)));
	assert_int_equal(trace->words[3] >> 32, JAVA_COMPILED | 0x200);
}

static void without_a_table_code_is_anonymous(void **state)
{
	struct java *java = *state;

	lay_compiled(java, IN_CODE, &in_frame);
	java->world->start.runtime_cell = 0;
	java_unwind_text(java);
	assert_int_not_equal(java->world->trace.error, UNWIND_OK);
	assert_null(strchr(java->text, 'C'));
}

/* A process may have two JVMs, or another language that generates code: each is asked. */
static void the_next_runtime_is_asked_when_one_declines(void **state)
{
	struct java *java = *state;
	const struct emulated_trace *trace = &java->world->trace;
	const uint32_t language = runtime_row_language(FRAME_JAVA);
	/* The first cells have no heaps, and behind the slab's end there is nothing. */
	const struct runtime_row rows[] = {
		{ EXECUTABLE_ID + 1, language, JAVA_OTHER_CELL },
		{ EXECUTABLE_ID + 2, FRAME_PYTHON, JAVA_OTHER_CELL },
		{ EXECUTABLE_ID + 3, language, UINT32_MAX },
		{ EXECUTABLE_ID, language, JAVA_DATA_CELL },
	};
	const struct java_process none = { 0 };

	lay_compiled(java, IN_CODE, &in_frame);
	world_put(java->world, JAVA_INTERPRETER_CELL, rows, sizeof(rows));
	world_put(java->world, JAVA_OTHER_CELL, &none, sizeof(none));
	assert_java_unwind(java, "CCsE");
	assert_int_equal(trace->words[2],
			 frame_word(FRAME_JAVA, FRAME_RETURN_ADDRESS, blob_at(SEGMENT_CALLER)));
	/* Without the last row, all runtimes have declined. */
	world_put(java->world, JAVA_INTERPRETER_CELL + 3, &(struct runtime_row){ 0 },
		  sizeof(rows[0]));
	java_unwind_text(java);
	assert_int_not_equal(trace->error, UNWIND_OK);
	assert_null(strchr(java->text, 'C'));
}

/* The flag is the row's: a language without it is not asked for code. */
static void a_runtime_that_makes_no_code_is_not_asked(void **state)
{
	struct java *java = *state;
	const struct runtime_row row = { EXECUTABLE_ID, FRAME_JAVA, JAVA_DATA_CELL };

	lay_compiled(java, IN_CODE, &in_frame);
	world_put(java->world, JAVA_INTERPRETER_CELL, &row, sizeof(row));
	java_unwind_text(java);
	assert_int_not_equal(java->world->trace.error, UNWIND_OK);
	assert_null(strchr(java->text, 'C'));
}

static void at_its_end_a_method_has_no_frame(void **state)
{
	static const struct leaf leaves[] = {
		LEAF("\x48\x83\xc4\x20\x5d", FRAME_WORDS - 1),
		LEAF("\x5d\xc3", 1),
		LEAF("\xc3", 0),
		LEAF("\xc2\x08\x00", 0),
		LEAF("\x49\x3b\x67\x58\x0f\x87\1\0\0\0\xc3", 0),
		LEAF("\x49\x3b\xa7\x58\4\0\0\x0f\x87\1\0\0\0\xc3", 0),
		LEAF("\x49\x3b\xa7\x58\4\0\0\x0f\x82\1\0\0\0\x90", 0),
		LEAF("\x0f\x87\1\0\0\0\xc3", 0),
		LEAF("\x49\x83\x7f\x08\0\x0f\x85\1\0\0\0\xc3", 0),
		LEAF("\x49\x81\x7f\x08\0\0\0\0\x0f\x85\1\0\0\0\xc3", 0),
		LEAF("\x0f\x85\1\0\0\0\xc3", 0),
		LEAF("\x41\xf6\x47\x28\1\x74\x16\x49", 0),
		LEAF("\x74\x16\x49\xba", 0),
		LEAF("\x4d\x89\x97\1\1\0\0\xe9", 0),
		LEAF("\x85\5\1\0\0\0\xc3", 0),
		LEAF("\x41\x85\2\xc3", 0),
		LEAF("\x4d\x8b\x57\x58\x41\x85\2\xc3", 0),
		LEAF("\x4d\x8b\x97\x58\4\0\0\x41\x85\2\xc3", 0),
		LEAF("\x4c\x8d\x15\1\0\0\0\x4d\x89\x97\1\1\0\0", 0),
		/* Not a poll, since other code follows. */
		LEAF("\x49\x3b\x67\x58\x0f\x86\1\0\0\0\xc3", FRAME_WORDS - 1),
		LEAF("\x0f\x87\1\0\0\0\x90", FRAME_WORDS - 1),
		LEAF("\x85\5\1\0\0\0\x90", FRAME_WORDS - 1),
	};

	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		java_teardown(state);
		java_setup(state);
		lay_compiled(*state, IN_CODE, &leaves[i]);
		assert_java_unwind(*state, "CCsE");
	}
}

static void behind_its_frame_a_method_jumps_on_to_where_it_throws(void **state)
{
	static const struct leaf jump = LEAF("\xe9\1\2\0\0", 0);
	struct java *java = *state;

	lay_compiled(java, IN_CODE, &jump);
	assert_java_unwind(java, "C!");
	put_code(java, java_code_at(SEGMENT_COMPILED, IN_CODE - 5), "\x48\x83\xc4\x20\x5d", 5);
	assert_java_unwind(java, "CCsE");
	put_code(java, java_code_at(SEGMENT_COMPILED, IN_CODE - 8), "\x48\x81\xc4\0\1\0\0\x5d", 8);
	assert_java_unwind(java, "CCsE");
	put_code(java, java_code_at(SEGMENT_COMPILED, IN_CODE - 1), "\x5e", 1);
	assert_java_unwind(java, "C!");
}

static void at_its_beginning_a_method_makes_its_frame(void **state)
{
	/* mov [rsp - 16384], eax; push rbp; mov rbp, rsp; sub rsp, 32 */
	static const char code[] = "\x89\x84\x24\0\xc0\xff\xff\x55\x48\x8b\xec\x48\x83\xec\x20\x90";
	static const struct {
		uint32_t offset;
		uint32_t return_word;
	} rows[] = { { 0, 0 }, { 7, 0 }, { 8, 1 }, { 11, 1 }, { 15, FRAME_WORDS - 1 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct leaf leaf = { code, sizeof(code) - 1, rows[i].return_word };
		uint64_t start = java_code_at(SEGMENT_COMPILED, 64);
		struct java *java;

		java_teardown(state);
		java_setup(state);
		java = *state;
		put_number(java, blob_at(SEGMENT_COMPILED) + BLOB_FRAME_COMPLETE, 80, 2);
		lay_compiled(java, 64, &leaf);
		java->world->start.registers[16] = start + rows[i].offset;
		assert_java_unwind(java, "CCsE");
	}
}

static void behind_its_frame_a_method_may_ask_for_a_barrier(void **state)
{
	/* sub rsp, 32; jne */
	static const char code[] = "\x48\x81\xec\x20\0\0\0\x0f\x85\1\0\0\0";
	static const uint32_t offsets[] = { 0, 20, 100, 300 };

	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		const struct leaf leaf = { code, sizeof(code) - 1, FRAME_WORDS - 1 };
		struct java *java;

		java_teardown(state);
		java_setup(state);
		java = *state;
		put_number(java, blob_at(SEGMENT_COMPILED) + BLOB_FRAME_COMPLETE, 0x200, 2);
		lay_compiled(java, offsets[i], &leaf);
		java->world->start.registers[16] += 7;
		assert_java_unwind(java, "CCsE");
	}
}

static void a_frame_may_be_there_before_the_frame_pointer_is_in_it(void **state)
{
	static const struct leaf leaf = LEAF("\x48\x89\x6c\x24\x20", FRAME_WORDS - 1);
	struct java *java = *state;

	put_number(java, blob_at(SEGMENT_COMPILED) + BLOB_FRAME_COMPLETE, 0x200, 2);
	lay_compiled(java, IN_CODE, &leaf);
	put_word(java, LEAF_WORD + FRAME_WORDS - 2, 1);
	assert_java_unwind(java, "CCsE");
}

static void words_pushed_onto_a_leaf_s_frame_are_seen(void **state)
{
	for (uint32_t words = 0; words < 8; words++) {
		/* Frames are multiples of 16 bytes, so the stack pointer shows whether the number is odd. */
		uint32_t sp = LEAF_WORD + words % 2, end = sp + words + FRAME_WORDS;
		struct java *java;

		java_teardown(state);
		java_setup(state);
		java = *state;
		set_leaf(java, java_code_at(SEGMENT_COMPILED, IN_CODE), "\x90", 1, sp);
		put_word(java, end - 1, return_to(java, SEGMENT_CALLER));
		put_caller(java, end);
		/* More than one is taken for likely. */
		assert_java_unwind(java, words < 2 ? "CCsE" : words < 6 ? "CC?sE" : "C!");
	}
}

static void registers_saved_around_a_barrier_s_call_are_passed_over(void **state)
{
	static const struct leaf saved[] = {
		/* add rsp, 64 or 512; jmp; behind the code that restores registers */
		LEAF("\x48\x8b\x44\x24\x08\x48\x83\xc4\x40\xe9\1\1\1\1", 8 + FRAME_WORDS - 1),
		LEAF("\x90\x48\x81\xc4\0\2\0\0\xe9\1\1\1\1", 64 + FRAME_WORDS - 1),
		/* The frame's own end, or another barrier's beginning. */
		LEAF("\x48\x83\xc4\x20\x5d\xc3\x48\x83\xc4\x40\x90", FRAME_WORDS - 1),
		LEAF("\x90\x48\x83\xec\x40\x48\x83\xc4\x40\x90", FRAME_WORDS - 1),
		LEAF("\x90\x48\x81\xc4\0\0\1\0\xe9", FRAME_WORDS - 1),
	};

	for (size_t i = 0; i < sizeof(saved) / sizeof(saved[0]); i++) {
		java_teardown(state);
		java_setup(state);
		lay_compiled(*state, IN_CODE, &saved[i]);
		/* A stale return address of an earlier call. */
		if (saved[i].return_word > FRAME_WORDS)
			put_word(*state, LEAF_WORD + FRAME_WORDS - 1,
				 return_to(*state, SEGMENT_COMPILED));
		assert_java_unwind(*state, "CCsE");
	}
}

/* C2's pow() of JDK 8: for each chunk its number of bytes, and the number of words on the stack before it. */
static const struct pow_chunk {
	const char *code;
	uint32_t size;
	uint32_t words;
} pow_chunks[] = {
	/* sub rsp, 8; fld [rsp] */
	{ "\x48\x83\xec\x08", 4, 0 },
	{ "\xdd\x04\x24", 3, 1 },
	/* sub rsp, 8; fstcw [rsp]; or eax, 768; push rax; fldcw [rsp]; pop rax; fyl2x */
	{ "\x48\x83\xec\x08", 4, 1 },
	{ "\x9b\xd9\x3c\x24\x81\xc8\0\3\0\0", 10, 2 },
	{ "\x50", 1, 2 },
	{ "\xd9\x2c\x24", 3, 3 },
	{ "\x58", 1, 3 },
	{ "\xd9\xf1", 2, 2 },
	/* sub rsp, 8; 66 bytes up to fmul [rsp]; add rsp, 8; fldcw [rsp]; add rsp, 8 */
	{ "\x48\x83\xec\x08", 4, 2 },
	{ "\xd9\xc0\xd9\xfc\xdc\xe9\xdb\x1c\x24\xd9\xf0\xd9\xe8\xde\xc1\x8b\x04\x24\xb9\0\xf8\xff\xff",
	  23, 3 },
	{ "\x81\xc0\xff\3\0\0\x8b\xd0\xc1\xe0\x14\x83\xc2\1\x0f\x44\xc1\x83\xfa\1\x0f\x44\xc1", 23,
	  3 },
	{ "\x85\xd1\x0f\x45\xc1\x89\x44\x24\4\xc7\4\x24\0\0\0\0\xdc\x0c\x24", 19, 3 },
	{ "\x48\x83\xc4\x08", 4, 3 },
	{ "\xd9\x2c\x24", 3, 2 },
	{ "\x48\x83\xc4\x08", 4, 2 },
	/* fstp [rsp]; movsd xmm1, [rsp]; add rsp, 8; ucomisd; jp */
	{ "\xdd\x1c\x24\xc5\xfb\x10\x0c\x24", 8, 1 },
	{ "\x48\x83\xc4\x08", 4, 1 },
	{ "\xc5\xf9\x2e\xc9\x0f\x8a\6\6\0\0", 10, 0 },
};

/* Lays a leaf at the beginning of @chunk, with @fewer words than C2 has. */
static void assert_pow(void **state, size_t chunk, uint32_t fewer)
{
	uint32_t words = pow_chunks[chunk].words - fewer, sp = LEAF_WORD + words % 2;
	uint32_t offset = IN_CODE, leaf = IN_CODE;
	struct java *java;

	java_teardown(state);
	java_setup(state);
	java = *state;
	for (size_t i = 0; i < sizeof(pow_chunks) / sizeof(pow_chunks[0]); i++) {
		put_code(java, java_code_at(SEGMENT_COMPILED, offset), pow_chunks[i].code,
			 pow_chunks[i].size);
		offset += pow_chunks[i].size;
		leaf += i < chunk ? pow_chunks[i].size : 0;
	}
	world_set_registers(java->world, java_code_at(SEGMENT_COMPILED, leaf), stack_address(sp),
			    0);
	/* A stale return address of an earlier call, which would be found without the count of words. */
	put_word(java, sp + words % 2 + FRAME_WORDS - 1, return_to(java, SEGMENT_COMPILED));
	put_word(java, sp + words + FRAME_WORDS - 1, return_to(java, SEGMENT_CALLER));
	put_caller(java, sp + words + FRAME_WORDS);
	assert_java_unwind(java, "CCsE");
	assert_int_equal(java->world->trace.words[2],
			 frame_word(FRAME_JAVA, FRAME_RETURN_ADDRESS, blob_at(SEGMENT_CALLER)));
}

static void words_that_pow_has_on_the_stack_are_counted(void **state)
{
	enum { CHUNKS = sizeof(pow_chunks) / sizeof(pow_chunks[0]) };

	for (size_t i = 0; i < CHUNKS; i++)
		assert_pow(state, i, 0);
	/* C1 has its numbers in its frame. */
	for (size_t i = 2; i < CHUNKS - 3; i++)
		assert_pow(state, i, 1);
}

static void a_stack_pointer_that_is_kept_on_the_stack_is_gone_back_to(void **state)
{
	struct java *java = *state;
	uint32_t kept = LEAF_WORD + 8, end = kept + FRAME_WORDS;

	set_leaf(java, java_code_at(SEGMENT_COMPILED, IN_CODE), "\x90", 1, LEAF_WORD);
	put_word(java, LEAF_WORD, stack_address(kept));
	/* Neither the word at the frame's usual end is the return address, nor a stale one of an earlier frame. */
	put_word(java, LEAF_WORD + FRAME_WORDS - 1, return_to(java, SEGMENT_COMPILED));
	put_word(java, LEAF_WORD + 2 + FRAME_WORDS - 1, return_to(java, SEGMENT_COMPILED));
	put_word(java, end - 1, return_to(java, SEGMENT_CALLER));
	put_caller(java, end);
	/* In other code the word has no meaning. */
	java_unwind_text(java);
	assert_int_equal(java->world->trace.words[2],
			 frame_word(FRAME_JAVA, FRAME_RETURN_ADDRESS, blob_at(SEGMENT_COMPILED)));
	put_code(java, java_code_at(SEGMENT_COMPILED, IN_CODE + 50), "\xc4\xe3\x79\x61", 4);
	assert_java_unwind(java, "CCsE");
	assert_int_equal(java->world->trace.words[2],
			 frame_word(FRAME_JAVA, FRAME_RETURN_ADDRESS, blob_at(SEGMENT_CALLER)));
	/* In a method that has called a stub, the word has no meaning. */
	set_leaf(java, java_code_at(SEGMENT_STUB, IN_CODE), "\x90", 1, LEAF_WORD - 1);
	put_word(java, LEAF_WORD - 1, return_to(java, SEGMENT_COMPILED));
	put_word(java, LEAF_WORD + FRAME_WORDS - 1, return_to(java, SEGMENT_CALLER));
	put_caller(java, LEAF_WORD + FRAME_WORDS);
	put_word(java, LEAF_WORD, stack_address(LEAF_WORD + 2));
	put_word(java, LEAF_WORD + 2 + FRAME_WORDS - 1, return_to(java, SEGMENT_COMPILED));
	assert_java_unwind(java, "sC?CsE");
}

static void what_is_behind_no_call_is_no_return_address(void **state)
{
	struct java *java = *state;

	lay_compiled(java, IN_CODE, &in_frame);
	put_word(java, LEAF_WORD + FRAME_WORDS - 1, java_code_at(SEGMENT_CALLER, 0x300));
	assert_java_unwind(java, "C!");
	/* The handler of a deoptimized method: call +0. */
	put_code(java, java_code_at(SEGMENT_CALLER, 0x300), "\xe8\0\0\0\0", 5);
	assert_java_unwind(java, "CCsE");
	/* C1's handler: movabs r10, its own address. */
	put_code(java, java_code_at(SEGMENT_CALLER, 0x300), "\x49\xba", 2);
	put_number(java, java_code_at(SEGMENT_CALLER, 0x302), java_code_at(SEGMENT_CALLER, 0x300),
		   8);
	assert_java_unwind(java, "CCsE");
	put_number(java, java_code_at(SEGMENT_CALLER, 0x302), java_code_at(SEGMENT_CALLER, 0x301),
		   8);
	assert_java_unwind(java, "C!");
	put_word(java, LEAF_WORD + FRAME_WORDS - 1, code_at(RULE_ENTRY));
	assert_java_unwind(java, "C!");
}

static void a_method_that_calls_itself_is_one_method(void **state)
{
	struct java *java = *state;
	const struct emulated_trace *trace = &java->world->trace;
	uint32_t word = LEAF_WORD + FRAME_WORDS;

	lay_compiled(java, IN_CODE, &in_frame);
	for (int i = 0; i < 3; i++, word += CALLER_FRAME_WORDS)
		put_word(java, word + CALLER_FRAME_WORDS - 1, return_to(java, SEGMENT_CALLER));
	put_caller(java, word);
	assert_java_unwind(java, "CCCCCsE");
	for (uint32_t i = 4; i < 10; i += 2) {
		assert_int_equal(trace->words[i], trace->words[2]);
		assert_int_equal(trace->words[i + 1], trace->words[3]);
	}
}

static void stubs_are_called_or_keep_a_frame(void **state)
{
	struct java *java = *state;

	/* At a call the stack pointer is no multiple of 16. */
	set_leaf(java, java_code_at(SEGMENT_STUB, IN_CODE), "\x90", 1, LEAF_WORD + 1);
	put_word(java, LEAF_WORD + 1, return_to(java, SEGMENT_CALLER));
	put_caller(java, LEAF_WORD + 2);
	/* A stale value of an earlier caller in the register is ignored. */
	java->world->start.registers[SENDER_SP_REGISTER] = stack_address(LEAF_WORD + 40);
	assert_java_unwind(java, "sC?sE");
	/* The return address is above the frame pointer. */
	put_word(java, LEAF_WORD + 1, 0);
	java->world->start.registers[6] = stack_address(LEAF_WORD + 10);
	put_word(java, LEAF_WORD + 11, return_to(java, SEGMENT_CALLER));
	put_caller(java, LEAF_WORD + 12);
	assert_java_unwind(java, "sC?sE");
	/* The frame has a known size. */
	put_number(java, blob_at(SEGMENT_STUB) + BLOB_FRAME_SIZE, FRAME_WORDS, 4);
	put_number(java, blob_at(SEGMENT_STUB) + BLOB_FRAME_COMPLETE, 8, 2);
	set_leaf(java, java_code_at(SEGMENT_STUB, IN_CODE), "\x90", 1, LEAF_WORD);
	put_word(java, LEAF_WORD + FRAME_WORDS - 1, return_to(java, SEGMENT_CALLER));
	put_caller(java, LEAF_WORD + FRAME_WORDS);
	assert_java_unwind(java, "sC?sE");
	/* C1 has pushed two arguments for it. */
	memset(java->world->stack, 0, sizeof(java->world->stack));
	put_word(java, LEAF_WORD + FRAME_WORDS - 1, return_to(java, SEGMENT_CALLER));
	put_caller(java, LEAF_WORD + FRAME_WORDS + 2);
	assert_java_unwind(java, "sC?s?E");
}

static void what_leads_to_a_virtual_method_leaves_the_stack_alone(void **state)
{
	struct java *java = *state;

	put_number(java, blob_at(SEGMENT_STUB) + BLOB_NAME, OBJECTS + 0x300, 8);
	memcpy(java->objects + 0x300, "vtable chunks", 14);
	set_leaf(java, java_code_at(SEGMENT_STUB, IN_CODE), "\x90", 1, LEAF_WORD + 1);
	put_word(java, LEAF_WORD + 1, return_to(java, SEGMENT_CALLER));
	put_caller(java, LEAF_WORD + 2);
	assert_java_unwind(java, "sCsE");
}

static void adapters_keep_their_caller_s_stack_pointer_in_a_register(void **state)
{
	struct java *java = *state;

	put_number(java, blob_at(SEGMENT_STUB) + BLOB_NAME, OBJECTS + 0x300, 8);
	memcpy(java->objects + 0x300, "I2C/C2I adapters", 17);
	set_leaf(java, java_code_at(SEGMENT_STUB, IN_CODE), "\x90", 1, LEAF_WORD);
	java->world->start.registers[SENDER_SP_REGISTER] = stack_address(SENDER_WORD);
	/* The return address was popped: the word on the stack is a stale one. */
	java->world->start.registers[0] = return_to(java, SEGMENT_CALLER);
	put_word(java, LEAF_WORD, return_to(java, SEGMENT_COMPILED));
	put_caller(java, SENDER_WORD);
	assert_java_unwind(java, "sCsE");
	/* It is not popped yet, and the registers have stale values. */
	set_leaf(java, java_code_at(SEGMENT_STUB, IN_CODE), "\x58", 1, LEAF_WORD - 1);
	java->world->start.registers[SENDER_SP_REGISTER] = stack_address(SENDER_WORD);
	java->world->start.registers[0] = return_to(java, SEGMENT_COMPILED);
	put_word(java, LEAF_WORD - 1, return_to(java, SEGMENT_CALLER));
	put_caller(java, LEAF_WORD);
	assert_java_unwind(java, "sCsE");
	put_code(java, java_code_at(SEGMENT_STUB, IN_CODE), "\x90", 1);
	java->world->start.registers[0] = 0;
	assert_java_unwind(java, "sCsE");
	/* From call_stub, pushed again behind the arguments. */
	put_word(java, LEAF_WORD - 1, java->process.call_stub_return);
	java->world->start.registers[6] = stack_address(SENDER_WORD + 10);
	put_call_stub(java, SENDER_WORD + 10);
	assert_java_unwind(java, "ssE");
}

static void an_adapter_has_its_call_mended(void **state)
{
	static const char behind[] = "\xc5\xf8\x77\x48\x0f\xae\x0c\x24\x48\x81\xc4\x20\0\0\0";
	enum { SAVED_WORD = LEAF_WORD + FRAME_WORDS + (0x20 + 16) / 8 };
	struct java *java = *state;
	uint64_t adapter = return_to(java, SEGMENT_STUB);

	put_number(java, blob_at(SEGMENT_STUB) + BLOB_NAME, OBJECTS + 0x300, 8);
	memcpy(java->objects + 0x300, "I2C/C2I adapters", 17);
	lay_compiled(java, IN_CODE, &in_frame);
	put_word(java, LEAF_WORD + FRAME_WORDS - 1, adapter);
	put_word(java, SAVED_WORD, stack_address(SAVED_WORD + 9));
	put_word(java, SAVED_WORD + 9, return_to(java, SEGMENT_CALLER));
	put_caller(java, SAVED_WORD + 10);
	assert_java_unwind(java, "Cs!");
	put_code(java, adapter, behind, sizeof(behind) - 1);
	assert_java_unwind(java, "CsCsE");
	put_code(java, adapter, behind + 3, sizeof(behind) - 4);
	assert_java_unwind(java, "CsCsE");
	/* It leads down the stack, and too far up. */
	put_word(java, SAVED_WORD, stack_address(SAVED_WORD));
	assert_java_unwind(java, "Cs!");
	put_word(java, SAVED_WORD, stack_address(SAVED_WORD) + 8200);
	assert_java_unwind(java, "Cs!");
	/* About to be called, and back again. */
	for (size_t i = 0; i < 4; i++) {
		static const char codes[4][5] = { "\x48\x0f\xae\4", "\x48\x0f\xae\x0c",
						  "\x48\x81\xc4\1", "\xc5\xf8\x77\x48" };

		set_leaf(java, java_code_at(SEGMENT_STUB, IN_CODE), codes[i], 4, LEAF_WORD);
		java->world->start.registers[SENDER_SP_REGISTER] = stack_address(SAVED_WORD + 9);
		java->world->start.registers[0] = return_to(java, SEGMENT_COMPILED);
		assert_java_unwind(java, "sCsE");
	}
}

static void an_exception_goes_on_where_a_register_says(void **state)
{
	struct java *java = *state;

	put_number(java, blob_at(SEGMENT_STUB) + BLOB_FRAME_SIZE, FRAME_WORDS, 4);
	set_leaf(java, java_code_at(SEGMENT_STUB, IN_CODE), "\x90", 1, LEAF_WORD);
	java->world->start.registers[1] = return_to(java, SEGMENT_CALLER);
	put_caller(java, LEAF_WORD);
	assert_java_unwind(java, "sC?sE");
}

static void code_is_found_by_its_segments(void **state)
{
	struct java *java = *state;
	uint64_t segment = (java_code_at(SEGMENT_COMPILED, IN_CODE) - CODE_START) / SEGMENT_BYTES;

	lay_compiled(java, IN_CODE, &in_frame);
	/* In two steps. */
	java->map[segment] = 1;
	assert_java_unwind(java, "CCsE");
	/* The map is not readable, leads out of the heap, and has a cycle. */
	java->map[segment] = JAVA_SEGMENT_FREE;
	assert_java_unwind(java, "!");
	java->map[segment] = (uint8_t)segment + 1;
	assert_java_unwind(java, "!");
	memset(java->map, 1, sizeof(java->map));
	assert_java_unwind(java, "!");
}

static void freed_and_forged_code_ends_the_unwind(void **state)
{
	struct java *java = *state;
	uint64_t blob = blob_at(SEGMENT_COMPILED);

	lay_compiled(java, IN_CODE, &in_frame);
	put_number(java, blob - BLOCK_BYTES + BLOCK_USED, 0, 1);
	assert_java_unwind(java, "!");
	put_number(java, blob - BLOCK_BYTES + BLOCK_USED, 1, 1);
	put_number(java, blob + BLOB_DATA, CODE_AT + IN_CODE, 4);
	assert_java_unwind(java, "!");
	put_number(java, blob + BLOB_DATA, CODE_AT + IN_CODE + 1, 4);
	assert_java_unwind(java, "CCsE");
	put_number(java, blob + BLOB_CODE, CODE_AT + IN_CODE + 1, 4);
	assert_java_unwind(java, "!");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		java_test(compiled_frames_lead_to_call_stub_and_its_caller),
		java_test(without_a_table_code_is_anonymous),
		java_test(the_next_runtime_is_asked_when_one_declines),
		java_test(a_runtime_that_makes_no_code_is_not_asked),
		java_test(at_its_end_a_method_has_no_frame),
		java_test(behind_its_frame_a_method_jumps_on_to_where_it_throws),
		java_test(at_its_beginning_a_method_makes_its_frame),
		java_test(behind_its_frame_a_method_may_ask_for_a_barrier),
		java_test(a_frame_may_be_there_before_the_frame_pointer_is_in_it),
		java_test(words_pushed_onto_a_leaf_s_frame_are_seen),
		java_test(registers_saved_around_a_barrier_s_call_are_passed_over),
		java_test(words_that_pow_has_on_the_stack_are_counted),
		java_test(a_stack_pointer_that_is_kept_on_the_stack_is_gone_back_to),
		java_test(what_is_behind_no_call_is_no_return_address),
		java_test(a_method_that_calls_itself_is_one_method),
		java_test(stubs_are_called_or_keep_a_frame),
		java_test(what_leads_to_a_virtual_method_leaves_the_stack_alone),
		java_test(adapters_keep_their_caller_s_stack_pointer_in_a_register),
		java_test(an_adapter_has_its_call_mended),
		java_test(an_exception_goes_on_where_a_register_says),
		java_test(code_is_found_by_its_segments),
		java_test(freed_and_forged_code_ends_the_unwind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
