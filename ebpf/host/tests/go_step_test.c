// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* Stacks of Go's runtime, for each way to switch from one to another and back. */
#include "ebpf/host/tests/go_fixture.h"

enum {
	/* Word of the goroutine's stack at which functions wait. */
	WAITING = GOROUTINE_STACK + 500,
	CALLS = GOROUTINE_STACK_END,
};

/* Functions whose caller is found on the stack, as long as that is the goroutine's. */
static const uint32_t with_callers[] = {
	GO_SWITCH_SYSTEMSTACK, GO_SWITCH_MCALL, GO_SWITCH_MORESTACK,
	GO_SWITCH_ASMCGOCALL,  GO_SWITCH_VDSO,	GO_SWITCH_EXECUTE,
};

static void on_the_goroutine_s_stack_they_are_functions_like_any(void **state)
{
	struct go *go = *state;

	for (size_t i = 0; i < sizeof(with_callers) / sizeof(with_callers[0]); i++) {
		char text[] = "1?2E";

		/* Both ends of the stack are tested. */
		for (int end = 0; end < 2; end++) {
			start_on(go, end ? GOROUTINE_STACK_END - 10 : GOROUTINE_STACK - 4);
			text[1] = letter_of_switch(with_callers[i]);
			add(go, 1);
			add_switch(go, with_callers[i]);
			add(go, 2);
			add(go, RULE_END);
			assert_unwind(go, text);
		}
	}
}

static void systemstack_waits_on_the_goroutine_s_stack(void **state)
{
	struct go *go = *state;

	add(go, 1);
	add_switch(go, GO_SWITCH_SYSTEMSTACK);
	set_sched(go, CURG, stack_address(WAITING), 0);
	waits_at(go, WAITING);
	add(go, 2);
	add(go, 3);
	add(go, RULE_END);
	assert_unwind(go, "1S23E");
	assert_frame(go->world, 2, code_at(2), FRAME_RETURN_ADDRESS);
	/* On a signal handler's stack, or on an unknown one, the result is the same. */
	go->thread[7] = HEAP_START + 0x700;
	put(go, HEAP_START + 0x700 + GO_G_M, M);
	assert_unwind(go, "1S23E");
}

static void systemstack_without_a_goroutine_that_waits_is_an_error(void **state)
{
	struct go *go = *state;
	const uint64_t outside[] = { 0, stack_address(GOROUTINE_STACK) - 8,
				     stack_address(GOROUTINE_STACK_END),
				     stack_address(THREAD_STACK + 200) };

	add(go, 1);
	add_switch(go, GO_SWITCH_SYSTEMSTACK);
	add(go, 2);
	add(go, RULE_END);
	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
		set_sched(go, CURG, outside[i], 0);
		assert_unwind_fails(go, "1S!", UNWIND_STACK_SWITCH);
	}
	put(go, M + M_CURG, 0);
	assert_unwind_fails(go, "1S!", UNWIND_STACK_SWITCH);
}

static void lay_mcall(struct go *go, uint32_t kind)
{
	start_on(go, THREAD_STACK + 100);
	add(go, 1);
	add_switch(go, kind);
	set_sched(go, CURG, stack_address(WAITING), code_at(3));
	goes_on_at(go, WAITING, 3);
	add(go, 4);
	add(go, RULE_END);
}

static void mcall_and_morestack_go_on_where_the_goroutine_was_left(void **state)
{
	struct go *go = *state;

	lay_mcall(go, GO_SWITCH_MCALL);
	assert_unwind(go, "1M34E");
	assert_frame(go->world, 2, code_at(3), FRAME_RETURN_ADDRESS);
	lay_mcall(go, GO_SWITCH_MORESTACK);
	assert_unwind(go, "1K34E");
	/* While the stack is moved its bounds are already those of the new one. */
	put(go, CURG + GO_G_STACK_LOW, stack_address(GOROUTINE_STACK_END));
	assert_unwind(go, "1K34E");
	put(go, CURG + GO_G_STACK_LOW, stack_address(GOROUTINE_STACK));
	lay_mcall(go, GO_SWITCH_MCALL);
	set_sched(go, CURG, stack_address(THREAD_STACK), code_at(3));
	assert_unwind_fails(go, "1M!", UNWIND_STACK_SWITCH);
	set_sched(go, CURG, 0, code_at(3));
	assert_unwind_fails(go, "1M!", UNWIND_STACK_SWITCH);
}

