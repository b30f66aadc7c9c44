// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* PHP's functions (php_fixture.h) in generated code, in threads, and in fibers with stacks of their own. */
#include "ebpf/host/tests/php_fixture.h"

/* Lays a loop that has jumped into generated code, with the stack pointer @pad words lower, and runs function 1. */
static void add_generated(struct php *php, uint32_t pad)
{
	const struct mapping_row mappings[] = {
		{ TEXT_START, TEXT_START + (1 << 20), TEXT_START - TEXT_ADDRESS, EXECUTABLE_ID },
		{ CODE_START, CODE_START + PAGE_BYTES, 0, EXECUTABLE_ID_ANONYMOUS },
	};

	world_set_mappings(php->world, 10, mappings, 2);
	add_at(php, RULE_OF_LOOP, CODE_START + 0x40);
	php->next_word += pad;
	add(php, RULE_PREPARING);
	add(php, RULE_END);
	put(php, CURRENT, put_frame(php, 0, 1, 0, CALL_TOP));
}

static void generated_code_runs_in_the_frame_of_the_loop(void **state)
{
	struct php *php = *state;

	add_generated(php, 0);
	/* The register seldom has the instruction. */
	set_vm(php, frame_at(0), opcodes_of(1));
	assert_string_equal(unwind_text(php), "1LCE");
	assert_int_equal(position_of(php, 0), (FIRST_LINE + 3) | PHP_IS_APPROXIMATE);
}

/* The third word of the innermost frame; 0: it has none. */
static uint64_t code_word(const struct php *php, uint32_t index)
{
	const uint64_t *words = php->world->trace.words + index;

	return frame_flags(words[0]) & FRAME_HAS_OWNER ? words[2] : 0;
}

static void the_innermost_frame_has_the_address_in_generated_code(void **state)
{
	struct php *php = *state;

	add_generated(php, 0);
	set_vm(php, frame_at(0), 0);
	assert_string_equal(unwind_text(php), "1LCE");
	assert_true(code_word(php, 0) == frame_word(FRAME_NONE, 0, CODE_START + 0x40));
	/* Not if a function in C has been called, which is innermost. */
	put(php, CURRENT, put_frame(php, 1, IN_C, frame_at(0), 0));
	set_vm(php, frame_at(1), 0);
	assert_string_equal(unwind_text(php), "a1LCE");
	assert_true(code_word(php, 0) == 0);
	assert_true(code_word(php, 2) == 0);
}

/* As add_generated(), in a new world. */
static void add_generated_again(struct php *php, uint32_t pad)
{
	php->next_word = 0;
	php->has_leaf = false;
	add_generated(php, pad);
	set_vm(php, frame_at(0), 0);
}

static void generated_code_may_have_a_lower_stack_pointer(void **state)
{
	/* Words that are pushed; where a trace is left, all registers. */
	static const uint32_t pads[] = { 1, 2, 3, 4, 32, 34 };
	struct php *php = *state;

	for (size_t i = 0; i < sizeof(pads) / sizeof(pads[0]); i++) {
		add_generated_again(php, pads[i]);
		assert_string_equal(unwind_text(php), "1LCE");
		memset(php->world->stack, 0, sizeof(php->world->stack));
	}
}

static void a_part_that_all_code_shares_has_the_return_address_of_the_code(void **state)
{
	struct php *php = *state;

	/* The code has pushed a word, and the other part another one. */
	php->process.code_bytes = 8;
	world_put(php->world, DATA_CELL, &php->process, sizeof(php->process));
	add_generated_again(php, 3);
	php->world->stack[1] = CODE_START + 0x80;
	assert_string_equal(unwind_text(php), "1LCE");
	assert_true(code_word(php, 0) ==
		    frame_word(FRAME_NONE, FRAME_RETURN_ADDRESS, CODE_START + 0x80));
	/* The code that leaves a trace has saved all registers. */
	memset(php->world->stack, 0, sizeof(php->world->stack));
	add_generated_again(php, 32);
	assert_string_equal(unwind_text(php), "1LCE");
	assert_true(code_word(php, 0) == 0);
}

