// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* Callers of code without unwind information: which are accepted, which are refused, and their flags. */
#include "ebpf/host/tests/unwind_fixture.h"
#include "ebpf/kernel_types.bpf.h"

#define JIT_START 0x7f1100000000ULL

enum {
	RULE_NONE,
	RULE_END,
	RULE_LOST_FP,
	RULE_GUESSING,
	RULE_COUNT,
	JIT_BYTES = 4096,
};

/* Memory of JIT code beside the world's text and stack. */
struct jit {
	uint8_t code[JIT_BYTES];
	uint8_t text[JIT_BYTES];
};

static uint64_t jit_at(uint32_t offset)
{
	return JIT_START + offset;
}

/* Puts @count bytes of code in front of @offset, so that it can be a return address. */
static void put_before(uint8_t *code, uint32_t offset, const char *bytes, uint32_t count)
{
	memcpy(code + offset - count, bytes, count);
}

static void set_up(struct world *world, struct jit *jit)
{
	static const struct unwind_rule rules[RULE_COUNT] = {
		[RULE_NONE] = { .cfa = CFA_NONE },
		[RULE_END] = { .cfa = CFA_END },
		[RULE_LOST_FP] = CALL_RULE(8, .fp = SAVED_UNDEFINED),
		[RULE_GUESSING] = CALL_RULE(8, .flags = RULE_GUESS),
	};
	const struct mapping_row mappings[] = {
		{ TEXT_START, TEXT_START + (1 << 20), TEXT_START - TEXT_ADDRESS, EXECUTABLE_ID },
		{ JIT_START, JIT_START + JIT_BYTES, 0, EXECUTABLE_ID_ANONYMOUS },
	};

	memset(jit, 0x90, sizeof(*jit));
	world_publish_rules(world, rules, RULE_COUNT);
	world_set_mappings(world, 10, mappings, 2);
	world->user[1] = (struct region){ JIT_START, JIT_BYTES, jit->code };
	world->user[2] = (struct region){ TEXT_START, JIT_BYTES, jit->text };
	put_before(jit->text, code_at(RULE_END) - TEXT_START, "\xe8\0\0\0\0", 5);
	put_before(jit->text, code_at(RULE_NONE) - TEXT_START, "\xff\xd0", 2);
	put_before(jit->code, 0x100, "\xe8\0\0\0\0", 5);
	put_before(jit->code, 0x200, "\xff\xd3", 2);
}

static void assert_word(const struct world *world, uint32_t index, uint64_t word, uint64_t id)
{
	assert_true(2 * index + 1 < world->trace.word_count);
	assert_int_equal(world->trace.words[2 * index], word);
	assert_int_equal(world->trace.words[2 * index + 1], id);
}

static void assert_guess(const struct world *world, uint32_t index, uint64_t pc)
{
	assert_word(world, index, frame_word(FRAME_NATIVE, FRAME_RETURN_ADDRESS | FRAME_GUESS, pc),
		    EXECUTABLE_ID_ANONYMOUS);
}

static void jit_code_is_unwound_by_its_frame_pointers(void **state)
{
	struct world *world = *state;
	struct jit jit;

	set_up(world, &jit);
	world_set_registers(world, jit_at(0x80), stack_address(8), stack_address(10));
	world->stack[10] = stack_address(20);
	world->stack[11] = jit_at(0x100);
	world->stack[20] = stack_address(30);
	world->stack[21] = jit_at(0x200);
	world->stack[30] = 1;
	world->stack[31] = code_at(RULE_END);
	world_unwind(world);
	assert_end(world, 4);
	assert_word(world, 0, frame_word(FRAME_NATIVE, 0, jit_at(0x80)), EXECUTABLE_ID_ANONYMOUS);
	assert_guess(world, 1, jit_at(0x100));
	assert_guess(world, 2, jit_at(0x200));
	assert_frame(world, 3, code_at(RULE_END), FRAME_RETURN_ADDRESS | FRAME_GUESS);
}