static void the_scheduler_without_a_goroutine_is_a_whole_stack(void **state)
{
	struct go *go = *state;

	lay_mcall(go, GO_SWITCH_MCALL);
	put(go, M + M_CURG, 0);
	assert_unwind(go, "1M");
	/* If the thread is not known, it is another error. */
	put(go, G0 + GO_G_M, 0);
	assert_unwind_fails(go, "1M!", UNWIND_STACK_SWITCH);
}

static void below_execute_the_goroutine_is_not_the_one_that_was_left(void **state)
{
	struct go *go = *state;

	add(go, 1);
	add_switch(go, GO_SWITCH_EXECUTE);
	add(go, 2);
	add_switch(go, GO_SWITCH_MCALL);
	set_sched(go, CURG, stack_address(WAITING), code_at(3));
	goes_on_at(go, WAITING, 3);
	add(go, RULE_END);
	assert_unwind(go, "1X2M");
	/* The next unwind does not depend on it. */
	lay_mcall(go, GO_SWITCH_MCALL);
	assert_unwind(go, "1M34E");
}

/* Lays C on the thread's stack, called by Go; @depth is the value that asmcgocall() keeps. */
static void lay_call(struct go *go, uint64_t g, uint64_t depth)
{
	add(go, 1);
	add_switch(go, GO_SWITCH_ASMCGOCALL);
	go->world->stack[go->next_word - SWITCH_WORDS + CALL_G / 8] = g;
	go->world->stack[go->next_word - SWITCH_WORDS + CALL_DEPTH / 8] = depth;
}

static void asmcgocall_keeps_how_deep_the_goroutine_s_stack_was(void **state)
{
	struct go *go = *state;

	/* The word of the function's return address has another value. */
	lay_call(go, CURG, 8 * (CALLS - WAITING));
	waits_at(go, WAITING);
	add(go, 2);
	add(go, RULE_END);
	assert_unwind(go, "1A2E");
	/* The goroutine that it keeps is used, not the thread's. */
	put(go, M + M_CURG, 0);
	assert_unwind(go, "1A2E");
	put(go, M + M_CURG, CURG);
	start_on(go, THREAD_STACK + 100);
	lay_call(go, CURG, 8 * (CALLS - GOROUTINE_STACK) + 8);
	assert_unwind_fails(go, "1A!", UNWIND_STACK_SWITCH);
	start_on(go, THREAD_STACK + 100);
	lay_call(go, NOWHERE, 8);
	assert_unwind_fails(go, "1A!", UNWIND_STACK_SWITCH);
}

static void asmcgocall_without_a_goroutine_keeps_its_stack_pointer(void **state)
{
	struct go *go = *state;

	lay_call(go, 0, stack_address(THREAD_STACK + 300));
	waits_at(go, THREAD_STACK + 300);
	add(go, 2);
	add(go, RULE_END);
	assert_unwind(go, "1A2E");
	/* Stacks grow down. */
	start_on(go, THREAD_STACK + 100);
	lay_call(go, 0, stack_address(THREAD_STACK + 50));
	assert_unwind_fails(go, "1A!", UNWIND_STACK_SWITCH);
}

static void what_asmcgocall_keeps_has_to_be_readable(void **state)
{
	struct go *go = *state;

	start_on(go, STACK_WORDS - PLAIN_WORDS);
	add(go, 1);
	go->world->stack[go->return_word] = code_at(RULE_SWITCH + GO_SWITCH_ASMCGOCALL);
	assert_unwind_fails(go, "1A!", UNWIND_STACK_UNREADABLE);
}

