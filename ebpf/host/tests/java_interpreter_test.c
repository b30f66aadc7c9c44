// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* Stacks of HotSpot's interpreter: each place that a thread may be interrupted at. */
#include "ebpf/host/tests/java_fixture.h"

enum {
	/* Of an interpreter's frame, above its expressions. */
	FP_WORD = LEAF_WORD + 20,
	SENDER_WORD = FP_WORD + 10,
};

/* A frame of the interpreter, its frame pointer at @fp; its caller is compiled. */
static void lay_interpreted(struct java *java, uint32_t fp)
{
	put_word(java, fp - BCP_SLOT, BYTECODES + 7);
	put_word(java, fp - 3, METHOD);
	put_word(java, fp - 1, stack_address(SENDER_WORD));
	put_word(java, fp, 0);
	put_word(java, fp + 1, return_to(java, SEGMENT_CALLER));
	put_caller(java, SENDER_WORD);
}

static void frames_of_the_interpreter_keep_their_caller_s_stack_pointer(void **state)
{
	struct java *java = *state;
	const struct emulated_trace *trace = &java->world->trace;

	lay_interpreted(java, FP_WORD);
	set_leaf(java, INTERPRETER + 16, "\x90", 1, LEAF_WORD);
	java->world->start.registers[6] = stack_address(FP_WORD);
	assert_java_walk(java, "ICsE");
	assert_int_equal(trace->words[0], frame_word(FRAME_JAVA, 0, METHOD));
	assert_int_equal(trace->words[1], 4ULL << 32 | java_fingerprint(OBJECTS, BYTECODE_BYTES));
	/* The register has something else meanwhile. */
	java->world->start.registers[SENDER_SP_REGISTER] = BYTECODES + BYTECODE_BYTES;
	assert_java_walk(java, "ICsE");
	assert_int_equal(trace->words[1] >> 32, 7);
	put_word(java, FP_WORD - BCP_SLOT, 0);
	assert_java_walk(java, "ICsE");
	assert_int_equal(trace->words[1] >> 32, JAVA_NO_BCI);
	put_word(java, FP_WORD - 3, 16);
	assert_java_walk(java, "!");
	java->world->start.registers[6] = stack_address(LEAF_WORD) - 8;
	assert_java_walk(java, "!");
}

static void a_method_that_calls_itself_is_one_method(void **state)
{
	struct java *java = *state;
	const struct emulated_trace *trace = &java->world->trace;

	/* From another bytecode. */
	lay_interpreted(java, FP_WORD + 30);
	lay_interpreted(java, FP_WORD);
	put_caller(java, SENDER_WORD + 30);
	put_word(java, FP_WORD + 29, stack_address(SENDER_WORD + 30));
	put_word(java, FP_WORD + 30 - BCP_SLOT, BYTECODES + 9);
	put_word(java, FP_WORD, stack_address(FP_WORD + 30));
	put_word(java, FP_WORD + 1, INTERPRETER + 32);
	set_leaf(java, INTERPRETER + 16, "\x90", 1, LEAF_WORD);
	java->world->start.registers[6] = stack_address(FP_WORD);
	assert_java_walk(java, "IICsE");
	assert_int_equal(trace->words[1] >> 32, 4);
	assert_int_equal(trace->words[2], frame_word(FRAME_JAVA, FRAME_RETURN_ADDRESS, METHOD));
	assert_int_equal(trace->words[3], 9ULL << 32 | (uint32_t)trace->words[1]);
}

static void a_method_that_begins_is_at_its_first_bytecode(void **state)
{
	struct java *java = *state;

	lay_interpreted(java, FP_WORD);
	set_leaf(java, INTERPRETER + 16, "\x53", 1, FP_WORD - BCP_SLOT + 1);
	java->world->start.registers[6] = stack_address(FP_WORD);
	java->world->start.registers[METHOD_REGISTER] = METHOD;
	assert_java_walk(java, "ICsE");
	assert_int_equal(java->world->trace.words[1] >> 32, 0);
	/* One of C has no bytecode. */
	put_object(java, CONST_METHOD + CONST_CODE_SIZE, 0, 2);
	assert_java_walk(java, "ICsE");
	assert_int_equal(java->world->trace.words[1] >> 32, JAVA_NO_BCI);
}

static void at_its_entry_the_interpreter_makes_its_frame(void **state)
{
	/* The return address in rax, or words above the stack pointer; the frame pointer, or none. */
	static const struct {
		const char *code;
		int return_word;
		uint32_t fp_word;
	} places[] = {
		{ "\x90\x90\x90", 0, 0 },
		{ "\x90\x90\x90", -1, 0 },
		{ "\x50\x55\x48", -1, 0 },
		{ "\x55\x48\x8b", 0, 0 },
		{ "\x48\x8b\xec", 1, 0 },
		{ "\x41\x55\x90", 1, LEAF_WORD },
		{ "\x68\x00\x00", 2, LEAF_WORD + 1 },
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct java *java;
		uint64_t address;

		java_teardown(state);
		java_setup(state);
		java = *state;
		put_caller(java, SENDER_WORD);
		set_leaf(java, INTERPRETER + 64, places[i].code, 3, LEAF_WORD);
		address = return_to(java, SEGMENT_CALLER);
		java->world->start.registers[METHOD_REGISTER] = METHOD;
		java->world->start.registers[SENDER_SP_REGISTER] = stack_address(SENDER_WORD);
		if (places[i].return_word < 0)
			java->world->start.registers[0] = address;
		else
			put_word(java, LEAF_WORD + places[i].return_word, address);
		if (places[i].fp_word)
			java->world->start.registers[6] = stack_address(places[i].fp_word);
		assert_java_walk(java, "ICsE");
		assert_int_equal(java->world->trace.words[1] >> 32, 0);
	}
}

