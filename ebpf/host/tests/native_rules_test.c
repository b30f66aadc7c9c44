// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* Each kind of rule, and each way in which a step can fail, over hand-made stacks. */
#include "ebpf/host/tests/unwind_fixture.h"

/* Rules that most tests need besides their own; code_at() takes their index. */
enum {
	RULE_END,
	RULE_CALL,
	RULE_OWN,
	RULE_COUNT = 8,
};

/* Publishes @own, the rule of an outermost frame, and that of a frame with only its return address. */
static void publish(struct world *world, struct unwind_rule own)
{
	struct unwind_rule rules[RULE_COUNT] = {
		[RULE_END] = { .cfa = CFA_END },
		[RULE_CALL] = CALL_RULE(8),
		[RULE_OWN] = own,
	};

	world_publish_rules(world, rules, RULE_COUNT);
}

static void the_cfa_is_sp_plus_offset(void **state)
{
	struct world *world = *state;

	publish(world, (struct unwind_rule)CALL_RULE(32));
	world_set_registers(world, code_at(RULE_OWN), stack_address(10), 0);
	world->stack[13] = code_at(RULE_CALL);
	world->stack[14] = code_at(RULE_END);
	world_unwind(world);
	assert_end(world, 3);
	assert_frame(world, 0, code_at(RULE_OWN), 0);
	assert_frame(world, 1, code_at(RULE_CALL), FRAME_RETURN_ADDRESS);
	assert_frame(world, 2, code_at(RULE_END), FRAME_RETURN_ADDRESS);
}

static void frame_pointer_and_return_address_are_neighbours(void **state)
{
	struct world *world = *state;

	publish(world, (struct unwind_rule){ .cfa = CFA_FP,
					     .cfa_offset = 16,
					     .ra = SAVED_AT_CFA,
					     .ra_offset = -8,
					     .fp = SAVED_AT_CFA,
					     .fp_offset = -16 });
	world_set_registers(world, code_at(RULE_OWN), stack_address(10), stack_address(20));
	world->stack[20] = stack_address(40);
	world->stack[21] = code_at(RULE_OWN) + 1;
	world->stack[40] = 0;
	world->stack[41] = code_at(RULE_END);
	world_unwind(world);
	assert_end(world, 3);
	assert_frame(world, 1, code_at(RULE_OWN) + 1, FRAME_RETURN_ADDRESS);
	assert_frame(world, 2, code_at(RULE_END), FRAME_RETURN_ADDRESS);
}

static void the_frame_pointer_is_saved_apart(void **state)
{
	struct world *world = *state;

	publish(world, (struct unwind_rule){ .cfa = CFA_FP,
					     .cfa_offset = 48,
					     .ra = SAVED_AT_CFA,
					     .ra_offset = -8,
					     .fp = SAVED_AT_CFA,
					     .fp_offset = -48 });
	world_set_registers(world, code_at(RULE_OWN), stack_address(10), stack_address(20));
	world->stack[20] = stack_address(40);
	world->stack[25] = code_at(RULE_OWN) + 1;
	world->stack[45] = code_at(RULE_END);
	world_unwind(world);
	assert_end(world, 3);
	assert_frame(world, 2, code_at(RULE_END), FRAME_RETURN_ADDRESS);
}

static void saved_values_are_found_by_the_frame_pointer(void **state)
{
	struct world *world = *state;

	/* A re-aligned stack: the CFA is found through memory, the rest by fp. */
	publish(world, (struct unwind_rule){ .cfa = CFA_DEREF_FP,
					     .cfa_offset = -8,
					     .ra = SAVED_AT_FP,
					     .ra_offset = 8,
					     .fp = SAVED_AT_FP });
	world_set_registers(world, code_at(RULE_OWN), stack_address(10), stack_address(20));
	world->stack[19] = stack_address(30);
	world->stack[20] = stack_address(50);
	world->stack[21] = code_at(RULE_OWN) + 2;
	world->stack[49] = stack_address(60);
	world->stack[50] = 1;
	world->stack[51] = code_at(RULE_CALL);
	world->stack[60] = code_at(RULE_END);
	world_unwind(world);
	assert_end(world, 4);
	assert_frame(world, 1, code_at(RULE_OWN) + 2, FRAME_RETURN_ADDRESS);
	assert_frame(world, 2, code_at(RULE_CALL), FRAME_RETURN_ADDRESS);
}

