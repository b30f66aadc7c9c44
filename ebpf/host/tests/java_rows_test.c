// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* HotSpot's stubs by rows, which have precedence over the code cache's data. */
#include "ebpf/host/tests/java_fixture.h"

enum {
	/* Cells of the rows' tables, from the struct java_process on. */
	INDEX_CELL = sizeof(struct java_process) / CELL_BYTES,
	ROW_CELL = 30,
	RULE_CELL = 40,
	/* Offset of the tested row in the stub's code. */
	ROW = 0x40,
	RETURN_REGISTER = 1,
	THREAD_REGISTER = 15,
	/* The JVM's thread structure, placed on the stack. */
	THREAD_WORD = LEAF_WORD + 40,
	/* So that the caller of a stub with five words has the stack aligned. */
	BOTTOM_WORD = LEAF_WORD + 1,
};

/* The stub's code from ROW on has @rule, up to there none. */
static void put_row(struct java *java, const struct unwind_rule *rule)
{
	const uint64_t start = java_code_at(SEGMENT_STUB, 0) & ~(uint64_t)(UNWIND_PAGE_BYTES - 1);
	const uint32_t offset = (uint32_t)(java_code_at(SEGMENT_STUB, ROW) - start);
	const uint32_t page = offset / UNWIND_PAGE_BYTES;
	const uint8_t offsets[CELL_BYTES] = { 0, (uint8_t)offset };
	const uint16_t numbers[CELL_BYTES / 2] = { 0, 1 };
	const struct unwind_rule rules[2] = { { .cfa = CFA_NONE }, *rule };
	uint32_t index[8] = { 0 };

	for (uint32_t i = 0; i < 8; i++)
		index[i] = !i ? 0 : i <= page ? 1 : 2;
	java->process.stubs = (struct unwind_header){
		.text_start = start,
		.page_count = 7,
		.page_index_cell = INDEX_CELL,
		.row_cell = ROW_CELL,
		.row_count = 2,
		.rule_cell = RULE_CELL,
		.rule_count = 2,
	};
	world_put(java->world, JAVA_DATA_CELL + INDEX_CELL, index, sizeof(index));
	world_put(java->world, JAVA_DATA_CELL + ROW_CELL, offsets, sizeof(offsets));
	world_put(java->world, JAVA_DATA_CELL + ROW_CELL + 1, numbers, sizeof(numbers));
	world_put(java->world, JAVA_DATA_CELL + RULE_CELL, rules, sizeof(rules));
	publish_java(java);
}

/* The leaf, in the row, with five words on the stack above which its caller's stack begins. */
static void lay_stub(struct java *java)
{
	set_leaf(java, java_code_at(SEGMENT_STUB, ROW + 4), "\x90", 1, BOTTOM_WORD);
	put_word(java, BOTTOM_WORD + 4, return_to(java, SEGMENT_CALLER));
	put_caller(java, BOTTOM_WORD + 5);
	/* A stale return address of an earlier call. */
	put_word(java, BOTTOM_WORD, return_to(java, SEGMENT_COMPILED));
}

static void a_row_goes_before_the_frame_s_size(void **state)
{
	const struct unwind_rule rule = CALL_RULE(40);
	struct java *java = *state;

	lay_stub(java);
	put_row(java, &rule);
	put_number(java, blob_at(SEGMENT_STUB) + BLOB_FRAME_SIZE, 2, 4);
	assert_java_unwind(java, "sCsE");
	assert_int_equal(java->world->trace.words[2],
			 frame_word(FRAME_JAVA, FRAME_RETURN_ADDRESS, blob_at(SEGMENT_CALLER)));
	assert_int_equal(java->world->trace.words[0],
			 frame_word(FRAME_JAVA, 0, java_code_at(SEGMENT_STUB, ROW + 4)));
}

static void what_is_not_believed_is_not_followed(void **state)
{
	struct unwind_rule rule = CALL_RULE(40, .flags = RULE_GUESS);
	struct java *java = *state;

	lay_stub(java);
	put_row(java, &rule);
	/* To what is left of the earlier call, and no further. */
	assert_java_unwind(java, "sC?!");
	/* Below the row. */
	rule.flags = 0;
	put_row(java, &rule);
	assert_java_unwind(java, "sCsE");
	set_leaf(java, java_code_at(SEGMENT_STUB, ROW - 1), "\x90", 1, BOTTOM_WORD);
	assert_java_unwind(java, "sC?!");
	/* Numbers out of range find nothing. */
	set_leaf(java, java_code_at(SEGMENT_STUB, ROW + 4), "\x90", 1, BOTTOM_WORD);
	java->process.stubs.rule_count = 1;
	publish_java(java);
	assert_java_unwind(java, "sC?!");
	java->process.stubs.page_index_cell = UINT32_MAX;
	publish_java(java);
	assert_java_unwind(java, "sC?!");
}