static void generated_code_has_an_execute_data_in_its_register(void **state)
{
	struct php *php = *state;

	add_generated_again(php, 0);
	assert_string_equal(unwind_text(php), "1LCE");
	/* It has just called, or is about to return: the list has the caller or the callee. */
	set_vm(php, put_frame(php, 1, 2, frame_at(0), 0), 0);
	assert_string_equal(unwind_text(php), "1LCE");
	put(php, CURRENT, frame_at(1));
	set_vm(php, frame_at(0), 0);
	assert_string_equal(unwind_text(php), "21LCE");
	/* Other code has other values there. */
	put(php, CURRENT, frame_at(0));
	set_vm(php, put_frame(php, 2, 2, frame_at(1), 0), 0);
	assert_null(strchr(unwind_text(php), '1'));
	set_vm(php, 0x1234, 0);
	assert_null(strchr(unwind_text(php), '1'));
}

static void what_generated_code_has_called_comes_before(void **state)
{
	struct php *php = *state;

	php->process.code_bytes = 16;
	world_put(php->world, DATA_CELL, &php->process, sizeof(php->process));
	add(php, RULE_C);
	add_generated(php, 2);
	assert_string_equal(unwind_text(php), "C1LCE");
	assert_true(code_word(php, 2) ==
		    frame_word(FRAME_NONE, FRAME_RETURN_ADDRESS, CODE_START + 0x40));
	/* Behind a function in C the stored instruction is the right one. */
	put(php, CURRENT, put_frame(php, 1, IN_C, frame_at(0), 0));
	assert_string_equal(unwind_text(php), "Ca1LCE");
	assert_int_equal(position_of(php, 2), FIRST_LINE + 3);
}

static void a_loop_that_releases_its_closure_has_no_frame(void **state)
{
	struct php *php = *state;
	uint64_t frame;

	add(php, RULE_RELEASING);
	add(php, RULE_OF_LOOP);
	add_two_loops(php);
	/* The function in C that is at the front of the list has called the first loop. */
	frame = put_frame(php, 5, IN_C + 1, frame_at(0), 0);
	put(php, CURRENT, frame);
	assert_string_equal(unwind_text(php), "CLb01LCa2LCE");
	/* A function in PHP would be that loop's. */
	put(php, CURRENT, put_frame(php, 6, 3, frame, CALL_TOP));
	assert_string_equal(unwind_text(php), "C3Lb01LCa2LCE");
}

static void code_that_no_loop_has_entered_is_declined(void **state)
{
	struct php *php = *state;

	add_generated_again(php, 5);
	assert_null(strchr(unwind_text(php), '1'));
	memset(php->world->stack, 0, sizeof(php->world->stack));
	add_generated_again(php, 33);
	assert_null(strchr(unwind_text(php), '1'));
	memset(php->world->stack, 0, sizeof(php->world->stack));
	/* This return address is in no function that calls loops. */
	add_generated_again(php, 0);
	assert_string_equal(unwind_text(php), "1LCE");
	php->world->stack[LOOP_WORDS - 1] = code_at(RULE_C);
	assert_null(strchr(unwind_text(php), '1'));
}

static void put_threads(struct php *php)
{
	php->process.thread = (struct thread_local_path){ .offsets = { 16 }, .depth = 1 };
	php->process.current = 0;
	php->process.before_exception = 8;
	world_put(php->world, DATA_CELL, &php->process, sizeof(php->process));
	for (int i = 0; i < 2; i++)
		put(php, THREAD_POINTER(i) + 16, THREAD_MEMORY(i));
}