static void lay_callback(struct go *go, uint32_t word, uint32_t thread_word, uint32_t outer_word)
{
	start_on(go, word);
	add(go, 1);
	add_switch(go, GO_SWITCH_CGOCALLBACK);
	go->world->stack[thread_word] = outer_word ? stack_address(outer_word) : 0;
	waits_at(go, thread_word);
}

static void cgocallback_goes_back_to_c_on_the_thread_s_stack(void **state)
{
	struct go *go = *state;

	go->thread[7] = CURG;
	lay_callback(go, GOROUTINE_STACK + 100, THREAD_STACK + 400, THREAD_STACK + 700);
	set_sched(go, G0, stack_address(THREAD_STACK + 400), 0);
	add(go, 2);
	add(go, RULE_END);
	assert_unwind(go, "1B2E");
	/* The next unwind begins with g0 again. */
	assert_unwind(go, "1B2E");
	put(go, G0 + GO_G_SCHED + GO_GOBUF_SP, NOWHERE);
	assert_unwind_fails(go, "1B!", UNWIND_STACK_UNREADABLE);
	put(go, M + GO_M_G0, HEAP_START + sizeof(go->heap) - 16);
	assert_unwind_fails(go, "1B!", UNWIND_STACK_SWITCH);
}

static void cgocallback_on_the_thread_s_stack_is_a_function_like_any(void **state)
{
	struct go *go = *state;

	add(go, 1);
	add_switch(go, GO_SWITCH_CGOCALLBACK);
	add(go, 2);
	add(go, RULE_END);
	assert_unwind(go, "1B2E");
}

/* Go, called by C, called by Go, twice; the innermost Go is the leaf. */
static void calls_back_from_c_nest(void **state)
{
	struct go *go = *state;

	go->thread[7] = CURG;
	set_sched(go, G0, stack_address(THREAD_STACK + 200), 0);
	lay_callback(go, GOROUTINE_STACK + 100, THREAD_STACK + 200, THREAD_STACK + 600);
	add(go, 2);
	lay_call(go, CURG, 8 * (CALLS - (GOROUTINE_STACK + 300)));
	waits_at(go, GOROUTINE_STACK + 300);
	add(go, 3);
	add_switch(go, GO_SWITCH_CGOCALLBACK);
	go->world->stack[THREAD_STACK + 600] = 0;
	waits_at(go, THREAD_STACK + 600);
	add(go, 4);
	lay_call(go, CURG, 8 * (CALLS - (GOROUTINE_STACK + 700)));
	waits_at(go, GOROUTINE_STACK + 700);
	add(go, 5);
	add(go, RULE_END);
	assert_unwind(go, "1B21A3B41A5E");
}

static void the_vdso_s_caller_is_known_to_the_thread(void **state)
{
	struct go *go = *state;

	add(go, 1);
	add_switch(go, GO_SWITCH_VDSO);
	put(go, M + M_VDSO_SP, stack_address(WAITING));
	put(go, M + M_VDSO_PC, code_at(2));
	goes_on_at(go, WAITING, 2);
	add(go, 3);
	add(go, RULE_END);
	assert_unwind(go, "1V23E");
	assert_frame(go->world, 2, code_at(2), FRAME_RETURN_ADDRESS);
	go->process.m_vdso_sp = go->process.m_vdso_pc = HEAP_WORDS * 8;
	publish(go);
	assert_unwind_fails(go, "1V!", UNWIND_STACK_SWITCH);
	put(go, G0 + GO_G_M, 0);
	assert_unwind_fails(go, "1V!", UNWIND_STACK_SWITCH);
}

static void the_vdso_s_function_before_it_changes_stacks(void **state)
{
	struct go *go = *state;

	add(go, 1);
	add_switch(go, GO_SWITCH_VDSO);
	add(go, 2);
	add(go, RULE_END);
	put(go, M + M_VDSO_PC, code_at(3));
	assert_unwind(go, "1V2E");
}