static void the_method_is_pushed_behind_the_caller_s_stack_pointer(void **state)
{
	struct java *java = *state;

	/* With and without the word between them; what is below the stack is nobody's. */
	for (uint32_t words = 1; words <= 2; words++) {
		lay_interpreted(java, FP_WORD);
		put_word(java, FP_WORD - 3, OBJECTS + 0x400);
		set_leaf(java, INTERPRETER + 16, "\x53", 1, FP_WORD - words);
		java->world->start.registers[6] = stack_address(FP_WORD);
		java->world->start.registers[METHOD_REGISTER] = METHOD;
		assert_java_walk(java, "ICsE");
		assert_int_equal(java->world->trace.words[0], frame_word(FRAME_JAVA, 0, METHOD));
	}
}

static void at_its_end_the_interpreter_has_left_its_frame(void **state)
{
	static const struct place places[] = {
		PLACE("\x41\x5d\x48\x8b\xe3\x41\xff\xe5", 0),
		PLACE("\x48\x8b\xe3\x41\xff\xe5", 1),
		PLACE("\x41\xff\xe5", 2),
		PLACE("\x48\x8b\xe3\x49\x3b\xa7", 1),
		PLACE("\x49\x3b\xa7\1\2\0\0\x72", 2),
		PLACE("\x72\x0b\x49\xc7\x87", 2),
		PLACE("\x49\xc7\x87\1\2\0\0\0\0\0\0\x41\xff\xe5", 2),
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		uint32_t caller_word = places[i].return_word == 2 ? LEAF_WORD : SENDER_WORD;
		struct java *java;

		java_teardown(state);
		java_setup(state);
		java = *state;
		put_caller(java, caller_word);
		set_leaf(java, INTERPRETER + 64, places[i].code, places[i].size, LEAF_WORD);
		java->world->start.registers[METHOD_REGISTER] = stack_address(SENDER_WORD);
		if (i)
			java->world->start.registers[SENDER_SP_REGISTER] =
				return_to(java, SEGMENT_CALLER);
		else
			put_word(java, LEAF_WORD, return_to(java, SEGMENT_CALLER));
		assert_java_walk(java, "sCsE");
	}
}

static void a_leaf_that_reads_its_frame_is_behind_the_entry(void **state)
{
	static const struct place places[] = {
		/* mov -0x10(%rbp),%rsp; mov -0x40(%rbp),%r13; lea 0(%rbp,%rcx,8),%rsp; movq $0,-0x10(%rbp) */
		PLACE("\x48\x8b\x65\xf0", 0),
		PLACE("\x4c\x8b\x6d\xc0", 0),
		PLACE("\x48\x8d\x64\xcd\0", 0),
		PLACE("\x48\xc7\x45\xf0\0", 0),
	};
	struct java *java = *state;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		lay_interpreted(java, FP_WORD);
		set_leaf(java, INTERPRETER + 16, places[i].code, places[i].size, LEAF_WORD);
		java->world->start.registers[6] = stack_address(FP_WORD);
		/* What a compiled callee has left. */
		java->world->start.registers[SENDER_SP_REGISTER] = stack_address(LEAF_WORD + 5);
		assert_java_walk(java, "ICsE");
	}
}

static void a_method_handle_pops_an_argument_behind_its_caller_s_back(void **state)
{
	struct java *java = *state;

	lay_interpreted(java, FP_WORD);
	put_caller(java, FP_WORD + 2);
	put_word(java, FP_WORD - 1, stack_address(FP_WORD + 1));
	set_leaf(java, INTERPRETER + 16, "\x90", 1, LEAF_WORD);
	java->world->start.registers[6] = stack_address(FP_WORD);
	assert_java_walk(java, "ICsE");
	put_word(java, FP_WORD - 1, stack_address(FP_WORD));
	assert_java_walk(java, "!");
}

static void stacks_that_lead_back_end(void **state)
{
	struct java *java = *state;

	lay_interpreted(java, FP_WORD);
	put_word(java, FP_WORD - 1, stack_address(LEAF_WORD - 8));
	set_leaf(java, INTERPRETER + 16, "\x90", 1, LEAF_WORD);
	java->world->start.registers[6] = stack_address(FP_WORD);
	assert_java_walk(java, "!");
}
int main(void)
{
	const struct CMUnitTest tests[] = {
		java_test(frames_of_the_interpreter_keep_their_caller_s_stack_pointer),
		java_test(a_method_that_calls_itself_is_one_method),
		java_test(a_method_that_begins_is_at_its_first_bytecode),
		java_test(at_its_entry_the_interpreter_makes_its_frame),
		java_test(the_method_is_pushed_behind_the_caller_s_stack_pointer),
		java_test(at_its_end_the_interpreter_has_left_its_frame),
		java_test(a_leaf_that_reads_its_frame_is_behind_the_entry),
		java_test(a_method_handle_pops_an_argument_behind_its_caller_s_back),
		java_test(stacks_that_lead_back_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