static void with_threads_each_has_a_list_of_its_own(void **state)
{
	struct php *php = *state;

	add_two_loops(php);
	put_threads(php);
	put(php, THREAD_MEMORY(0), frame_at(0));
	put(php, THREAD_MEMORY(1), put_frame(php, 4, 4, frame_at(2), CALL_TOP));
	set_vm(php, 0, 0);
	php->world->start.thread_pointer = THREAD_POINTER(0);
	assert_string_equal(unwind_text(php), "01LCa2LCE");
	php->world->start.thread_pointer = THREAD_POINTER(1);
	assert_string_equal(unwind_text(php), "4LCa2LCE");
	/* An instruction that threw an exception is the thread's own, too. */
	put(php, frame_at(4), 0);
	put(php, THREAD_MEMORY(0) + 8, opcodes_of(4));
	put(php, THREAD_MEMORY(1) + 8, opcodes_of(4) + 6 * PHP_OPCODE_BYTES);
	unwind_text(php);
	assert_int_equal(position_of(php, 0), FIRST_LINE + 7);
}

static void a_thread_without_globals_has_no_frames(void **state)
{
	struct php *php = *state;

	add_two_loops(php);
	put_threads(php);
	/* Not even if the address without the thread's memory could be read. */
	php->process.current = CURRENT;
	world_put(php->world, DATA_CELL, &php->process, sizeof(php->process));
	put(php, THREAD_POINTER(0) + 16, 0);
	php->world->start.thread_pointer = THREAD_POINTER(0);
	assert_string_equal(unwind_text(php), "!LCLCE");
	assert_int_equal(php->world->trace.interpreter_error, UNWIND_INTERPRETER_THREAD);
}

static void generated_code_has_the_list_of_its_thread(void **state)
{
	struct php *php = *state;

	add_generated_again(php, 0);
	put_threads(php);
	put(php, THREAD_MEMORY(0), frame_at(0));
	put(php, THREAD_MEMORY(1), put_frame(php, 4, 4, 0, CALL_TOP));
	php->world->start.thread_pointer = THREAD_POINTER(0);
	assert_string_equal(unwind_text(php), "1LCE");
	/* Another thread's list does not have the execute_data that is in the register. */
	php->world->start.thread_pointer = THREAD_POINTER(1);
	assert_null(strchr(unwind_text(php), '1'));
	assert_null(strchr(php->traced, '4'));
	put(php, THREAD_POINTER(0) + 16, 0);
	php->world->start.thread_pointer = THREAD_POINTER(0);
	assert_null(strchr(unwind_text(php), '1'));
}
/* Ends a fiber's stack, which the loop of 2 has started by the function a. */
static void add_resumer(struct php *php)
{
	add(php, RULE_STACK_START);
	put(php, CURRENT + FIBERS, MAIN_FIBER);
	put(php, CURRENT + FIBERS + 8, FIBER);
	put(php, FIBER + PHP_FIBER_STACK, FIBER_STACK);
	put(php, FIBER + PHP_FIBER_RESUMER, MAIN_FIBER);
	put(php, FIBER_STACK, stack_address(0));
	put(php, FIBER_STACK + 8, 8 * FIBER_WORDS);
	put(php, MAIN_FIBER, stack_address(WAITING_WORD));
	php->next_word = WAITING_WORD + SAVED_WORDS;
	add(php, RULE_C);
	add(php, RULE_OF_LOOP);
	add(php, RULE_END);
	put_frame(php, 2, 2, 0, CALL_TOP);
	put_frame(php, 1, IN_C, frame_at(2), 0);
}

static void a_fiber_goes_on_with_what_has_resumed_it(void **state)
{
	struct php *php = *state;

	add(php, RULE_OF_LOOP);
	add(php, RULE_C);
	add_resumer(php);
	put(php, CURRENT, put_frame(php, 0, 0, frame_at(1), CALL_TOP));
	assert_string_equal(unwind_text(php), "0LCBCa2LE");
	assert_int_equal(php->world->trace.error, UNWIND_OK);
	/* About to suspend: nothing has resumed it any more. */
	put(php, FIBER + PHP_FIBER_RESUMER, 0);
	assert_string_equal(unwind_text(php), "0LCB");
	assert_int_equal(php->world->trace.error, UNWIND_OK);
	/* Another stack than the fiber's. */
	put(php, FIBER + PHP_FIBER_RESUMER, MAIN_FIBER);
	put(php, FIBER_STACK, stack_address(WAITING_WORD));
	assert_string_equal(unwind_text(php), "0LCB");
	/* The main program is no fiber. */
	put(php, CURRENT + FIBERS + 8, MAIN_FIBER);
	assert_string_equal(unwind_text(php), "0LCB");
}