static void gogo_at_its_end_has_the_goroutine_s_stack(void **state)
{
	struct go *go = *state;

	/* The leaf, which has popped nothing. */
	start_on(go, WAITING);
	add_switch(go, GO_SWITCH_GOGO);
	set_sched(go, CURG, stack_address(WAITING), code_at(2));
	goes_on_at(go, WAITING, 2);
	add(go, 3);
	add(go, RULE_END);
	assert_unwind(go, "G23E");
	assert_frame(go->world, 0, code_at(RULE_SWITCH + GO_SWITCH_GOGO), 0);
	/* The address may be a function's beginning. */
	assert_frame(go->world, 1, code_at(2), 0);
	/* Before the switch, on the thread's stack. */
	start_on(go, THREAD_STACK + 100);
	add_switch(go, GO_SWITCH_GOGO);
	add(go, 4);
	add(go, RULE_END);
	assert_unwind(go, "G4E");
}

static void a_thread_that_was_just_made_has_no_caller(void **state)
{
	struct go *go = *state;

	start_on(go, THREAD_STACK + 100);
	add_switch(go, GO_SWITCH_CLONE);
	add(go, 2);
	add(go, RULE_END);
	/* The creator is on its g's stack. */
	assert_unwind(go, "C2E");
	/* The child has no g yet, or one whose stack ends at its sp, or is above it. */
	go->thread[7] = 0;
	assert_unwind(go, "C");
	go->thread[7] = G0;
	put(go, G0 + GO_G_STACK_HIGH, stack_address(THREAD_STACK + 100));
	assert_unwind(go, "C");
	put(go, G0 + GO_G_STACK_HIGH, stack_address(THREAD_STACK_END));
	put(go, G0 + GO_G_STACK_LOW, stack_address(THREAD_STACK + 101));
	assert_unwind(go, "C");
	/* The creator's stack may begin where the child's own ends. */
	put(go, G0 + GO_G_STACK_LOW, stack_address(THREAD_STACK + 100));
	assert_unwind(go, "C");
	put(go, G0 + GO_G_STACK_LOW, stack_address(THREAD_STACK + 99));
	assert_unwind(go, "C2E");
	go->thread[7] = NOWHERE;
	assert_unwind(go, "C");
}

static void what_a_signal_interrupted_has_not_called_anybody(void **state)
{
	struct go *go = *state;

	add(go, 1);
	add_switch(go, GO_SWITCH_INJECTED);
	add(go, 2);
	add(go, RULE_END);
	assert_unwind(go, "1I2E");
	assert_frame(go->world, 1, code_at(RULE_SWITCH + GO_SWITCH_INJECTED), FRAME_RETURN_ADDRESS);
	assert_frame(go->world, 2, code_at(2), 0);
	assert_frame(go->world, 3, code_at(RULE_END), FRAME_RETURN_ADDRESS);
}

static void where_a_panic_was_recovered_from_is_no_return_address(void **state)
{
	struct go *go = *state;

	add(go, 1);
	add_switch(go, GO_SWITCH_RECOVERY);
	add_switch(go, GO_SWITCH_MCALL);
	set_sched(go, CURG, stack_address(WAITING), code_at(3));
	goes_on_at(go, WAITING, 3);
	add(go, RULE_END);
	assert_unwind(go, "1RM3E");
	assert_frame(go->world, 3, code_at(3), 0);
}

static void while_recovery_moves_the_goroutine_its_position_is_that_of_the_last_call(void **state)
{
	struct go *go = *state;

	add_switch(go, GO_SWITCH_RECOVERY);
	add_switch(go, GO_SWITCH_MCALL);
	set_sched(go, CURG, stack_address(WAITING), code_at(2));
	goes_on_at(go, WAITING, 3);
	add(go, RULE_END);
	go->world->stack[WAITING - 1] = code_at(3);
	assert_unwind(go, "RM3E");
	assert_frame(go->world, 2, code_at(3), FRAME_RETURN_ADDRESS);
}