static void the_cfa_is_read_at_sp(void **state)
{
	struct world *world = *state;

	publish(world, (struct unwind_rule){ .cfa = CFA_DEREF_SP,
					     .cfa_offset = 24,
					     .cfa_addend = 8,
					     .ra = SAVED_AT_CFA,
					     .ra_offset = -8 });
	world_set_registers(world, code_at(RULE_OWN), stack_address(10), 0);
	world->stack[13] = stack_address(70);
	world->stack[70] = code_at(RULE_CALL);
	world->stack[71] = code_at(RULE_END);
	world_unwind(world);
	assert_end(world, 3);
}

static void the_cfa_is_any_register_of_the_leaf(void **state)
{
	struct world *world = *state;

	publish(world, (struct unwind_rule){ .cfa = CFA_REGISTER,
					     .cfa_register = 10,
					     .cfa_offset = 16,
					     .ra = SAVED_AT_CFA,
					     .ra_offset = -8 });
	world_set_registers(world, code_at(RULE_OWN), stack_address(10), 0);
	world->start.registers[10] = stack_address(30);
	world->stack[31] = code_at(RULE_END);
	world_unwind(world);
	assert_end(world, 2);

	/* The caller's r10 is not known. */
	world->stack[31] = code_at(RULE_OWN) + 1;
	world_unwind(world);
	assert_error(world, 2, UNWIND_REGISTER_UNKNOWN, code_at(RULE_OWN) + 1);
}

static void the_cfa_is_read_where_a_register_points(void **state)
{
	struct world *world = *state;

	publish(world, (struct unwind_rule){ .cfa = CFA_DEREF_REGISTER,
					     .cfa_register = 3,
					     .cfa_offset = -8,
					     .ra = SAVED_AT_CFA,
					     .ra_offset = -8 });
	world_set_registers(world, code_at(RULE_OWN), stack_address(10), 0);
	world->start.registers[3] = stack_address(30);
	world->stack[29] = stack_address(90);
	world->stack[89] = code_at(RULE_END);
	world_unwind(world);
	assert_end(world, 2);
}

static void a_register_number_out_of_range_is_unknown(void **state)
{
	struct world *world = *state;

	publish(world, (struct unwind_rule){
			       .cfa = CFA_REGISTER, .cfa_register = 200, .ra = SAVED_AT_CFA });
	world_set_registers(world, code_at(RULE_OWN), stack_address(10), 0);
	world_unwind(world);
	assert_error(world, 1, UNWIND_REGISTER_UNKNOWN, code_at(RULE_OWN));
}

static void a_plt_entry_has_pushed_a_word_in_its_second_half(void **state)
{
	struct world *world = *state;
	uint64_t entry = TEXT_START + RULE_OWN * 16;

	publish(world, (struct unwind_rule){ .cfa = CFA_PLT,
					     .cfa_offset = 8,
					     .cfa_addend = 11,
					     .ra = SAVED_AT_CFA,
					     .ra_offset = -8 });
	world->stack[10] = code_at(RULE_CALL);
	world->stack[11] = code_at(RULE_END);
	for (int i = 0; i < 11; i++) {
		world_set_registers(world, entry + i, stack_address(10), 0);
		world_unwind(world);
		assert_end(world, 3);
	}
	for (int i = 11; i < 16; i++) {
		world_set_registers(world, entry + i, stack_address(9), 0);
		world_unwind(world);
		assert_end(world, 3);
	}
}

/* Word of the signal frame at @sp for each DWARF number, from struct sigcontext_64. */
static const uint8_t signal_words[17] = { 13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7, 16 };

static void a_signal_frame_gives_all_registers(void **state)
{
	struct world *world = *state;
	struct unwind_rule rules[RULE_COUNT] = {
		[RULE_END] = { .cfa = CFA_END },
		[RULE_CALL] = CALL_RULE(8),
		[RULE_OWN] = { .cfa = CFA_SIGNAL },
		[3] = { .cfa = CFA_REGISTER,
			.cfa_register = 12,
			.ra = SAVED_AT_CFA,
			.ra_offset = -8 },
		[4] = { .cfa = CFA_FP, .cfa_offset = 8, .ra = SAVED_AT_CFA, .ra_offset = -8 },
	};

	world_publish_rules(world, rules, RULE_COUNT);
	/* The handler runs on a stack above the interrupted one's: sp may go down here. */
	world_set_registers(world, code_at(RULE_CALL), stack_address(1000), 0);
	world->stack[1000] = code_at(RULE_OWN);
	for (int i = 0; i < 17; i++)
		world->stack[1001 + 5 + signal_words[i]] = 0xbad0 + i;
	world->stack[1001 + 5 + signal_words[16]] = code_at(3);
	world->stack[1001 + 5 + signal_words[7]] = stack_address(20);
	world->stack[1001 + 5 + signal_words[6]] = stack_address(40);
	world->stack[1001 + 5 + signal_words[12]] = stack_address(30);
	world->stack[29] = code_at(4);
	world->stack[40] = code_at(RULE_END);
	world_unwind(world);
	assert_end(world, 5);
	/* The trampoline was not called, either. */
	assert_frame(world, 1, code_at(RULE_OWN), 0);
	/* The pc that the signal interrupted is not a return address. */
	assert_frame(world, 2, code_at(3), 0);
	assert_frame(world, 3, code_at(4), FRAME_RETURN_ADDRESS);
}

