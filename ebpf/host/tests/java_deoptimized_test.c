// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* Stacks of compiled frames that HotSpot has deoptimized, whose callees return to a handler. */
#include "ebpf/host/tests/java_fixture.h"

enum {
	HANDLER = 0x300,
	/* The caller's frame, and the word in it that has the original pc once it is deoptimized. */
	CALLER_WORD = LEAF_WORD + FRAME_WORDS,
	ORIGINAL_WORD = 3,
};

/* A caller that was deoptimized at 0x200, and whose callee returns to its handler. */
static void lay_deoptimized(struct java *java)
{
	publish_java(java);
	lay_compiled(java, IN_CODE, &in_frame);
	put_word(java, CALLER_WORD - 1, java_code_at(SEGMENT_CALLER, HANDLER));
	put_number(java, java_code_at(SEGMENT_CALLER, HANDLER), 0xe8, 5);
	put_number(java, blob_at(SEGMENT_CALLER) + BLOB_ORIGINAL_PC, 8 * ORIGINAL_WORD, 4);
	put_word(java, CALLER_WORD + ORIGINAL_WORD, java_code_at(SEGMENT_CALLER, 0x200));
}

static void assert_caller_at(struct java *java, uint32_t position)
{
	/* In the second unwind the method is cached. */
	for (int unwind = 0; unwind < 2; unwind++) {
		assert_java_unwind(java, "CCsE");
		assert_int_equal(java->world->trace.words[3] >> 32, JAVA_COMPILED | position);
	}
}

static void a_deoptimized_frame_is_where_it_was(void **state)
{
	const uint64_t handler = java_code_at(SEGMENT_CALLER, HANDLER);
	/* The fields of JDK 9 to 22, and those of the others. */
	const struct {
		uint32_t field;
		uint16_t bytes;
		uint64_t value;
	} handlers[] = {
		{ BLOB_DEOPT_HANDLER, 8, handler },
		{ BLOB_DEOPT_MH_HANDLER, 8, handler },
		{ BLOB_DEOPT_HANDLER, 4, CODE_AT + HANDLER },
		{ BLOB_DEOPT_MH_HANDLER, 4, CODE_AT + HANDLER },
	};

	for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
		struct java *java;

		java_teardown(state);
		java_setup(state);
		java = *state;
		java->process.deopt_handler_bytes = handlers[i].bytes;
		lay_deoptimized(java);
		put_number(java, blob_at(SEGMENT_CALLER) + handlers[i].field, handlers[i].value,
			   handlers[i].bytes);
		assert_caller_at(java, 0x200);
		/* The word may have any value. */
		put_word(java, CALLER_WORD + ORIGINAL_WORD,
			 java_code_at(SEGMENT_CALLER, HANDLER + 1));
		assert_caller_at(java, HANDLER);
		put_word(java, CALLER_WORD + ORIGINAL_WORD, CODE_START - 1);
		assert_caller_at(java, HANDLER);
	}
}

static void put_handler(struct java *java, uint32_t segment)
{
	put_number(java, blob_at(segment) + BLOB_DEOPT_HANDLER, java_code_at(segment, HANDLER), 8);
}

static void what_is_not_the_nmethod_s_handler_is_a_return_address(void **state)
{
	struct java *java = *state;

	/* The handler of another nmethod, and none. */
	lay_deoptimized(java);
	put_number(java, blob_at(SEGMENT_CALLER) + BLOB_DEOPT_HANDLER,
		   java_code_at(SEGMENT_COMPILED, HANDLER), 8);
	assert_caller_at(java, HANDLER);
	java_teardown(state);
	java_setup(state);
	java = *state;
	java->process.deopt_handler_bytes = 4;
	lay_deoptimized(java);
	put_number(java, blob_at(SEGMENT_CALLER) + BLOB_DEOPT_HANDLER, (uint32_t)-1, 4);
	assert_caller_at(java, HANDLER);
}

static void where_handlers_are_not_known_frames_are_there(void **state)
{
	struct java *java = *state;

	java->process.deopt_handler_bytes = 0;
	lay_deoptimized(java);
	put_handler(java, SEGMENT_CALLER);
	assert_caller_at(java, HANDLER);
}

static void what_is_beyond_the_frame_is_not_taken_for_a_deoptimized_frame_s_pc(void **state)
{
	struct java *java = *state;

	lay_deoptimized(java);
	put_handler(java, SEGMENT_CALLER);
	put_number(java, blob_at(SEGMENT_CALLER) + BLOB_ORIGINAL_PC, 8 * CALLER_FRAME_WORDS, 4);
	put_word(java, CALLER_WORD + CALLER_FRAME_WORDS, java_code_at(SEGMENT_CALLER, 0x200));
	assert_caller_at(java, HANDLER);
}

static void at_a_handler_s_first_instruction_a_leaf_is_there(void **state)
{
	static const struct leaf handler = LEAF("\xe8\0\0\0\0", FRAME_WORDS - 1);
	struct java *java = *state;

	put_number(java, blob_at(SEGMENT_COMPILED) + BLOB_OOP_MAPS, OBJECTS, 8);
	put_number(java, blob_at(SEGMENT_COMPILED) + BLOB_ORIGINAL_PC, 8, 4);
	put_handler(java, SEGMENT_COMPILED);
	lay_compiled(java, HANDLER, &handler);
	put_word(java, LEAF_WORD + 1, java_code_at(SEGMENT_COMPILED, 0x200));
	assert_java_unwind(java, "CCsE");
	assert_int_equal(java->world->trace.words[1] >> 32, JAVA_COMPILED | HANDLER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		java_test(a_deoptimized_frame_is_where_it_was),
		java_test(what_is_not_the_nmethod_s_handler_is_a_return_address),
		java_test(where_handlers_are_not_known_frames_are_there),
		java_test(what_is_beyond_the_frame_is_not_taken_for_a_deoptimized_frame_s_pc),
		java_test(at_a_handler_s_first_instruction_a_leaf_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
