// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* Stacks of HotSpot's interpreter, for each position at which a thread may be interrupted. */
#include "ebpf/host/tests/java_fixture.h"

enum {
	/* An interpreter's frame, above its expressions: its frame pointer and its caller's stack pointer. */
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
	assert_java_unwind(java, "ICsE");
	assert_int_equal(trace->words[0], frame_word(FRAME_JAVA, 0, METHOD));
	assert_int_equal(trace->words[1],
			 4ULL << 32 | java_method_fingerprint(OBJECTS, BYTECODE_BYTES, 0, 0, 0));
	/* The register has something else meanwhile. */
	java->world->start.registers[SENDER_SP_REGISTER] = BYTECODES + BYTECODE_BYTES;
	assert_java_unwind(java, "ICsE");
	assert_int_equal(trace->words[1] >> 32, 7);
	put_word(java, FP_WORD - BCP_SLOT, 0);
	assert_java_unwind(java, "ICsE");
	assert_int_equal(trace->words[1] >> 32, JAVA_NO_BCI);
	put_word(java, FP_WORD - 3, 16);
	assert_java_unwind(java, "!");
	java->world->start.registers[6] = stack_address(LEAF_WORD) - 8;
	assert_java_unwind(java, "!");
}

static void unloaded_classes_make_another_method_of_what_lies_at_its_address(void **state)
{
	struct java *java = *state;
	const uint64_t *words = java->world->trace.words;
	const uint64_t counter = OBJECTS + 0x400;

	lay_interpreted(java, FP_WORD);
	set_leaf(java, INTERPRETER + 16, "\x90", 1, LEAF_WORD);
	java->world->start.registers[6] = stack_address(FP_WORD);
	java->process.unloads = counter;
	publish_java(java);
	for (uint64_t count = 1; count < 4; count++) {
		put_object(java, counter, count, 8);
		assert_java_unwind(java, "ICsE");
		assert_int_equal((uint32_t)words[1],
				 java_method_fingerprint(OBJECTS, BYTECODE_BYTES, count, 0, 0));
	}
	/* A count that cannot be read is taken as 0. */
	java->process.unloads = 8;
	publish_java(java);
	assert_java_unwind(java, "ICsE");
	assert_int_equal((uint32_t)words[1],
			 java_method_fingerprint(OBJECTS, BYTECODE_BYTES, 0, 0, 0));
}

static void a_redefined_class_makes_another_method_of_what_lies_at_its_address(void **state)
{
	enum { HOLDER_AT = 24, VERSION_AT = 64, HOLDER = 0x7f0012345678 };
	struct java *java = *state;
	const uint64_t *words = java->world->trace.words;

	lay_interpreted(java, FP_WORD);
	set_leaf(java, INTERPRETER + 16, "\x90", 1, LEAF_WORD);
	java->world->start.registers[6] = stack_address(FP_WORD);
	java->process.constants_holder = HOLDER_AT;
	java->process.constants_version = VERSION_AT;
	publish_java(java);
	for (uint32_t version = 0; version < 4; version++) {
		put_object(java, OBJECTS + HOLDER_AT, HOLDER + version / 2, 8);
		put_object(java, OBJECTS + VERSION_AT, version, 4);
		assert_java_unwind(java, "ICsE");
		assert_int_equal((uint32_t)words[1],
				 java_method_fingerprint(OBJECTS, BYTECODE_BYTES, 0,
							 HOLDER + version / 2, version));
	}
	/* They lie too far apart. */
	java->process.constants_version = HOLDER_AT + JAVA_CONSTANTS_BYTES;
	publish_java(java);
	assert_java_unwind(java, "ICsE");
	assert_int_equal((uint32_t)words[1],
			 java_method_fingerprint(OBJECTS, BYTECODE_BYTES, 0, 0, 0));
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
	assert_java_unwind(java, "IICsE");
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
	assert_java_unwind(java, "ICsE");
	assert_int_equal(java->world->trace.words[1] >> 32, 0);
	/* One of C has no bytecode. */
	put_object(java, CONST_METHOD + CONST_CODE_SIZE, 0, 2);
	assert_java_unwind(java, "ICsE");
	assert_int_equal(java->world->trace.words[1] >> 32, JAVA_NO_BCI);
}