/* musl's __restore_rt ends with its system call: the pc behind it is in another function. */
static void a_trampoline_in_its_system_call_is_the_function_in_front_of_pc(void **state)
{
	struct world *world = *state;
	struct unwind_rule rules[RULE_COUNT] = {
		[RULE_END] = { .cfa = CFA_END },
		[RULE_OWN] = { .cfa = CFA_SIGNAL },
		[RULE_OWN + 1] = { .cfa = CFA_NONE },
	};
	uint64_t end = TEXT_START + (RULE_OWN + 1) * 16;

	world_publish_rules(world, rules, RULE_COUNT);
	world_set_registers(world, end, stack_address(1001), 0);
	world->start.frame_flags = FRAME_RETURN_ADDRESS;
	world->stack[1001 + 5 + signal_words[16]] = code_at(RULE_END);
	world->stack[1001 + 5 + signal_words[7]] = stack_address(20);
	world_unwind(world);
	assert_end(world, 2);
	assert_frame(world, 0, end, FRAME_RETURN_ADDRESS);
}

static void each_register_of_a_signal_frame_is_in_its_slot(void **state)
{
	struct world *world = *state;
	struct unwind_rule rules[RULE_COUNT] = {
		[RULE_END] = { .cfa = CFA_END },
		[RULE_OWN] = { .cfa = CFA_SIGNAL },
		[3] = { .cfa = CFA_REGISTER, .ra = SAVED_AT_CFA, .ra_offset = -8 },
	};

	for (int number = 0; number < 16; number++) {
		rules[3].cfa_register = number;
		world_publish_rules(world, rules, RULE_COUNT);
		world_set_registers(world, code_at(RULE_OWN), stack_address(1001), 0);
		for (int i = 0; i < 17; i++)
			world->stack[1001 + 5 + signal_words[i]] = 0;
		world->stack[1001 + 5 + signal_words[16]] = code_at(3);
		world->stack[1001 + 5 + signal_words[number]] = stack_address(30);
		world->stack[29] = code_at(RULE_END);
		world_unwind(world);
		/* sp itself is the one register that must be below the CFA. */
		if (number == 7)
			assert_error(world, 2, UNWIND_NO_PROGRESS, code_at(3));
		else
			assert_end(world, 3);
	}
}

static void the_interrupted_address_is_looked_up_itself(void **state)
{
	struct world *world = *state;

	/* At the first byte of a row: the byte before it has another rule. */
	publish(world, (struct unwind_rule){ .cfa = CFA_SIGNAL });
	world_set_registers(world, code_at(RULE_OWN), stack_address(1001), 0);
	world->stack[1001 + 5 + 16] = TEXT_START + RULE_CALL * 16;
	world->stack[1001 + 5 + 15] = stack_address(20);
	world->stack[20] = code_at(RULE_END);
	world_unwind(world);
	assert_end(world, 3);
	assert_frame(world, 1, TEXT_START + RULE_CALL * 16, 0);
}

static void a_return_address_is_looked_up_one_byte_before(void **state)
{
	struct world *world = *state;

	publish(world, (struct unwind_rule){ .cfa = CFA_END });
	world_set_registers(world, code_at(RULE_CALL), stack_address(10), 0);
	/* A call that does not return, at the end of RULE_OWN's code: the next byte is another's. */
	world->stack[10] = TEXT_START + (RULE_OWN + 1) * 16;
	world_unwind(world);
	assert_end(world, 2);
	assert_frame(world, 1, TEXT_START + (RULE_OWN + 1) * 16, FRAME_RETURN_ADDRESS);
}

