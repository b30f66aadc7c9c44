// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* rbx from frame to frame, stacks that change, and rules that few frames use. */
#include "ebpf/host/tests/unwind_fixture.h"

enum {
	RBX = 3,
	RULE_END = 0,
	/* Plain callees: the first leaves rbx alone, the others save or lose it. */
	RULE_CALL,
	RULE_SAVES,
	RULE_LOSES,
	/* The CFA is rbx + 16. */
	RULE_RBX,
	/* A frame by the frame pointer. */
	RULE_FRAME,
	RULE_OWN,
	RULE_COUNT,
};

static void publish(struct world *world, struct unwind_rule own)
{
	const struct unwind_rule rules[RULE_COUNT] = {
		[RULE_END] = { .cfa = CFA_END },
		[RULE_CALL] = CALL_RULE(32),
		[RULE_SAVES] = CALL_RULE(32, .rbx_slot = 3),
		[RULE_LOSES] = CALL_RULE(32, .rbx_slot = RBX_LOST),
		[RULE_RBX] = { .cfa = CFA_REGISTER,
			       .cfa_register = RBX,
			       .cfa_offset = 16,
			       .ra = SAVED_AT_CFA,
			       .ra_offset = -8,
			       .rbx_slot = 2 },
		[RULE_FRAME] = { .cfa = CFA_FP,
				 .cfa_offset = 16,
				 .ra = SAVED_AT_CFA,
				 .ra_offset = -8,
				 .fp = SAVED_AT_CFA,
				 .fp_offset = -16 },
		[RULE_OWN] = own,
	};

	world_publish_rules(world, rules, RULE_COUNT);
}

static void rbx_is_still_in_the_register_of_the_leaf(void **state)
{
	struct world *world = *state;

	publish(world, (struct unwind_rule){ 0 });
	world_set_registers(world, code_at(RULE_CALL), stack_address(10), 0);
	world->start.registers[RBX] = stack_address(40);
	world->stack[13] = code_at(RULE_CALL);
	world->stack[17] = code_at(RULE_RBX);
	world->stack[41] = code_at(RULE_END);
	world_unwind(world);
	assert_end(world, 4);
}

static void rbx_is_read_where_the_last_frame_saved_it(void **state)
{
	struct world *world = *state;

	publish(world, (struct unwind_rule){ 0 });
	world_set_registers(world, code_at(RULE_SAVES), stack_address(10), 0);
	world->start.registers[RBX] = 1;
	world->stack[11] = 2;
	world->stack[13] = code_at(RULE_SAVES);
	/* The second frame's CFA is word 18, rbx in the third below it. */
	world->stack[15] = stack_address(40);
	world->stack[17] = code_at(RULE_CALL);
	world->stack[21] = code_at(RULE_RBX);
	/* The caller's rbx, saved by the frame with the CFA in rbx. */
	world->stack[40] = stack_address(60);
	world->stack[41] = code_at(RULE_RBX);
	world->stack[61] = code_at(RULE_END);
	world_unwind(world);
	assert_end(world, 6);
}

static void a_lost_rbx_is_not_used(void **state)
{
	struct world *world = *state;

	publish(world, (struct unwind_rule){ 0 });
	world_set_registers(world, code_at(RULE_LOSES), stack_address(10), 0);
	world->start.registers[RBX] = stack_address(40);
	world->stack[13] = code_at(RULE_RBX);
	world_unwind(world);
	assert_error(world, 2, UNWIND_REGISTER_UNKNOWN, code_at(RULE_RBX));
	/* Saved again further up, it is known again. */
	world->stack[13] = code_at(RULE_SAVES);
	world->stack[15] = stack_address(40);
	world->stack[17] = code_at(RULE_RBX);
	world->stack[41] = code_at(RULE_END);
	world_unwind(world);
	assert_end(world, 4);
}

static void an_rbx_that_cannot_be_read_ends_the_unwind(void **state)
{
	struct world *world = *state;

	publish(world, (struct unwind_rule)CALL_RULE(32, .rbx_slot = 200));
	world_set_registers(world, code_at(RULE_OWN), stack_address(10), 0);
	world->stack[13] = code_at(RULE_RBX);
	world_unwind(world);
	assert_error(world, 2, UNWIND_STACK_UNREADABLE, code_at(RULE_RBX));
}

static void only_a_rule_that_switches_stacks_may_go_down(void **state)
{
	struct world *world = *state;
	struct unwind_rule rule = { .cfa = CFA_FP,
				    .cfa_offset = 24,
				    .ra = SAVED_AT_CFA,
				    .ra_offset = -8,
				    .fp = SAVED_AT_CFA,
				    .fp_offset = -24,
				    .flags = RULE_SWITCHES_STACK };

	publish(world, rule);
	world_set_registers(world, code_at(RULE_CALL), stack_address(50), stack_address(20));
	world->stack[53] = code_at(RULE_OWN);
	world->stack[20] = 7;
	world->stack[22] = code_at(RULE_END);
	world_unwind(world);
	assert_end(world, 3);
	rule.flags = 0;
	publish(world, rule);
	world_unwind(world);
	assert_error(world, 2, UNWIND_NO_PROGRESS, code_at(RULE_OWN));
}