static void a_frame_pointer_that_cannot_be_read_is_not_needed(void **state)
{
	const struct unwind_rule rule = CALL_RULE(40, .fp = SAVED_AT_FP);
	struct java *java = *state;

	lay_stub(java);
	put_row(java, &rule);
	java->world->start.registers[6] = 16;
	assert_java_unwind(java, "sCsE");
}

static void the_frame_pointer_is_restored(void **state)
{
	const struct unwind_rule rule = {
		.cfa = CFA_FP,
		.cfa_offset = 16,
		.ra = SAVED_AT_CFA,
		.ra_offset = -8,
		.fp = SAVED_AT_CFA,
		.fp_offset = -16,
	};
	struct java *java = *state;

	lay_stub(java);
	put_row(java, &rule);
	java->world->start.registers[6] = stack_address(BOTTOM_WORD + 3);
	assert_java_unwind(java, "sCsE");
	/* It leads down the stack. */
	java->world->start.registers[6] = stack_address(BOTTOM_WORD - 20);
	assert_string_equal(java_unwind_text(java), "s!");
	assert_int_equal(java->world->trace.error, UNWIND_NO_PROGRESS);
}

static void a_return_address_may_be_in_a_register_and_the_stack_the_caller_s(void **state)
{
	const struct unwind_rule rule = {
		.cfa = CFA_SP,
		.ra = SAVED_IN_REGISTER,
		.ra_offset = RETURN_REGISTER,
	};
	struct java *java = *state;

	set_leaf(java, java_code_at(SEGMENT_STUB, ROW + 4), "\x90", 1, LEAF_WORD);
	java->world->start.registers[RETURN_REGISTER] = return_to(java, SEGMENT_CALLER);
	put_caller(java, LEAF_WORD);
	put_row(java, &rule);
	assert_java_unwind(java, "sCsE");
}

static void a_return_address_may_be_in_the_thread(void **state)
{
	struct unwind_rule rule = { .cfa = CFA_SP, .ra = SAVED_IN_THREAD, .ra_offset = 16 };
	struct java *java = *state;

	/* At the first instruction, and behind the push that makes room. */
	set_leaf(java, java_code_at(SEGMENT_STUB, ROW + 4), "\x90", 1, LEAF_WORD);
	java->world->start.registers[THREAD_REGISTER] = stack_address(THREAD_WORD);
	put_word(java, THREAD_WORD + 2, return_to(java, SEGMENT_CALLER));
	put_caller(java, LEAF_WORD);
	put_row(java, &rule);
	assert_java_unwind(java, "sCsE");
	set_leaf(java, java_code_at(SEGMENT_STUB, ROW + 4), "\x90", 1, LEAF_WORD - 1);
	java->world->start.registers[THREAD_REGISTER] = stack_address(THREAD_WORD);
	rule.cfa_offset = 8;
	put_row(java, &rule);
	assert_java_unwind(java, "sCsE");
	java->world->start.registers[THREAD_REGISTER] = 8;
	assert_string_equal(java_unwind_text(java), "s!");
}

static void an_argument_may_be_popped_behind_the_return_address(void **state)
{
	struct unwind_rule rule = {
		.cfa = CFA_SP,
		.cfa_offset = -8,
		.ra = SAVED_IN_REGISTER,
		.ra_offset = RETURN_REGISTER,
	};
	struct java *java = *state;

	set_leaf(java, java_code_at(SEGMENT_STUB, ROW + 4), "\x90", 1, LEAF_WORD + 1);
	java->world->start.registers[RETURN_REGISTER] = return_to(java, SEGMENT_CALLER);
	put_caller(java, LEAF_WORD);
	put_row(java, &rule);
	assert_java_unwind(java, "sCsE");
	/* There is only one. */
	rule.cfa_offset = -16;
	set_leaf(java, java_code_at(SEGMENT_STUB, ROW + 4), "\x90", 1, LEAF_WORD + 2);
	put_row(java, &rule);
	assert_string_equal(java_unwind_text(java), "s!");
	assert_int_equal(java->world->trace.error, UNWIND_NO_PROGRESS);
}

static void the_address_of_the_caller_s_stack_may_be_on_the_stack(void **state)
{
	const struct unwind_rule rule = {
		.cfa = CFA_DEREF_SP,
		.cfa_offset = 8,
		.cfa_addend = 16,
		.ra = SAVED_AT_CFA,
		.ra_offset = -8,
	};
	struct java *java = *state;

	lay_stub(java);
	put_row(java, &rule);
	put_word(java, BOTTOM_WORD + 1, stack_address(BOTTOM_WORD + 3));
	assert_java_unwind(java, "sCsE");
}