static void a_file_that_says_nothing_is_unwound_by_frame_pointers(void **state)
{
	struct world *world = *state;
	struct jit jit;

	set_up(world, &jit);
	world_set_registers(world, code_at(RULE_NONE) - 4, stack_address(8), stack_address(10));
	world->stack[10] = stack_address(20);
	world->stack[11] = code_at(RULE_NONE);
	world->stack[20] = 0;
	world->stack[21] = code_at(RULE_END);
	world_unwind(world);
	assert_end(world, 3);
	assert_frame(world, 1, code_at(RULE_NONE), FRAME_RETURN_ADDRESS | FRAME_GUESS);
	assert_frame(world, 2, code_at(RULE_END), FRAME_RETURN_ADDRESS | FRAME_GUESS);
}

/* The kernel's area for the next unwind, and how often it was asked for. */
static struct vm_area_struct new_area;
static uint32_t ask_count;

static int find_area(void *context, uint64_t address, struct vm_area_struct *area)
{
	(void)context;
	ask_count++;
	*area = new_area;
	return address >= new_area.vm_start && address < new_area.vm_end ? 0 : -1;
}

/* As set_up(), but user space does not know the JIT code yet. */
static void set_up_new(struct world *world, struct jit *jit)
{
	const struct mapping_row text = { TEXT_START, TEXT_START + (1 << 20),
					  TEXT_START - TEXT_ADDRESS, EXECUTABLE_ID };

	set_up(world, jit);
	world_set_mappings(world, 10, &text, 1);
	world->memory.find_area = find_area;
	new_area = (struct vm_area_struct){
		.vm_start = JIT_START,
		.vm_end = JIT_START + JIT_BYTES,
		.vm_flags = AREA_EXECUTABLE,
	};
	ask_count = 0;
	world_set_registers(world, jit_at(0x80), stack_address(8), stack_address(10));
	world->stack[10] = stack_address(20);
	world->stack[11] = jit_at(0x100);
	world->stack[20] = stack_address(30);
	world->stack[21] = code_at(RULE_END);
}

static void code_that_was_just_made_is_asked_of_the_kernel(void **state)
{
	struct world *world = *state;
	struct jit jit;

	set_up_new(world, &jit);
	world_unwind(world);
	assert_end(world, 3);
	assert_word(world, 0, frame_word(FRAME_NATIVE, 0, jit_at(0x80)), EXECUTABLE_ID_ANONYMOUS);
	assert_guess(world, 1, jit_at(0x100));
	assert_int_equal(ask_count, 1);
	/* User space gets an event for it nevertheless. */
	assert_int_equal(world->trace.unknown_address, jit_at(0x80));
}

static void what_the_kernel_does_not_have_as_anonymous_code_is_no_mapping(void **state)
{
	struct world *world = *state;
	const struct vm_operations_struct *some = (const void *)0xffff888000000000ULL;
	struct jit jit;

	for (int i = 0; i < 4; i++) {
		set_up_new(world, &jit);
		if (i == 0)
			new_area.vm_flags = 0;
		else if (i == 1)
			new_area.vm_ops = some;
		else if (i == 2)
			new_area.vm_end = jit_at(0x80);
		else
			world->memory.find_area = NULL;
		world_unwind(world);
		assert_int_equal(world->trace.error, UNWIND_NO_MAPPING);
		assert_int_equal(world->trace.word_count, 1);
		assert_int_equal(world->trace.words[0],
				 frame_word(FRAME_ERROR, UNWIND_NO_MAPPING, jit_at(0x80)));
		assert_int_equal(ask_count, i < 3);
	}
}

static void the_kernel_is_asked_once_in_a_unwind(void **state)
{
	struct world *world = *state;
	struct jit jit;

	set_up_new(world, &jit);
	new_area.vm_end = jit_at(0x100);
	put_before(jit.text, code_at(RULE_LOST_FP) - TEXT_START, "\xff\xd0", 2);
	world->stack[11] = code_at(RULE_LOST_FP);
	world->stack[12] = jit_at(0x200);
	world_unwind(world);
	assert_int_equal(world->trace.error, UNWIND_NO_MAPPING);
	assert_int_equal(ask_count, 1);
}