static void what_cannot_be_read_of_the_thread_is_an_error(void **state)
{
	struct go *go = *state;

	add(go, 1);
	add_switch(go, GO_SWITCH_SYSTEMSTACK);
	set_sched(go, CURG, stack_address(WAITING), 0);
	waits_at(go, WAITING);
	add(go, RULE_END);
	for (int i = 0; i < 2; i++) {
		uint64_t bad = i ? NOWHERE : 0;

		assert_unwind(go, "1SE");
		go->thread[7] = bad;
		assert_unwind_fails(go, "1S!", UNWIND_STACK_SWITCH);
		go->thread[7] = G0;
		put(go, G0 + GO_G_M, bad);
		assert_unwind_fails(go, "1S!", UNWIND_STACK_SWITCH);
		put(go, G0 + GO_G_M, M);
		put(go, M + M_CURG, bad);
		assert_unwind_fails(go, "1S!", UNWIND_STACK_SWITCH);
		put(go, M + M_CURG, CURG);
	}
	put(go, M + GO_M_G0, 0);
	assert_unwind_fails(go, "1S!", UNWIND_STACK_SWITCH);
	put(go, M + GO_M_G0, G0);
	go->process.m_curg = HEAP_WORDS * 8 - 8;
	publish(go);
	assert_unwind_fails(go, "1S!", UNWIND_STACK_SWITCH);
	go->process.m_curg = M_CURG;
	go->process.g.depth = 0;
	publish(go);
	assert_unwind_fails(go, "1S!", UNWIND_STACK_SWITCH);
	/* Its bounds can be read, but not its gobuf. */
	go->process.g.depth = 1;
	publish(go);
	put(go, M + M_CURG, HEAP_START + sizeof(go->heap) - 16);
	assert_unwind_fails(go, "1S!", UNWIND_STACK_SWITCH);
}

static void two_stacks_that_lead_to_each_other_end(void **state)
{
	struct go *go = *state;
	uint32_t length;

	/* systemstack() on the goroutine's stack is called by mcall() on the thread's. */
	add_switch(go, GO_SWITCH_MCALL);
	set_sched(go, CURG, stack_address(WAITING), code_at(1));
	goes_on_at(go, WAITING, 1);
	lay_call(go, 0, stack_address(WAITING + 100));
	add_switch(go, GO_SWITCH_CGOCALLBACK);
	set_sched(go, G0, stack_address(THREAD_STACK + 98), 0);
	go->world->stack[THREAD_STACK + 98] = stack_address(THREAD_STACK + 98);
	go->world->stack[THREAD_STACK + 99] = code_at(RULE_SWITCH + GO_SWITCH_MCALL);
	length = strlen(unwind_text(go));
	assert_int_equal(go->world->trace.error, UNWIND_NO_PROGRESS);
	/* Every second of the 256 switches is mcall()'s: M11AB, repeated. */
	assert_memory_equal(go->text, "M11ABM11AB", 10);
	assert_int_equal(length, 128 * 5 + 1 + 1);
	assert_int_equal(go->text[length - 1], '!');
}