static void a_system_call_is_looked_up_one_byte_before(void **state)
{
	struct world *world = *state;

	/* As in exit(): the instruction is followed by another function. All registers are known. */
	publish(world, (struct unwind_rule){ .cfa = CFA_REGISTER,
					     .cfa_register = 13,
					     .ra = SAVED_AT_CFA,
					     .ra_offset = -8 });
	world_set_registers(world, TEXT_START + (RULE_OWN + 1) * 16, stack_address(10), 0);
	world->start.registers[13] = stack_address(20);
	world->stack[19] = code_at(RULE_END);
	world->start.frame_flags = FRAME_RETURN_ADDRESS;
	world_unwind(world);
	assert_end(world, 2);
	assert_frame(world, 0, TEXT_START + (RULE_OWN + 1) * 16, FRAME_RETURN_ADDRESS);
	world->start.frame_flags = 0;
	world_unwind(world);
	assert_error(world, 1, UNWIND_NO_INFO, TEXT_START + (RULE_OWN + 1) * 16);
}

/* mov $15,%rax; syscall */
static const uint8_t trampoline[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };

static void a_trampoline_without_rows_is_known_by_its_code(void **state)
{
	struct world *world = *state;

	publish(world, (struct unwind_rule){ .cfa = CFA_NONE });
	world->user[1] = (struct region){ code_at(RULE_OWN), sizeof(trampoline), trampoline };
	world_set_registers(world, code_at(RULE_CALL), stack_address(1000), 0);
	world->stack[1000] = code_at(RULE_OWN);
	world->stack[1001 + 5 + 16] = code_at(RULE_END);
	world->stack[1001 + 5 + 15] = stack_address(20);
	world_unwind(world);
	assert_end(world, 3);

	world->user[1].size = 8;
	world_unwind(world);
	assert_error(world, 2, UNWIND_NO_INFO, code_at(RULE_OWN));
}

static void a_trampoline_is_known_at_its_system_call_and_behind_it(void **state)
{
	struct world *world = *state;
	uint64_t start = code_at(RULE_OWN);

	publish(world, (struct unwind_rule){ .cfa = CFA_NONE });
	world->user[1] = (struct region){ start, sizeof(trampoline), trampoline };
	world->stack[1000 + 5 + 16] = code_at(RULE_END);
	world->stack[1000 + 5 + 15] = stack_address(20);
	world_set_registers(world, start + 7, stack_address(1000), 0);
	world_unwind(world);
	assert_end(world, 2);
	/* Behind it another function may begin, which is no trampoline. */
	world_set_registers(world, start + 9, stack_address(1000), 0);
	world_unwind(world);
	assert_error(world, 1, UNWIND_NO_INFO, start + 9);
	world->start.frame_flags = FRAME_RETURN_ADDRESS;
	world_unwind(world);
	assert_end(world, 2);
}

static void an_unreadable_signal_frame_ends_the_unwind(void **state)
{
	struct world *world = *state;

	publish(world, (struct unwind_rule){ .cfa = CFA_SIGNAL });
	world_set_registers(world, code_at(RULE_OWN), stack_address(STACK_WORDS - 21), 0);
	world_unwind(world);
	assert_error(world, 1, UNWIND_STACK_UNREADABLE, code_at(RULE_OWN));
}

static void a_return_address_in_a_register_needs_no_stack(void **state)
{
	struct world *world = *state;

	/* As in glibc's vfork: popped into rdi, so the CFA is sp. */
	publish(world,
		(struct unwind_rule){ .cfa = CFA_SP, .ra = SAVED_IN_REGISTER, .ra_offset = 5 });
	world_set_registers(world, code_at(RULE_OWN), stack_address(10), 0);
	world->start.registers[5] = code_at(RULE_CALL);
	world->stack[10] = code_at(RULE_END);
	world_unwind(world);
	assert_end(world, 3);

	/* Not twice: the caller's rdi is not known. */
	world->start.registers[5] = code_at(RULE_OWN);
	world_unwind(world);
	assert_error(world, 2, UNWIND_REGISTER_UNKNOWN, code_at(RULE_OWN));
}

static void a_link_register_is_unknown_where_there_is_none(void **state)
{
	struct world *world = *state;

	publish(world, (struct unwind_rule){ .cfa = CFA_SP, .cfa_offset = 8, .ra = SAVED_SAME });
	world_set_registers(world, code_at(RULE_OWN), stack_address(10), 0);
	world_unwind(world);
	assert_error(world, 1, UNWIND_REGISTER_UNKNOWN, code_at(RULE_OWN));
}