/* Asserts that the unwind from jit_at(0x80) ends there with the same error as without a guess. */
static void assert_no_guess(struct world *world)
{
	world_unwind(world);
	assert_int_equal(world->trace.error, UNWIND_ANONYMOUS);
	assert_int_equal(world->trace.word_count, 3);
	assert_int_equal(world->trace.words[2],
			 frame_word(FRAME_ERROR, UNWIND_ANONYMOUS, jit_at(0x80)));
}

static void what_does_not_fit_is_not_believed(void **state)
{
	struct world *world = *state;
	struct jit jit;

	set_up(world, &jit);
	world->stack[10] = 0;
	world->stack[11] = code_at(RULE_END);
	world_set_registers(world, jit_at(0x80), stack_address(8), stack_address(10));
	world_unwind(world);
	assert_end(world, 2);
	/* The frame pointer is not aligned, is below sp, is far away, points nowhere. */
	world_set_registers(world, jit_at(0x80), stack_address(8), stack_address(10) + 4);
	assert_no_guess(world);
	world_set_registers(world, jit_at(0x80), stack_address(11), stack_address(10));
	assert_no_guess(world);
	world_set_registers(world, jit_at(0x80), stack_address(10) - (1 << 20), stack_address(10));
	assert_no_guess(world);
	world_set_registers(world, jit_at(0x80), stack_address(STACK_WORDS),
			    stack_address(STACK_WORDS));
	assert_no_guess(world);
	/* The return address is in no mapping, not behind a call, at the start of a mapping. */
	world_set_registers(world, jit_at(0x80), stack_address(8), stack_address(10));
	world->stack[11] = 0x1234;
	assert_no_guess(world);
	world->stack[11] = code_at(RULE_END) + 1;
	assert_no_guess(world);
	world->stack[11] = JIT_START;
	assert_no_guess(world);
	/* The caller keeps frame pointers too, but the next one is below. */
	world->stack[11] = jit_at(0x100);
	world->stack[10] = stack_address(9);
	assert_no_guess(world);
}

static void every_form_of_call_is_known(void **state)
{
	static const struct {
		const char *bytes;
		uint32_t count;
	} calls[] = {
		{ "\xe8\1\2\3\4", 5 },	      { "\xff\xd0", 2 },
		{ "\xff\x10", 2 },	      { "\xff\x14\x24", 3 },
		{ "\xff\x50\x18", 3 },	      { "\xff\x54\x24\x08", 4 },
		{ "\xff\x15\1\2\3\4", 6 },    { "\xff\x93\1\2\3\4", 6 },
		{ "\xff\x94\x24\1\2\3\4", 7 }, { "\xff\x14\xc5\1\2\3\4", 7 },
		{ "\x41\xff\xd7", 3 },
	}, others[] = {
		{ "\xff\xe0", 2 },	   { "\xff\x25\1\2\3\4", 6 }, { "\xff\x14", 2 },
		{ "\xff\x15\1\2\3", 5 },   { "\xff\x54\x24", 3 },     { "\xff\x94\x24\1\2\3", 6 },
		{ "\xe9\1\2\3\4", 5 },	   { "\xff\x90\1\2\3", 5 },   { "\xff\x50", 2 },
		{ "\xff\x14\xc5\1\2\3", 6 },
	};
	const uint32_t return_offset = code_at(RULE_END) - TEXT_START;
	struct world *world = *state;
	struct jit jit;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		set_up(world, &jit);
		memset(jit.text, 0x90, JIT_BYTES);
		put_before(jit.text, return_offset, calls[i].bytes, calls[i].count);
		world_set_registers(world, jit_at(0x80), stack_address(8), stack_address(10));
		world->stack[10] = 0;
		world->stack[11] = code_at(RULE_END);
		world_unwind(world);
		assert_end(world, 2);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		set_up(world, &jit);
		memset(jit.text, 0x90, JIT_BYTES);
		put_before(jit.text, return_offset, others[i].bytes, others[i].count);
		assert_no_guess(world);
	}
}