static void a_circle_of_stacks_comes_to_an_end(void **state)
{
	struct world *world = *state;

	publish(world, (struct unwind_rule){ .cfa = CFA_FP,
					     .cfa_offset = 24,
					     .ra = SAVED_AT_CFA,
					     .ra_offset = -8,
					     .fp = SAVED_AT_CFA,
					     .fp_offset = -24,
					     .flags = RULE_SWITCHES_STACK });
	world_set_registers(world, code_at(RULE_OWN), stack_address(50), stack_address(20));
	world->stack[20] = stack_address(20);
	world->stack[22] = code_at(RULE_OWN);
	world_unwind(world);
	assert_int_equal(world->trace.error, UNWIND_NO_PROGRESS);
	assert_in_range(world->trace.word_count, 2 * 100, 2 * 300);
}

static void a_context_gives_a_return_address_and_its_stack(void **state)
{
	struct world *world = *state;
	/* Words of a struct ucontext behind the first five: r8 to r15, rdi, rsi, rbp, rbx, ... */
	enum { CONTEXT = 100, SAVED_RBP = 15, SAVED_RBX = 16, SAVED_RSP = 20, SAVED_RIP = 21 };

	publish(world, (struct unwind_rule){ .cfa = CFA_CONTEXT, .cfa_register = 1 });
	world_set_registers(world, code_at(RULE_OWN), stack_address(500), 0);
	world->start.registers[1] = stack_address(CONTEXT);
	world->stack[CONTEXT + SAVED_RBP] = 1;
	world->stack[CONTEXT + SAVED_RBX] = stack_address(40);
	world->stack[CONTEXT + SAVED_RSP] = stack_address(10);
	world->stack[CONTEXT + SAVED_RIP] = code_at(RULE_CALL);
	world->stack[13] = code_at(RULE_RBX);
	world->stack[41] = code_at(RULE_END);
	world_unwind(world);
	assert_end(world, 4);
	assert_frame(world, 0, code_at(RULE_OWN), 0);
	assert_frame(world, 1, code_at(RULE_CALL), FRAME_RETURN_ADDRESS);
	world->start.registers[1] = 16;
	world_unwind(world);
	assert_error(world, 1, UNWIND_STACK_UNREADABLE, code_at(RULE_OWN));
}

static void a_clone_ends_in_the_child_and_goes_on_in_the_parent(void **state)
{
	struct world *world = *state;

	publish(world, (struct unwind_rule)CALL_RULE(32, .flags = RULE_ENDS_IN_CHILD));
	world_set_registers(world, code_at(RULE_OWN), stack_address(10), 0);
	world->start.registers[0] = -38;
	world->stack[13] = code_at(RULE_END);
	world_unwind(world);
	assert_end(world, 2);
	assert_frame(world, 1, code_at(RULE_END), FRAME_RETURN_ADDRESS);
	world->start.registers[0] = 0;
	world_unwind(world);
	assert_end(world, 1);
	/* The register of a caller is not known. */
	world_set_registers(world, code_at(RULE_CALL), stack_address(6), 0);
	world->stack[9] = code_at(RULE_OWN);
	world_unwind(world);
	assert_end(world, 3);
}

static void a_return_address_of_zero_is_the_end_of_the_stack(void **state)
{
	struct world *world = *state;

	publish(world, (struct unwind_rule)CALL_RULE(32, .flags = RULE_GUESS));
	world_set_registers(world, code_at(RULE_CALL), stack_address(10), 0);
	world->stack[13] = code_at(RULE_CALL);
	world->stack[17] = 0;
	world_unwind(world);
	assert_end(world, 2);
	/* Behind a guess, whose frame stays flagged. */
	world_set_registers(world, code_at(RULE_OWN), stack_address(10), 0);
	world_unwind(world);
	assert_end(world, 2);
	assert_frame(world, 1, code_at(RULE_CALL), FRAME_RETURN_ADDRESS | FRAME_GUESS);
	/* The frame pointer goes on. */
	world_set_registers(world, code_at(RULE_OWN), stack_address(10), 1);
	world_unwind(world);
	assert_int_equal(world->trace.error, UNWIND_NO_MAPPING);
	/* By a guess: that is no proof of an end. */
	world_set_registers(world, code_at(RULE_OWN), stack_address(10), 0);
	world->stack[13] = 0;
	world_unwind(world);
	assert_int_equal(world->trace.error, UNWIND_NO_MAPPING);
}

