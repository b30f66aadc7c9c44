// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* The ends of Java's stacks: calls from native code, virtual threads and their carriers. */
#include "ebpf/host/tests/java_fixture.h"

static void frames_in_the_heap_are_passed_over(void **state)
{
	enum { ENTRY_WORD = LEAF_WORD + FRAME_WORDS, RETURN_WORD = ENTRY_WORD + 9 };
	struct java *java = *state;
	uint64_t barrier = java_code_at(SEGMENT_STUB, 0x40);

	lay_compiled(java, IN_CODE, &in_frame);
	put_word(java, LEAF_WORD + FRAME_WORDS - 1, barrier);
	/* The frame pointer is that of another thread's enterSpecial(). */
	put_word(java, LEAF_WORD + FRAME_WORDS - 2, stack_address(ENTRY_WORD + 40));
	for (uint32_t word = ENTRY_WORD; word < RETURN_WORD; word++)
		put_word(java, word, stack_address(word));
	put_word(java, RETURN_WORD, return_to(java, SEGMENT_CALLER));
	put_caller(java, RETURN_WORD + 1);
	/* The code does not show that it is the barrier. */
	assert_java_unwind(java, "C!");
	put_code(java, barrier, "\x49\x8b\xa7\0\4\0\0", 7);
	assert_java_unwind(java, "CsCsE");
	assert_int_equal(java->world->trace.words[2], frame_word(FRAME_JAVA, 0, barrier));
	/* A stale return address of an earlier call is skipped only if the size of the entry is known. */
	put_word(java, ENTRY_WORD, return_to(java, SEGMENT_COMPILED));
	assert_java_unwind(java, "CsC!");
	java->process.continuation_bytes = 64;
	publish_java(java);
	assert_java_unwind(java, "CsCsE");
	/* Behind a call the same instruction restores a stub's own stack pointer. */
	put_code(java, barrier - 5, "\xe8\1\1\1\1", 5);
	assert_java_unwind(java, "Cs!");
	assert_int_not_equal(java->world->trace.words[2], frame_word(FRAME_JAVA, 0, barrier));
	put_code(java, barrier - 5, "\x90\x90\x90\x90\x90", 5);
	/* Nothing behind it. */
	put_word(java, RETURN_WORD, 0);
	for (uint32_t word = RETURN_WORD; word < RETURN_WORD + 60; word++)
		put_word(java, word, 0);
	assert_java_unwind(java, "Cs!");
	/* The frames below have just returned to the barrier. */
	set_leaf(java, barrier, "\x49\x8b\xa7\0\4\0\0", 7, ENTRY_WORD);
	put_word(java, RETURN_WORD, return_to(java, SEGMENT_CALLER));
	put_caller(java, RETURN_WORD + 1);
	assert_java_unwind(java, "sCsE");
}

static void a_leaf_in_call_stub_has_its_frame_by_the_frame_pointer(void **state)
{
	struct java *java = *state;

	java->process.call_stub_before = 0x40;
	java->process.call_stub_bytes = 0x80;
	publish_java(java);
	put_call_stub(java, LEAF_WORD + 20);
	set_leaf(java, java->process.call_stub_return - 0x20, "\x90", 1, LEAF_WORD);
	java->world->start.registers[6] = stack_address(LEAF_WORD + 20);
	assert_java_unwind(java, "sE");
	set_leaf(java, java->process.call_stub_return - 0x40, "\x55", 1, LEAF_WORD + 21);
	assert_java_unwind(java, "sE");
	set_leaf(java, java->process.call_stub_return + 0x40, "\xc3", 1, LEAF_WORD + 21);
	assert_java_unwind(java, "s!");
}

static void upcalls_are_left_to_native_code(void **state)
{
	struct java *java = *state;
	uint64_t stub = return_to(java, SEGMENT_STUB);

	lay_compiled(java, IN_CODE, &in_frame);
	put_word(java, LEAF_WORD + FRAME_WORDS - 2, stack_address(LEAF_WORD + 20));
	put_word(java, LEAF_WORD + FRAME_WORDS - 1, stub);
	put_call_stub(java, LEAF_WORD + 20);
	assert_java_unwind(java, "Cs!");
	put_number(java, blob_at(SEGMENT_STUB) + BLOB_NAME, OBJECTS + 8, 8);
	put_object(java, OBJECTS + 8, JAVA_UPCALL_NAME, 8);
	assert_java_unwind(java, "CsE");
	/* In its frame, and before it is made. */
	set_leaf(java, java_code_at(SEGMENT_STUB, IN_CODE), "\x90", 1, LEAF_WORD);
	java->world->start.registers[6] = stack_address(LEAF_WORD + 20);
	assert_java_unwind(java, "sE");
	set_leaf(java, java_code_at(SEGMENT_STUB, 0), "\x55\x48\x8b\xec", 4, LEAF_WORD + 21);
	assert_java_unwind(java, "sE");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		java_test(frames_in_the_heap_are_passed_over),
		java_test(a_leaf_in_call_stub_has_its_frame_by_the_frame_pointer),
		java_test(upcalls_are_left_to_native_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