static void code_made_at_run_time_may_go_on_anywhere(void **state)
{
	struct world *world = *state;
	struct jit jit;

	set_up(world, &jit);
	world_set_registers(world, jit_at(0x80), stack_address(8), stack_address(10));
	world->stack[10] = stack_address(20);
	world->stack[11] = jit_at(0x300);
	world->stack[20] = 0;
	world->stack[21] = code_at(RULE_END);
	world_unwind(world);
	assert_end(world, 3);
	assert_guess(world, 1, jit_at(0x300));
	/* Its frames go up. */
	world->stack[10] = stack_address(9);
	assert_no_guess(world);
}

static void code_that_is_not_in_memory_is_believed(void **state)
{
	struct world *world = *state;
	struct jit jit;

	set_up(world, &jit);
	world->user[2].size = 0;
	world_set_registers(world, jit_at(0x80), stack_address(8), stack_address(10));
	world->stack[10] = 0;
	world->stack[11] = code_at(RULE_END) + 1;
	world_unwind(world);
	assert_end(world, 2);
}

static void a_leaf_before_its_prologue_has_its_return_address_at_sp(void **state)
{
	static const char *const starts[] = { "\x55",	     "\xc3",	 "\xf3\x0f\x1e\xfa",
					      "\x49\xba",    "\x49\xbb", "\x41\xff\xe3",
					      "\x49\xff\xe2" };
	struct world *world = *state;
	struct jit jit;

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		set_up(world, &jit);
		memcpy(jit.code + 0x80, starts[i], strlen(starts[i]));
		world_set_registers(world, jit_at(0x80), stack_address(8), stack_address(20));
		world->stack[8] = jit_at(0x100);
		/* The caller's own frame. */
		world->stack[20] = stack_address(30);
		world->stack[21] = code_at(RULE_END);
		world_unwind(world);
		assert_end(world, 3);
		assert_guess(world, 1, jit_at(0x100));
	}
}

static void a_leaf_between_push_and_move_has_its_frame_at_sp(void **state)
{
	static const char *const moves[] = { "\x48\x89\xe5", "\x48\x8b\xec" };
	struct world *world = *state;
	struct jit jit;

	for (size_t i = 0; i < 2; i++) {
		set_up(world, &jit);
		memcpy(jit.code + 0x80, moves[i], 3);
		world_set_registers(world, jit_at(0x80), stack_address(8), stack_address(20));
		world->stack[8] = stack_address(20);
		world->stack[9] = jit_at(0x100);
		world->stack[20] = stack_address(30);
		world->stack[21] = code_at(RULE_END);
		world_unwind(world);
		assert_end(world, 3);
		assert_guess(world, 1, jit_at(0x100));
	}
}

static void clone_returns_twice(void **state)
{
	struct world *world = *state;
	struct jit jit;

	set_up(world, &jit);
	memcpy(jit.code + 0x7e, "\x0f\x05\x48\x85\xc0", 5);
	world_set_registers(world, jit_at(0x80), stack_address(8), 0);
	world->stack[8] = code_at(RULE_END);
	world->start.frame_flags = FRAME_RETURN_ADDRESS;
	world->start.registers[0] = -38;
	world_unwind(world);
	assert_end(world, 2);
	assert_frame(world, 1, code_at(RULE_END), FRAME_RETURN_ADDRESS | FRAME_GUESS);
	world->start.registers[0] = 0;
	world_unwind(world);
	assert_end(world, 1);
}

static void a_context_ends_where_nothing_has_called_it(void **state)
{
	struct world *world = *state;
	struct jit jit;

	set_up(world, &jit);
	world_set_registers(world, code_at(RULE_GUESSING), stack_address(8), stack_address(20));
	world->stack[8] = jit_at(0x400);
	memcpy(jit.code + 0x400, "\x48\x89\xdc\x48\x8b\x3c\x24\x48", 8);
	world_unwind(world);
	assert_end(world, 2);
}