static void a_fiber_of_a_function_in_c_has_no_loop(void **state)
{
	struct php *php = *state;

	add(php, RULE_C);
	add(php, RULE_C);
	add_resumer(php);
	put(php, CURRENT, put_frame(php, 0, IN_C + 1, frame_at(1), 0));
	assert_string_equal(unwind_text(php), "CCBCba2LE");
	assert_int_equal(php->world->trace.error, UNWIND_OK);
}

static void a_loop_that_a_fiber_has_not_called_yet_has_no_frame(void **state)
{
	struct php *php = *state;

	add(php, RULE_ENTERING);
	add(php, RULE_C);
	add_resumer(php);
	put(php, CURRENT, put_frame(php, 0, 0, frame_at(1), CALL_TOP));
	assert_string_equal(unwind_text(php), "CCBCa2LE");
}

static void a_fiber_that_begins_does_not_go_on(void **state)
{
	struct php *php = *state;

	add(php, RULE_C);
	add_resumer(php);
	put(php, CURRENT, frame_at(1));
	assert_string_equal(unwind_text(php), "CB");
	assert_int_equal(php->world->trace.error, UNWIND_OK);
}

static void a_fiber_that_changes_stacks_does_not_go_on(void **state)
{
	struct php *php = *state;

	add(php, RULE_SWITCHING);
	add(php, RULE_OF_LOOP);
	add_resumer(php);
	put(php, CURRENT, put_frame(php, 0, 0, frame_at(1), CALL_TOP));
	assert_string_equal(unwind_text(php), "C0LB");
	assert_int_equal(php->world->trace.error, UNWIND_OK);
}

static void a_fiber_s_saved_stack_pointer_may_lie(void **state)
{
	struct php *php = *state;

	add(php, RULE_OF_LOOP);
	add(php, RULE_C);
	add_resumer(php);
	put(php, CURRENT, put_frame(php, 0, 0, frame_at(1), CALL_TOP));
	put(php, MAIN_FIBER, 0x1000);
	assert_string_equal(unwind_text(php), "0LCB!");
	assert_int_equal(php->world->trace.error, UNWIND_STACK_SWITCH);
	/* A fiber that has resumed itself. */
	put(php, FIBER + PHP_FIBER_RESUMER, FIBER);
	put(php, FIBER, stack_address(0) - 8 * SAVED_WORDS);
	assert_int_not_equal(strlen(unwind_text(php)), 0);
	assert_int_not_equal(php->world->trace.error, UNWIND_OK);
}
int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(generated_code_runs_in_the_frame_of_the_loop),
		TEST(the_innermost_frame_has_the_address_in_generated_code),
		TEST(generated_code_may_have_a_lower_stack_pointer),
		TEST(a_part_that_all_code_shares_has_the_return_address_of_the_code),
		TEST(generated_code_has_an_execute_data_in_its_register),
		TEST(what_generated_code_has_called_comes_before),
		TEST(a_loop_that_releases_its_closure_has_no_frame),
		TEST(code_that_no_loop_has_entered_is_declined),
		TEST(with_threads_each_has_a_list_of_its_own),
		TEST(a_thread_without_globals_has_no_frames),
		TEST(generated_code_has_the_list_of_its_thread),
		TEST(a_fiber_goes_on_with_what_has_resumed_it),
		TEST(a_fiber_of_a_function_in_c_has_no_loop),
		TEST(a_loop_that_a_fiber_has_not_called_yet_has_no_frame),
		TEST(a_fiber_that_begins_does_not_go_on),
		TEST(a_fiber_that_changes_stacks_does_not_go_on),
		TEST(a_fiber_s_saved_stack_pointer_may_lie),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