static void the_cfa_is_read_behind_an_array(void **state)
{
	struct world *world = *state;

	publish(world, (struct unwind_rule){ .cfa = CFA_DEREF_SP_INDEXED,
					     .cfa_register = 9,
					     .cfa_offset = 8,
					     .cfa_addend = 8,
					     .ra = SAVED_AT_CFA,
					     .ra_offset = -8 });
	world_set_registers(world, code_at(RULE_OWN), stack_address(10), 0);
	world->start.registers[9] = 6;
	world->stack[17] = stack_address(30);
	world->stack[30] = code_at(RULE_END);
	world_unwind(world);
	assert_end(world, 2);
}

static void saved_values_are_found_by_sp(void **state)
{
	struct world *world = *state;

	publish(world, (struct unwind_rule){ .cfa = CFA_SP,
					     .cfa_offset = 40000,
					     .ra = SAVED_AT_SP,
					     .ra_offset = 8,
					     .fp = SAVED_AT_SP,
					     .fp_offset = 0 });
	world_set_registers(world, code_at(RULE_OWN), stack_address(10), 0);
	world->stack[10] = stack_address(7000);
	world->stack[11] = code_at(RULE_CALL);
	world->stack[10 + 5000 + 3] = code_at(RULE_END);
	world_unwind(world);
	assert_end(world, 3);
}

static void a_saved_frame_pointer_that_cannot_be_read_is_unknown(void **state)
{
	struct world *world = *state;
	struct unwind_rule rule = CALL_RULE(8, .fp = SAVED_AT_FP);

	/* Nothing needs it. */
	publish(world, rule);
	world_set_registers(world, code_at(RULE_OWN), stack_address(10), 77);
	world->stack[10] = code_at(RULE_CALL);
	world->stack[14] = code_at(RULE_END);
	world_unwind(world);
	assert_end(world, 3);
	/* The caller needs it. */
	rule = (struct unwind_rule){ .cfa = CFA_REGISTER,
				     .cfa_register = 1,
				     .ra = SAVED_AT_CFA,
				     .ra_offset = -8,
				     .fp = SAVED_AT_CFA,
				     .fp_offset = -32000 };
	publish(world, rule);
	world->start.registers[1] = stack_address(11);
	world->stack[10] = code_at(RULE_FRAME);
	world_unwind(world);
	assert_error(world, 2, UNWIND_REGISTER_UNKNOWN, code_at(RULE_FRAME));
}

/* Word 20: the saved frame pointer of a function that realigns its stack; word 31: its return address. */
static void a_frame_pointer_is_saved_only_in_a_realigned_frame(void **state)
{
	struct world *world = *state;

	publish(world, (struct unwind_rule){ .cfa = CFA_REGISTER,
					     .cfa_register = 10,
					     .ra = SAVED_AT_CFA,
					     .ra_offset = -8,
					     .fp = SAVED_AT_FP });
	world->start.registers[10] = stack_address(32);
	world->stack[20] = stack_address(40);
	world->stack[21] = world->stack[31] = code_at(RULE_FRAME);
	world->stack[40] = stack_address(60);
	world->stack[41] = code_at(RULE_END);
	world->stack[61] = code_at(RULE_CALL);
	world_set_registers(world, code_at(RULE_OWN), stack_address(20), stack_address(20));
	world_unwind(world);
	assert_end(world, 3);
	assert_frame(world, 2, code_at(RULE_END), FRAME_RETURN_ADDRESS);
	/* The register has the caller's value again, and what it points to is that of the caller's caller. */
	world_set_registers(world, code_at(RULE_OWN), stack_address(22), stack_address(40));
	world_unwind(world);
	assert_end(world, 3);
	assert_frame(world, 2, code_at(RULE_END), FRAME_RETURN_ADDRESS);
	/* The same by a CFA at sp. */
	publish(world, (struct unwind_rule)CALL_RULE(8, .fp = SAVED_AT_FP));
	world_set_registers(world, code_at(RULE_OWN), stack_address(31), stack_address(40));
	world_unwind(world);
	assert_end(world, 3);
	assert_frame(world, 2, code_at(RULE_END), FRAME_RETURN_ADDRESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(rbx_is_still_in_the_register_of_the_leaf),
		world_test(rbx_is_read_where_the_last_frame_saved_it),
		world_test(a_lost_rbx_is_not_used),
		world_test(an_rbx_that_cannot_be_read_ends_the_unwind),
		world_test(only_a_rule_that_switches_stacks_may_go_down),
		world_test(a_circle_of_stacks_comes_to_an_end),
		world_test(a_context_gives_a_return_address_and_its_stack),
		world_test(a_clone_ends_in_the_child_and_goes_on_in_the_parent),
		world_test(a_return_address_of_zero_is_the_end_of_the_stack),
		world_test(the_cfa_is_read_behind_an_array),
		world_test(saved_values_are_found_by_sp),
		world_test(a_saved_frame_pointer_that_cannot_be_read_is_unknown),
		world_test(a_frame_pointer_is_saved_only_in_a_realigned_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