static void at_its_entry_the_interpreter_makes_its_frame(void **state)
{
	/* The return address in rax, or words above the stack pointer; the frame pointer, or none. */
	static const struct {
		const char *code;
		int return_word;
		uint32_t fp_word;
	} leaves[] = {
		{ "\x90\x90\x90", 0, 0 },
		{ "\x90\x90\x90", -1, 0 },
		{ "\x50\x55\x48", -1, 0 },
		{ "\x55\x48\x8b", 0, 0 },
		{ "\x48\x8b\xec", 1, 0 },
		{ "\x41\x55\x90", 1, LEAF_WORD },
		{ "\x68\x00\x00", 2, LEAF_WORD + 1 },
	};

	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		struct java *java;
		uint64_t address;

		java_teardown(state);
		java_setup(state);
		java = *state;
		put_caller(java, SENDER_WORD);
		set_leaf(java, INTERPRETER + 64, leaves[i].code, 3, LEAF_WORD);
		address = return_to(java, SEGMENT_CALLER);
		java->world->start.registers[METHOD_REGISTER] = METHOD;
		java->world->start.registers[SENDER_SP_REGISTER] = stack_address(SENDER_WORD);
		if (leaves[i].return_word < 0)
			java->world->start.registers[0] = address;
		else
			put_word(java, LEAF_WORD + leaves[i].return_word, address);
		if (leaves[i].fp_word)
			java->world->start.registers[6] = stack_address(leaves[i].fp_word);
		assert_java_unwind(java, "ICsE");
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
		assert_java_unwind(java, "ICsE");
		assert_int_equal(java->world->trace.words[0], frame_word(FRAME_JAVA, 0, METHOD));
	}
}

#define COMPARE "\x49\x3b\xa7\1\2\0\0"
#define JUMP_OVER "\x72\x0b"
#define MOV_0 "\x49\xc7\x87\1\2\0\0\0\0\0\0"
#define JUMP "\x41\xff\xe5"
/* mov rax, [r15 + d32] */
#define TAKE_EXCEPTION "\x49\x8b\x87\1\2\0\0"

static void at_its_end_the_interpreter_has_left_its_frame(void **state)
{
	static const struct leaf leaves[] = {
		LEAF("\x41\x5d\x48\x8b\xe3\x41\xff\xe5", 0),
		LEAF("\x41\xc6\x87\1\2\0\0\0\x41\x5d\x48\x8b\xe3", 0),
		LEAF("\x41\xc6\x87\1\2\0\0\0\x5a\x48\x8b\xe3", 0),
		LEAF("\x48\x8b\xe3\x41\xff\xe5", 1),
		LEAF("\x41\xff\xe5", 2),
		LEAF("\x48\x8b\xe3" COMPARE JUMP_OVER MOV_0 JUMP, 1),
		LEAF(COMPARE JUMP_OVER MOV_0 JUMP, 2),
		LEAF(JUMP_OVER MOV_0 JUMP, 2),
		LEAF(MOV_0 JUMP, 2),
	};

	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		uint32_t caller_word = leaves[i].return_word == 2 ? LEAF_WORD : SENDER_WORD;
		struct java *java;

		java_teardown(state);
		java_setup(state);
		java = *state;
		put_caller(java, caller_word);
		set_leaf(java, INTERPRETER + 64, leaves[i].code, leaves[i].size, LEAF_WORD);
		java->world->start.registers[METHOD_REGISTER] = stack_address(SENDER_WORD);
		if (leaves[i].return_word)
			java->world->start.registers[SENDER_SP_REGISTER] =
				return_to(java, SEGMENT_CALLER);
		else
			put_word(java, LEAF_WORD, return_to(java, SEGMENT_CALLER));
		assert_java_unwind(java, "sCsE");
	}
}

static void an_exception_leaves_the_frame_with_its_return_address_in_another_register(void **state)
{
	static const struct leaf leaves[] = {
		LEAF("\x48\x8b\xe3" COMPARE JUMP_OVER MOV_0 TAKE_EXCEPTION, 1),
		LEAF(COMPARE JUMP_OVER MOV_0 TAKE_EXCEPTION, 2),
		LEAF(JUMP_OVER MOV_0 TAKE_EXCEPTION, 2),
	};

	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		uint32_t caller_word = leaves[i].return_word == 2 ? LEAF_WORD : SENDER_WORD;
		struct java *java;

		java_teardown(state);
		java_setup(state);
		java = *state;
		put_caller(java, caller_word);
		set_leaf(java, INTERPRETER + 64, leaves[i].code, leaves[i].size, LEAF_WORD);
		java->world->start.registers[METHOD_REGISTER] = stack_address(SENDER_WORD);
		java->world->start.registers[EXCEPTION_REGISTER] = return_to(java, SEGMENT_CALLER);
		assert_java_unwind(java, "sCsE");
	}
}