static void a_lost_frame_pointer_is_not_used(void **state)
{
	struct world *world = *state;
	struct unwind_rule rules[RULE_COUNT] = {
		{ .cfa = CFA_SP,
		  .cfa_offset = 8,
		  .ra = SAVED_AT_CFA,
		  .ra_offset = -8,
		  .fp = SAVED_UNDEFINED },
		{ .cfa = CFA_FP, .cfa_offset = 8, .ra = SAVED_AT_CFA, .ra_offset = -8 },
		{ .cfa = CFA_DEREF_FP, .ra = SAVED_AT_CFA },
		{ .cfa = CFA_SP, .cfa_offset = 8, .ra = SAVED_AT_FP },
		{ .cfa = CFA_SP,
		  .cfa_offset = 8,
		  .ra = SAVED_AT_CFA,
		  .ra_offset = -8,
		  .fp = SAVED_AT_FP },
		{ .cfa = CFA_END },
	};

	world_publish_rules(world, rules, RULE_COUNT);
	world_set_registers(world, code_at(0), stack_address(10), stack_address(50));
	for (int rule = 1; rule < 4; rule++) {
		world->stack[10] = world->stack[11] = code_at(rule);
		world_unwind(world);
		assert_error(world, 2, UNWIND_REGISTER_UNKNOWN, code_at(rule));
	}
	/* The caller's stays lost, and the unwind goes on. */
	world->stack[10] = code_at(4);
	world->stack[11] = code_at(5);
	world_unwind(world);
	assert_end(world, 3);
}

static void rules_that_say_nothing_end_the_unwind(void **state)
{
	static const struct {
		struct unwind_rule rule;
		enum unwind_error error;
	} cases[] = {
		{ { .cfa = CFA_NONE }, UNWIND_NO_INFO },
		{ { .cfa = CFA_UNSUPPORTED }, UNWIND_UNSUPPORTED_RULE },
		{ { .cfa = 200 }, UNWIND_UNSUPPORTED_RULE },
		{ { .cfa = CFA_SP, .cfa_offset = 8, .ra = SAVED_UNDEFINED },
		  UNWIND_UNSUPPORTED_RULE },
		{ { .cfa = CFA_SP, .cfa_offset = 8, .ra = 77 }, UNWIND_UNSUPPORTED_RULE },
	};
	struct world *world = *state;

	world_set_registers(world, code_at(RULE_OWN), stack_address(10), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		publish(world, cases[i].rule);
		world_unwind(world);
		assert_error(world, 1, cases[i].error, code_at(RULE_OWN));
	}
}

static void what_cannot_be_read_ends_the_unwind(void **state)
{
	static const struct unwind_rule cases[] = {
		CALL_RULE(8),
		{ .cfa = CFA_DEREF_SP, .ra = SAVED_AT_CFA },
		{ .cfa = CFA_SP,
		  .cfa_offset = 16,
		  .ra = SAVED_AT_CFA,
		  .ra_offset = -8,
		  .fp = SAVED_AT_CFA,
		  .fp_offset = -16 },
	};
	struct world *world = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		publish(world, cases[i]);
		world_set_registers(world, code_at(RULE_OWN), stack_address(STACK_WORDS), 0);
		world_unwind(world);
		assert_error(world, 1, UNWIND_STACK_UNREADABLE, code_at(RULE_OWN));
	}
}

static void the_stack_must_grow_at_each_step(void **state)
{
	struct world *world = *state;

	world_set_registers(world, code_at(RULE_OWN), stack_address(10), 0);
	for (int offset = -16; offset <= 0; offset += 8) {
		publish(world, (struct unwind_rule){
				       .cfa = CFA_SP, .cfa_offset = offset, .ra = SAVED_AT_CFA });
		for (int i = 0; i < 20; i++)
			world->stack[i] = code_at(RULE_OWN);
		world_unwind(world);
		assert_error(world, 1, UNWIND_NO_PROGRESS, code_at(RULE_OWN));
	}
}

static void an_unwind_without_end_is_cut(void **state)
{
	struct world *world = *state;

	publish(world, (struct unwind_rule)CALL_RULE(16));
	world_set_registers(world, code_at(RULE_OWN), stack_address(0), 0);
	for (int i = 0; i < STACK_WORDS; i++)
		world->stack[i] = code_at(RULE_OWN) + i % 2;
	world_unwind(world);
	assert_error(world, USER_FRAMES_MAX, UNWIND_TRUNCATED, code_at(RULE_OWN) + 1);
	for (int i = 1; i < USER_FRAMES_MAX; i++)
		assert_frame(world, i, code_at(RULE_OWN) + 1, FRAME_RETURN_ADDRESS);
}

