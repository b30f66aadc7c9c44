// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* Steps from code of CPython's JIT to the loop that entered it: which callers are accepted, and which are refused. */
#include "ebpf/host/tests/python_fixture.h"

#define JIT_START 0x7f1200000000ULL

enum {
	CODE_BYTES = 4096,
	/* As in ebpf/jit_entry.bpf.h. */
	JIT_ENTRY_MAX_WORDS = 64,
	JIT_ENTRY_MIN_BYTES = 48,
	JIT_ENTRY_MAX_BYTES = 64,
	/* First word of the loop's native frame, and of the saved registers between. */
	LOOP_WORD = 140,
	SAVED_WORDS = 5,
	RETURN_WORD = LOOP_WORD - 2 - SAVED_WORDS,
	LEAF_WORD = RETURN_WORD - 8,
};

struct jit {
	struct python *python;
	uint8_t code[CODE_BYTES];
	uint8_t text[CODE_BYTES];
};

static const uint64_t jit_return = JIT_START + 0x100;

/* Lays the stack of a leaf in JIT code, which was entered by a loop; frames 0 and 1 are the loop's. */
static void lay(struct jit *jit, struct python *python)
{
	const struct mapping_row mappings[] = {
		{ TEXT_START, TEXT_START + (1 << 20), TEXT_START - TEXT_ADDRESS, EXECUTABLE_ID },
		{ JIT_START, JIT_START + CODE_BYTES, 0, EXECUTABLE_ID_ANONYMOUS },
	};
	struct world *world = python->world;

	*jit = (struct jit){ .python = python };
	memset(jit->code, 0x90, sizeof(jit->code));
	memset(jit->text, 0x90, sizeof(jit->text));
	memcpy(jit->code + 0x100 - 5, "\xe8\0\0\0\0", 5);
	memcpy(jit->text + (code_at(RULE_OF_LOOP) - TEXT_START) - 2, "\xff\xd0", 2);
	world_set_mappings(world, 10, mappings, 2);
	world->user[3] = (struct region){ JIT_START, CODE_BYTES, jit->code };
	world->user[4] = (struct region){ TEXT_START, CODE_BYTES, jit->text };
	use_chain(python, PYTHON_CURRENT_FRAME);
	world_set_registers(world, JIT_START + 0x80, stack_address(LEAF_WORD), 0);
	world->stack[RETURN_WORD] = jit_return;
	python->has_leaf = true;
	python->next_word = LOOP_WORD;
	add_native(python, RULE_OF_LOOP);
	add_native(python, RULE_C);
	add_native(python, RULE_END);
	set_current(python, add_frames(python, 0, 1, add_loop_frame(python, LOOP_WORD, 0)));
}

static uint8_t flags_of(const struct python *python, uint32_t index)
{
	return frame_flags(python->world->trace.words[2 * index]);
}

static void the_loop_that_entered_jit_code_is_found(void **state)
{
	struct jit jit;

	lay(&jit, *state);
	assert_string_equal(unwind_text(jit.python), "J01LCE");
	assert_int_equal(jit.python->world->trace.error, UNWIND_OK);
	assert_int_equal(flags_of(jit.python, 0), 0);
	/* The loop's own frame in it proves that the guess was right. */
	assert_int_equal(flags_of(jit.python, 3), FRAME_RETURN_ADDRESS);
}

static void jit_code_that_called_a_function_is_left_alike(void **state)
{
	struct jit jit;
	struct world *world;

	lay(&jit, *state);
	world = jit.python->world;
	world_set_registers(world, code_at(RULE_C), stack_address(LEAF_WORD - C_WORDS), 0);
	world->stack[LEAF_WORD - 1] = JIT_START + 0x40;
	assert_string_equal(unwind_text(jit.python), "CJ01LCE");
	assert_int_equal(flags_of(jit.python, 4), FRAME_RETURN_ADDRESS);
}

static void a_loop_in_which_nothing_is_found_stays_a_guess(void **state)
{
	struct jit jit;

	lay(&jit, *state);
	set_current(jit.python, 0);
	assert_string_equal(unwind_text(jit.python), "JLCE");
	assert_int_equal(flags_of(jit.python, 1), FRAME_RETURN_ADDRESS | FRAME_GUESS);
	/* The loop's own frame is further up. */
	set_current(jit.python, add_loop_frame(jit.python, LOOP_WORD + 2 * LOOP_WORDS, 0));
	assert_string_equal(unwind_text(jit.python), "JLCE");
	assert_int_equal(flags_of(jit.python, 1), FRAME_RETURN_ADDRESS | FRAME_GUESS);
}

static void a_leaf_in_the_first_chunk_has_only_registers_above_it(void **state)
{
	struct jit jit;

	lay(&jit, *state);
	for (uint32_t word = LOOP_WORD - 1 - SAVED_WORDS; word < LOOP_WORD; word++) {
		world_set_registers(jit.python->world, JIT_START, stack_address(word), 0);
		assert_string_equal(unwind_text(jit.python), "J01LCE");
	}
}