static void frames_that_were_brought_back_may_begin_at_the_stack_pointer(void **state)
{
	const struct unwind_rule rule = {
		.cfa = CFA_SP,
		.ra = SAVED_AT_CFA,
		.ra_offset = -8,
		.fp = SAVED_AT_CFA,
		.fp_offset = -16,
	};
	struct java *java = *state;

	set_leaf(java, java_code_at(SEGMENT_STUB, ROW + 4), "\x90", 1, LEAF_WORD);
	put_word(java, LEAF_WORD - 1, return_to(java, SEGMENT_CALLER));
	put_caller(java, LEAF_WORD);
	put_row(java, &rule);
	assert_java_unwind(java, "sCsE");
}

static void frames_that_are_brought_back_lie_below_the_entry(void **state)
{
	enum { ENTRY_WORD = BOTTOM_WORD + 9, RETURN_WORD = ENTRY_WORD + 5, RBX = 3 };
	struct unwind_rule rule = { .cfa = CFA_JAVA_ENTRY, .cfa_offset = 8 };
	struct java *java = *state;

	lay_stub(java);
	for (uint32_t word = BOTTOM_WORD; word < RETURN_WORD; word++)
		put_word(java, word, stack_address(word));
	put_word(java, RETURN_WORD, return_to(java, SEGMENT_CALLER));
	put_caller(java, RETURN_WORD + 1);
	put_row(java, &rule);
	assert_java_unwind(java, "sCsE");
	/* Between lie others, as far as a register says. */
	put_word(java, ENTRY_WORD - 3, return_to(java, SEGMENT_COMPILED));
	rule.cfa_addend = 16;
	put_row(java, &rule);
	java->world->start.registers[RBX] = 7 * 8;
	assert_java_unwind(java, "sCsE");
	java->world->start.registers[RBX] = 1ULL << 40;
	assert_string_equal(java_unwind_text(java), "s!");
	/* In a frame that is no leaf it is not known here. */
	lay_compiled(java, IN_CODE, &in_frame);
	put_word(java, LEAF_WORD + FRAME_WORDS - 1, java_code_at(SEGMENT_STUB, ROW + 4));
	put_code(java, java_code_at(SEGMENT_STUB, ROW - 1), "\xe8\1\1\1\1", 5);
	assert_string_equal(java_unwind_text(java), "Cs!");
	assert_int_equal(java->world->trace.error, UNWIND_REGISTER_UNKNOWN);
}

static void native_code_may_have_called_what_a_row_is_known_of(void **state)
{
	const struct unwind_rule rule = CALL_RULE(8);
	struct java *java = *state;

	set_leaf(java, java_code_at(SEGMENT_STUB, ROW + 4), "\x90", 1, BOTTOM_WORD + 1);
	put_word(java, BOTTOM_WORD + 1, code_at(RULE_ENTRY));
	assert_java_unwind(java, "s!");
	put_row(java, &rule);
	assert_java_unwind(java, "sE");
}

static void what_c1_has_pushed_for_a_stub_it_pops_behind_the_call(void **state)
{
	const struct unwind_rule rule = CALL_RULE(40);
	struct java *java = *state;
	uint64_t back = return_to(java, SEGMENT_CALLER);

	lay_stub(java);
	put_caller(java, BOTTOM_WORD + 7);
	/* Where the frame would end without the two words, what is left of an earlier call. */
	put_word(java, BOTTOM_WORD + 5 + CALLER_FRAME_WORDS - 1, return_to(java, SEGMENT_COMPILED));
	put_row(java, &rule);
	/* pop r9; pop rdi */
	put_code(java, back, "\x41\x59\x5f", 3);
	assert_java_unwind(java, "sCsE");
	/* pop rbp is the end of the method. */
	put_code(java, back, "\x5d\x5d\xc3", 3);
	assert_java_unwind(java, "sCC!");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		java_test(a_row_goes_before_the_frame_s_size),
		java_test(what_is_not_believed_is_not_followed),
		java_test(a_frame_pointer_that_cannot_be_read_is_not_needed),
		java_test(the_frame_pointer_is_restored),
		java_test(a_return_address_may_be_in_a_register_and_the_stack_the_caller_s),
		java_test(a_return_address_may_be_in_the_thread),
		java_test(an_argument_may_be_popped_behind_the_return_address),
		java_test(the_address_of_the_caller_s_stack_may_be_on_the_stack),
		java_test(frames_that_were_brought_back_may_begin_at_the_stack_pointer),
		java_test(frames_that_are_brought_back_lie_below_the_entry),
		java_test(native_code_may_have_called_what_a_row_is_known_of),
		java_test(what_c1_has_pushed_for_a_stub_it_pops_behind_the_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