static void the_deepest_unwind_that_fits_is_whole(void **state)
{
	struct world *world = *state;

	publish(world, (struct unwind_rule){ .cfa = CFA_NONE });
	world_set_registers(world, code_at(RULE_CALL), stack_address(0), 0);
	for (int i = 0; i < USER_FRAMES_MAX - 2; i++)
		world->stack[i] = code_at(RULE_CALL);
	world->stack[USER_FRAMES_MAX - 2] = code_at(RULE_END);
	world_unwind(world);
	assert_end(world, USER_FRAMES_MAX);
}

static void a_call_through_a_null_pointer_is_stepped_over(void **state)
{
	struct world *world = *state;

	publish(world, (struct unwind_rule){ .cfa = CFA_NONE });
	world_set_registers(world, 0, stack_address(10), 0);
	world->stack[10] = code_at(RULE_END);
	world_unwind(world);
	assert_end(world, 2);
	assert_int_equal(world->trace.words[0], frame_word(FRAME_NATIVE, 0, 0));
	assert_int_equal(world->trace.words[1], EXECUTABLE_ID_UNMAPPED);
	assert_frame(world, 1, code_at(RULE_END), FRAME_RETURN_ADDRESS);
	assert_int_equal(world->trace.unknown_address, 0);

	/* But a null return address is no call. */
	world->stack[10] = 0;
	world_unwind(world);
	assert_error(world, 1, UNWIND_NO_MAPPING, 0);
}

static void the_vsyscall_page_is_stepped_over(void **state)
{
	struct world *world = *state;

	publish(world, (struct unwind_rule){ .cfa = CFA_NONE });
	world_set_registers(world, 0xffffffffff600400ULL, stack_address(10), 0);
	world->stack[10] = code_at(RULE_END);
	world_unwind(world);
	assert_end(world, 2);
	assert_int_equal(world->trace.words[1], EXECUTABLE_ID_UNMAPPED);
}

static void recursion_uses_the_rule_again(void **state)
{
	struct world *world = *state;

	publish(world, (struct unwind_rule)CALL_RULE(24));
	world_set_registers(world, code_at(RULE_OWN), stack_address(0), 0);
	for (int i = 0; i < 10; i++)
		world->stack[3 * i + 2] = code_at(RULE_OWN);
	world->stack[3 * 9 + 2] = code_at(RULE_END);
	world_unwind(world);
	assert_end(world, 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(the_cfa_is_sp_plus_offset),
		world_test(frame_pointer_and_return_address_are_neighbours),
		world_test(the_frame_pointer_is_saved_apart),
		world_test(saved_values_are_found_by_the_frame_pointer),
		world_test(the_cfa_is_read_at_sp),
		world_test(the_cfa_is_any_register_of_the_leaf),
		world_test(the_cfa_is_read_where_a_register_points),
		world_test(a_register_number_out_of_range_is_unknown),
		world_test(a_plt_entry_has_pushed_a_word_in_its_second_half),
		world_test(a_signal_frame_gives_all_registers),
		world_test(a_trampoline_in_its_system_call_is_the_function_in_front_of_pc),
		world_test(each_register_of_a_signal_frame_is_in_its_slot),
		world_test(the_interrupted_address_is_looked_up_itself),
		world_test(a_return_address_is_looked_up_one_byte_before),
		world_test(a_system_call_is_looked_up_one_byte_before),
		world_test(a_trampoline_without_rows_is_known_by_its_code),
		world_test(a_trampoline_is_known_at_its_system_call_and_behind_it),
		world_test(an_unreadable_signal_frame_ends_the_unwind),
		world_test(a_return_address_in_a_register_needs_no_stack),
		world_test(a_link_register_is_unknown_where_there_is_none),
		world_test(a_lost_frame_pointer_is_not_used),
		world_test(rules_that_say_nothing_end_the_unwind),
		world_test(what_cannot_be_read_ends_the_unwind),
		world_test(the_stack_must_grow_at_each_step),
		world_test(an_unwind_without_end_is_cut),
		world_test(the_deepest_unwind_that_fits_is_whole),
		world_test(a_call_through_a_null_pointer_is_stepped_over),
		world_test(the_vsyscall_page_is_stepped_over),
		world_test(recursion_uses_the_rule_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