static void without_the_process_s_table_stacks_end_in_an_error(void **state)
{
	struct go *go = *state;
	const struct runtime_row others[] = {
		{ EXECUTABLE_ID + 1, FRAME_GO, DATA_CELL },
		{ EXECUTABLE_ID, FRAME_PYTHON, DATA_CELL },
		{ EXECUTABLE_ID, FRAME_GO, DATA_CELL },
	};
	const struct runtime_row none = { 0 };

	start_on(go, GOROUTINE_STACK + 100);
	add(go, 1);
	add_switch(go, GO_SWITCH_SYSTEMSTACK);
	add(go, 2);
	add(go, RULE_END);
	/* Only the row for Go and for this file is used. */
	world_put(go->world, INTERPRETER_CELL, others, sizeof(others));
	assert_unwind(go, "1S2E");
	world_put(go->world, INTERPRETER_CELL + 1, &none, sizeof(none));
	/* Rows behind the end of the table are not used. */
	assert_unwind_fails(go, "1S!", UNWIND_STACK_SWITCH);
	world_put(go->world, INTERPRETER_CELL, others, sizeof(others));
	world_put(go->world, INTERPRETER_CELL + 2, &none, sizeof(none));
	assert_unwind_fails(go, "1S!", UNWIND_STACK_SWITCH);
	go->world->start.runtime_cell = 0;
	assert_unwind_fails(go, "1S!", UNWIND_STACK_SWITCH);
	publish(go);
	assert_unwind(go, "1S2E");
	world_put(go->world, INTERPRETER_CELL,
		  &(struct runtime_row){ EXECUTABLE_ID, FRAME_GO, UINT32_MAX },
		  sizeof(struct runtime_row));
	assert_unwind_fails(go, "1S!", UNWIND_STACK_SWITCH);
}

static void a_switch_that_is_none_is_an_error(void **state)
{
	struct go *go = *state;
	const struct unwind_rule rules[] = {
		{ .cfa = CFA_END },
		{ .cfa = CFA_LANGUAGE,
		  .cfa_addend = FRAME_GO,
		  .cfa_register = GO_SWITCH_RECOVERY + 1,
		  .cfa_offset = 32 },
	};

	world_publish_rules(go->world, rules, 2);
	add(go, 1);
	add(go, RULE_END);
	assert_unwind_fails(go, "1!", UNWIND_UNSUPPORTED_RULE);
}

static void a_rule_of_no_language_ends_the_unwind(void **state)
{
	static const int32_t kinds[] = { FRAME_NATIVE, FRAME_FIRST_INTERPRETED + 100,
					 FRAME_KERNEL };
	struct go *go = *state;
	struct unwind_rule rules[] = { { .cfa = CFA_END },
				       { .cfa = CFA_LANGUAGE, .cfa_offset = 32 } };

	add(go, 1);
	add(go, RULE_END);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		rules[1].cfa_addend = kinds[i];
		world_publish_rules(go->world, rules, 2);
		assert_unwind_fails(go, "1!", UNWIND_TRUNCATED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		go_test(on_the_goroutine_s_stack_they_are_functions_like_any),
		go_test(systemstack_waits_on_the_goroutine_s_stack),
		go_test(systemstack_without_a_goroutine_that_waits_is_an_error),
		go_test(mcall_and_morestack_go_on_where_the_goroutine_was_left),
		go_test(the_scheduler_without_a_goroutine_is_a_whole_stack),
		go_test(below_execute_the_goroutine_is_not_the_one_that_was_left),
		go_test(asmcgocall_keeps_how_deep_the_goroutine_s_stack_was),
		go_test(asmcgocall_without_a_goroutine_keeps_its_stack_pointer),
		go_test(what_asmcgocall_keeps_has_to_be_readable),
		go_test(cgocallback_goes_back_to_c_on_the_thread_s_stack),
		go_test(cgocallback_on_the_thread_s_stack_is_a_function_like_any),
		go_test(calls_back_from_c_nest),
		go_test(the_vdso_s_caller_is_known_to_the_thread),
		go_test(the_vdso_s_function_before_it_changes_stacks),
		go_test(gogo_at_its_end_has_the_goroutine_s_stack),
		go_test(a_thread_that_was_just_made_has_no_caller),
		go_test(what_a_signal_interrupted_has_not_called_anybody),
		go_test(where_a_panic_was_recovered_from_is_no_return_address),
		go_test(while_recovery_moves_the_goroutine_its_position_is_that_of_the_last_call),
		go_test(what_cannot_be_read_of_the_thread_is_an_error),
		go_test(two_stacks_that_lead_to_each_other_end),
		go_test(without_the_process_s_table_stacks_end_in_an_error),
		go_test(a_switch_that_is_none_is_an_error),
		go_test(a_rule_of_no_language_ends_the_unwind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