static void a_function_that_never_ran_has_called_nobody(void **state)
{
	struct world *world = *state;
	struct jit jit;
	uint64_t start = TEXT_START + RULE_GUESSING * 16;

	/* There is nothing in front of it, and its text is not in memory. */
	set_up(world, &jit);
	world_set_registers(world, jit_at(0x80), stack_address(8), stack_address(10));
	world->stack[10] = 0;
	world->stack[11] = TEXT_START + RULE_LOST_FP * 16;
	world->user[2].size = 0;
	world_publish_rules(world,
			    (const struct unwind_rule[]){
				    { .cfa = CFA_NONE }, { .cfa = CFA_NONE }, CALL_RULE(8) },
			    3);
	world_unwind(world);
	assert_end(world, 2);
	/* At an address where no function begins it is an error. */
	world->stack[11] = start;
	world->stack[12] = 1;
	world_unwind(world);
	assert_int_not_equal(world->trace.error, UNWIND_OK);
}

static void a_lost_frame_pointer_gives_no_guess(void **state)
{
	struct world *world = *state;
	struct jit jit;

	set_up(world, &jit);
	world_set_registers(world, code_at(RULE_LOST_FP), stack_address(8), stack_address(10));
	world->stack[8] = jit_at(0x100);
	world->stack[10] = 0;
	world->stack[11] = code_at(RULE_END);
	world_unwind(world);
	assert_int_equal(world->trace.error, UNWIND_ANONYMOUS);
	assert_int_equal(world->trace.word_count, 2 * 2 + 1);
}

static void rows_that_are_not_loaded_are_waited_for(void **state)
{
	struct world *world = *state;
	struct jit jit;

	set_up(world, &jit);
	world->descriptors[EXECUTABLE_ID & (EXECUTABLE_SLOT_COUNT - 1)].word = 0;
	world_set_registers(world, code_at(RULE_NONE), stack_address(8), stack_address(10));
	world->stack[10] = 0;
	world->stack[11] = jit_at(0x100);
	world_unwind(world);
	assert_error(world, 1, UNWIND_NOT_LOADED, code_at(RULE_NONE));
}

static void a_rule_that_guesses_flags_the_caller(void **state)
{
	struct world *world = *state;
	struct jit jit;

	set_up(world, &jit);
	world_set_registers(world, code_at(RULE_GUESSING), stack_address(8), 0);
	world->stack[8] = code_at(RULE_END);
	world_unwind(world);
	assert_end(world, 2);
	assert_frame(world, 0, code_at(RULE_GUESSING), 0);
	assert_frame(world, 1, code_at(RULE_END), FRAME_RETURN_ADDRESS | FRAME_GUESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(jit_code_is_unwound_by_its_frame_pointers),
		world_test(code_that_was_just_made_is_asked_of_the_kernel),
		world_test(what_the_kernel_does_not_have_as_anonymous_code_is_no_mapping),
		world_test(the_kernel_is_asked_once_in_a_unwind),
		world_test(a_file_that_says_nothing_is_unwound_by_frame_pointers),
		world_test(what_does_not_fit_is_not_believed),
		world_test(every_form_of_call_is_known),
		world_test(code_made_at_run_time_may_go_on_anywhere),
		world_test(code_that_is_not_in_memory_is_believed),
		world_test(a_leaf_before_its_prologue_has_its_return_address_at_sp),
		world_test(a_leaf_between_push_and_move_has_its_frame_at_sp),
		world_test(clone_returns_twice),
		world_test(a_context_ends_where_nothing_has_called_it),
		world_test(a_function_that_never_ran_has_called_nobody),
		world_test(a_lost_frame_pointer_gives_no_guess),
		world_test(rows_that_are_not_loaded_are_waited_for),
		world_test(a_rule_that_guesses_flags_the_caller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
