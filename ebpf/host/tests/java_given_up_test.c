// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* Stacks of compiled frames that HotSpot has given up, whose callees return to a handler. */
#include "ebpf/host/tests/java_fixture.h"

enum {
	HANDLER = 0x300,
	/* Of the caller's frame, where it has its place once it was given up. */
	CALLER_WORD = LEAF_WORD + FRAME_WORDS,
	ORIGINAL_WORD = 3,
};

/* A caller that was given up at 0x200, and whose callee returns to @entry of its code. */
static void lay_given_up(struct java *java, uint16_t deopt_handler, uint32_t entry)
{
	java->process.deopt_handler = deopt_handler;
	publish_java(java);
	lay_compiled(java, IN_CODE, &in_frame);
	put_word(java, CALLER_WORD - 1, java_code_at(SEGMENT_CALLER, entry));
	put_number(java, blob_at(SEGMENT_CALLER) + BLOB_ORIGINAL_PC, 8 * ORIGINAL_WORD, 4);
	put_word(java, CALLER_WORD + ORIGINAL_WORD, java_code_at(SEGMENT_CALLER, 0x200));
}

static void assert_caller_at(struct java *java, uint32_t position)
{
	/* By the second walk the method is known. */
	for (int walk = 0; walk < 2; walk++) {
		assert_java_walk(java, "CCsE");
		assert_int_equal(java->world->trace.words[3] >> 32, JAVA_COMPILED | position);
	}
}

static void a_frame_that_was_given_up_is_where_it_was(void **state)
{
	const uint64_t self = java_code_at(SEGMENT_CALLER, HANDLER);
	/* Of C2 and of C1 up to 25, and of both from 26 on. */
	const struct {
		const char *code;
		uint32_t size, entry;
		uint16_t kind;
	} handlers[] = {
		{ "\xe8\0\0\0\0", 5, HANDLER, JAVA_DEOPT_HANDLER_CALLS },
		{ "\x49\xba", 2, HANDLER, JAVA_DEOPT_HANDLER_CALLS },
		{ "\xe8\1\0\0\0\xeb\xf9", 7, HANDLER + 5, JAVA_DEOPT_HANDLER_JUMPS_BACK },
	};

	for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
		uint32_t entry = handlers[i].entry;
		struct java *java;

		java_teardown(state);
		java_setup(state);
		java = *state;
		put_number(java, self + 2, self, 8);
		put_code(java, self, handlers[i].code, handlers[i].size);
		lay_given_up(java, handlers[i].kind, entry);
		assert_caller_at(java, 0x200);
		/* What lies there may be anything. */
		put_word(java, CALLER_WORD + ORIGINAL_WORD,
			 java_code_at(SEGMENT_CALLER, entry + 1));
		assert_caller_at(java, entry);
		put_word(java, CALLER_WORD + ORIGINAL_WORD, CODE_START - 1);
		assert_caller_at(java, entry);
	}
}

static void what_is_no_handler_of_the_version_is_a_return_address(void **state)
{
	struct java *java = *state;

	/* A loop that calls, and has no nop in it. */
	put_code(java, java_code_at(SEGMENT_CALLER, HANDLER), "\xe8\1\0\0\0\xeb\xf9", 7);
	lay_given_up(java, JAVA_DEOPT_HANDLER_CALLS, HANDLER + 5);
	assert_caller_at(java, HANDLER + 5);
	java_teardown(state);
	java_setup(state);
	java = *state;
	put_code(java, java_code_at(SEGMENT_CALLER, HANDLER), "\xe8\0\0\0\0", 5);
	lay_given_up(java, JAVA_DEOPT_HANDLER_UNKNOWN, HANDLER);
	assert_caller_at(java, HANDLER);
}

static void what_is_beyond_the_frame_is_no_place_of_one_that_was_given_up(void **state)
{
	struct java *java = *state;

	put_code(java, java_code_at(SEGMENT_CALLER, HANDLER), "\xe8\0\0\0\0", 5);
	lay_given_up(java, JAVA_DEOPT_HANDLER_CALLS, HANDLER);
	put_number(java, blob_at(SEGMENT_CALLER) + BLOB_ORIGINAL_PC, 8 * CALLER_FRAME_WORDS, 4);
	put_word(java, CALLER_WORD + CALLER_FRAME_WORDS, java_code_at(SEGMENT_CALLER, 0x200));
	assert_caller_at(java, HANDLER);
}

static void at_a_handler_s_first_instruction_a_leaf_is_there(void **state)
{
	static const struct place handler = PLACE("\xe8\0\0\0\0", FRAME_WORDS - 1);
	struct java *java = *state;

	put_number(java, blob_at(SEGMENT_COMPILED) + BLOB_OOP_MAPS, OBJECTS, 8);
	put_number(java, blob_at(SEGMENT_COMPILED) + BLOB_ORIGINAL_PC, 8, 4);
	lay_compiled(java, HANDLER, &handler);
	put_word(java, LEAF_WORD + 1, java_code_at(SEGMENT_COMPILED, 0x200));
	assert_java_walk(java, "CCsE");
	assert_int_equal(java->world->trace.words[1] >> 32, JAVA_COMPILED | HANDLER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		java_test(a_frame_that_was_given_up_is_where_it_was),
		java_test(what_is_no_handler_of_the_version_is_a_return_address),
		java_test(what_is_beyond_the_frame_is_no_place_of_one_that_was_given_up),
		java_test(at_a_handler_s_first_instruction_a_leaf_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