/* The loop's frame begins at its frame pointer, two words before its end. */
static void use_loop_with_fp(struct jit *jit)
{
	const struct unwind_rule rules[RULE_COUNT] = {
		[RULE_END] = { .cfa = CFA_END },
		[RULE_C] = CALL_RULE(8 * C_WORDS),
		[RULE_OF_LOOP] = { .cfa = CFA_FP,
				   .cfa_offset = 16,
				   .ra = SAVED_AT_CFA,
				   .ra_offset = -8,
				   .flags = RULE_LOOP },
	};

	world_publish_rules(jit->python->world, rules, RULE_COUNT);
}

static void the_frame_pointer_is_the_loop_s_or_saved_by_the_chunk(void **state)
{
	const uint64_t fp = stack_address(LOOP_WORD + LOOP_WORDS - 2);
	struct jit jit;
	uint64_t *registers;

	lay(&jit, *state);
	use_loop_with_fp(&jit);
	registers = jit.python->world->start.registers;
	registers[6] = fp;
	assert_string_equal(unwind_text(jit.python), "J01LCE");
	/* The register has the address of an object. */
	registers[6] = HEAP_START;
	jit.python->world->stack[RETURN_WORD - 1] = fp;
	assert_string_equal(unwind_text(jit.python), "J01LCE");
	/* None of the values belongs to a frame that begins behind the return address. */
	registers[6] = stack_address(LOOP_WORD - 1);
	assert_string_equal(unwind_text(jit.python), "J01LCE");
	jit.python->world->stack[RETURN_WORD - 1] = fp + 4096;
	assert_string_equal(unwind_text(jit.python), "JLX");
	assert_int_equal(jit.python->world->trace.error, UNWIND_REGISTER_UNKNOWN);
}

static void assert_nothing_found(const struct jit *jit)
{
	assert_string_equal(unwind_text(jit->python), "JX");
	assert_int_equal(jit->python->world->trace.error, UNWIND_ANONYMOUS);
}

static void return_addresses_have_to_stand_behind_calls(void **state)
{
	struct jit jit;

	lay(&jit, *state);
	jit.code[0x100 - 5] = 0x90;
	assert_nothing_found(&jit);
	lay(&jit, jit.python);
	jit.text[code_at(RULE_OF_LOOP) - TEXT_START - 2] = 0x90;
	assert_nothing_found(&jit);
}

static void return_addresses_have_to_stand_where_the_first_chunk_has_them(void **state)
{
	struct jit jit;
	uint64_t *stack;

	lay(&jit, *state);
	stack = jit.python->world->stack;
	stack[RETURN_WORD] = 0;
	assert_nothing_found(&jit);
	for (int away = 0; away < 9; away++) {
		uint32_t bytes = 8 * (SAVED_WORDS + 1 + away - 3);

		stack[RETURN_WORD + 3 - away] = jit_return;
		if (bytes >= JIT_ENTRY_MIN_BYTES && bytes <= JIT_ENTRY_MAX_BYTES &&
		    RETURN_WORD + 3 - away >= LEAF_WORD)
			assert_string_equal(unwind_text(jit.python), "J01LCE");
		else
			assert_nothing_found(&jit);
		stack[RETURN_WORD + 3 - away] = 0;
	}
}

static void the_first_return_address_into_a_loop_decides(void **state)
{
	struct jit jit;

	lay(&jit, *state);
	jit.python->world->stack[LEAF_WORD + 6] = code_at(RULE_OF_LOOP);
	assert_nothing_found(&jit);
	/* A return address in a C function is ignored like any number. */
	jit.python->world->stack[LEAF_WORD + 6] = code_at(RULE_C);
	assert_string_equal(unwind_text(jit.python), "J01LCE");
}

static void only_words_close_to_sp_are_looked_at(void **state)
{
	uint32_t first = LOOP_WORD - JIT_ENTRY_MAX_WORDS;
	struct jit jit;

	lay(&jit, *state);
	world_set_registers(jit.python->world, JIT_START + 0x80, stack_address(first), 0);
	assert_string_equal(unwind_text(jit.python), "J01LCE");
	world_set_registers(jit.python->world, JIT_START + 0x80, stack_address(first - 1), 0);
	assert_nothing_found(&jit);
}

static void where_no_interpreter_is_known_nothing_is_looked_for(void **state)
{
	struct jit jit;

	lay(&jit, *state);
	jit.python->world->start.runtime_cell = 0;
	assert_nothing_found(&jit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		python_test(the_loop_that_entered_jit_code_is_found),
		python_test(jit_code_that_called_a_function_is_left_alike),
		python_test(a_loop_in_which_nothing_is_found_stays_a_guess),
		python_test(a_leaf_in_the_first_chunk_has_only_registers_above_it),
		python_test(the_frame_pointer_is_the_loop_s_or_saved_by_the_chunk),
		python_test(return_addresses_have_to_stand_behind_calls),
		python_test(return_addresses_have_to_stand_where_the_first_chunk_has_them),
		python_test(the_first_return_address_into_a_loop_decides),
		python_test(only_words_close_to_sp_are_looked_at),
		python_test(where_no_interpreter_is_known_nothing_is_looked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