static void the_same_instructions_stand_where_the_frame_is(void **state)
{
	static const struct leaf leaves[] = {
		/* Behind a call of native code. */
		LEAF(COMPARE JUMP_OVER MOV_0 "\xc5\xf8\x77", 0),
		LEAF(JUMP_OVER MOV_0 "\xc5\xf8\x77", 0),
		LEAF(MOV_0 "\xc5\xf8\x77", 0),
		/* Behind a call of the JVM. */
		LEAF(MOV_0 TAKE_EXCEPTION, 0),
	};
	struct java *java = *state;

	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		lay_interpreted(java, FP_WORD);
		set_leaf(java, INTERPRETER + 16, leaves[i].code, leaves[i].size, LEAF_WORD);
		java->world->start.registers[6] = stack_address(FP_WORD);
		java->world->start.registers[METHOD_REGISTER] = stack_address(FP_WORD + 5);
		java->world->start.registers[EXCEPTION_REGISTER] = INTERPRETER + 80;
		assert_java_unwind(java, "ICsE");
	}
}

static void at_its_entry_the_stack_may_be_the_caller_s(void **state)
{
	struct java *java = *state;

	/* The word that looks like a return address is an argument. */
	put_word(java, LEAF_WORD, return_to(java, SEGMENT_COMPILED));
	put_caller(java, LEAF_WORD);
	set_leaf(java, INTERPRETER + 64, "\x4c\x8d\x74", 3, LEAF_WORD);
	java->world->start.registers[0] = return_to(java, SEGMENT_CALLER);
	java->world->start.registers[METHOD_REGISTER] = METHOD;
	java->world->start.registers[SENDER_SP_REGISTER] = stack_address(LEAF_WORD);
	assert_java_unwind(java, "ICsE");
	assert_int_equal(java->world->trace.words[1] >> 32, 0);
}

/* Two frames that are being made: both as the interpreter's, and none has a method yet. */
static void frames_that_are_not_filled_yet_are_left_out(void **state)
{
	/* movq $0, -16(%rbp); mov -16(%rbp), %rsp or %rcx */
	static const char *const codes[] = { "\x48\xc7\x45\xf0\0\0\0\0",
					     "\x48\x8b\x65\xf0\x48\xc7\x45\xf0",
					     "\x48\x8b\x4d\xf0\x48\x8d\x64\xcd" };
	enum { FIRST = FP_WORD - 10, LAST_SP = 2 };
	struct java *java = *state;

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		lay_interpreted(java, FP_WORD);
		put_word(java, FP_WORD - LAST_SP, 0);
		put_word(java, FIRST, stack_address(FP_WORD));
		put_word(java, FIRST + 1, INTERPRETER + 48);
		put_word(java, FIRST - 1, stack_address(FIRST + 2));
		put_word(java, FIRST - LAST_SP, 0);
		/* An older method's. */
		put_word(java, FIRST - 3, METHOD);
		put_code(java, INTERPRETER + 48, codes[i], 8);
		/* The stub has called the JVM, which fills them. */
		put_word(java, LEAF_WORD, INTERPRETER + 48);
		set_leaf(java, java_code_at(SEGMENT_STUB, IN_CODE), "\xc3", 1, LEAF_WORD);
		java->world->start.registers[6] = stack_address(FIRST);
		assert_java_unwind(java, "sC?sE");
		/* The outer one is filled. */
		put_word(java, FP_WORD - LAST_SP, stack_address(FIRST + 2));
		assert_java_unwind(java, "sI?CsE");
		/* Both. */
		put_word(java, FIRST - BCP_SLOT, BYTECODES + 3);
		put_word(java, FIRST - LAST_SP, stack_address(LEAF_WORD));
		assert_java_unwind(java, "sI?ICsE");
		/* Elsewhere the JVM is called with this slot empty. */
		put_word(java, FIRST - LAST_SP, 0);
		put_code(java, INTERPRETER + 48, "\x48\x8b\x45\xd0", 4);
		assert_java_unwind(java, "sI?ICsE");
	}
}

static void methods_of_an_archive_are_entered_by_a_jump(void **state)
{
	struct java *java = *state;
	uint64_t jump = OBJECTS + 0x800, to = INTERPRETER + 64;

	put_caller(java, SENDER_WORD);
	put_code(java, to, "\x90\x90\x90", 3);
	put_object(java, jump, 0xba49, 2);
	put_object(java, jump + 2, to, 8);
	put_object(java, jump + 10, 0xe2ff41, 8);
	java->world->start.registers[METHOD_REGISTER] = METHOD;
	java->world->start.registers[SENDER_SP_REGISTER] = stack_address(SENDER_WORD);
	java->world->start.registers[10] = 0;
	put_word(java, LEAF_WORD, return_to(java, SEGMENT_CALLER));
	world_set_registers(java->world, jump, stack_address(LEAF_WORD), 0);
	assert_java_unwind(java, "ICsE");
	world_set_registers(java->world, jump + 10, stack_address(LEAF_WORD), 0);
	java->world->start.registers[10] = to;
	assert_java_unwind(java, "ICsE");
	/* Elsewhere. */
	java->world->start.registers[10] = OBJECTS;
	world_unwind(java->world);
	assert_int_not_equal(frame_kind(java->world->trace.words[0]), FRAME_JAVA);
}

/* lea 8(%rsp), %r13 is in front of the code that fills the slot of the stack pointer. */
static void a_frame_that_calls_is_there_before_its_stack_pointer_is_kept(void **state)
{
	enum { LAST_SP = 2, RETURN_AT = INTERPRETER + 48 };
	struct java *java = *state;

	lay_interpreted(java, FP_WORD);
	put_word(java, FP_WORD - LAST_SP, 0);
	put_code(java, RETURN_AT, "\x48\xc7\x45\xf0\0\0\0\0", 8);
	put_word(java, LEAF_WORD, RETURN_AT);
	set_leaf(java, INTERPRETER + 16, "\x4c\x89\xe9", 3, LEAF_WORD);
	java->world->start.registers[6] = stack_address(FP_WORD);
	java->world->start.registers[METHOD_REGISTER] = METHOD;
	java->world->start.registers[SENDER_SP_REGISTER] = stack_address(LEAF_WORD + 1);
	assert_java_unwind(java, "IICsE");
}

static void a_leaf_that_reads_its_frame_is_behind_the_entry(void **state)
{
	static const struct leaf leaves[] = {
		/* mov -0x10(%rbp),%rsp; mov -0x40(%rbp),%r13; lea 0(%rbp,%rcx,8),%rsp; movq $0,-0x10(%rbp) */
		LEAF("\x48\x8b\x65\xf0", 0),
		LEAF("\x4c\x8b\x6d\xc0", 0),
		LEAF("\x48\x8d\x64\xcd\0", 0),
		LEAF("\x48\xc7\x45\xf0\0", 0),
	};
	struct java *java = *state;

	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		lay_interpreted(java, FP_WORD);
		set_leaf(java, INTERPRETER + 16, leaves[i].code, leaves[i].size, LEAF_WORD);
		java->world->start.registers[6] = stack_address(FP_WORD);
		/* A stale value of a compiled callee. */
		java->world->start.registers[SENDER_SP_REGISTER] = stack_address(LEAF_WORD + 5);
		assert_java_unwind(java, "ICsE");
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
	assert_java_unwind(java, "ICsE");
	put_word(java, FP_WORD - 1, stack_address(FP_WORD));
	assert_java_unwind(java, "!");
}

static void stacks_that_lead_back_end(void **state)
{
	struct java *java = *state;

	lay_interpreted(java, FP_WORD);
	put_word(java, FP_WORD - 1, stack_address(LEAF_WORD - 8));
	set_leaf(java, INTERPRETER + 16, "\x90", 1, LEAF_WORD);
	java->world->start.registers[6] = stack_address(FP_WORD);
	assert_java_unwind(java, "!");
}
int main(void)
{
	const struct CMUnitTest tests[] = {
		java_test(frames_of_the_interpreter_keep_their_caller_s_stack_pointer),
		java_test(unloaded_classes_make_another_method_of_what_lies_at_its_address),
		java_test(a_redefined_class_makes_another_method_of_what_lies_at_its_address),
		java_test(a_method_that_calls_itself_is_one_method),
		java_test(a_method_that_begins_is_at_its_first_bytecode),
		java_test(at_its_entry_the_interpreter_makes_its_frame),
		java_test(the_method_is_pushed_behind_the_caller_s_stack_pointer),
		java_test(at_its_end_the_interpreter_has_left_its_frame),
		java_test(
			an_exception_leaves_the_frame_with_its_return_address_in_another_register),
		java_test(the_same_instructions_stand_where_the_frame_is),
		java_test(at_its_entry_the_stack_may_be_the_caller_s),
		java_test(frames_that_are_not_filled_yet_are_left_out),
		java_test(a_frame_that_calls_is_there_before_its_stack_pointer_is_kept),
		java_test(methods_of_an_archive_are_entered_by_a_jump),
		java_test(a_leaf_that_reads_its_frame_is_behind_the_entry),
		java_test(a_method_handle_pops_an_argument_behind_its_caller_s_back),
		java_test(stacks_that_lead_back_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
