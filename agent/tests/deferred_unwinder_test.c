// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/deferred_unwinder.h"

enum {
	TEXT_START = 0x1000,
	STACK_POINTER_NUMBER = 7,
	PC_NUMBER = 16,
	/* The page index of the second executable is larger than a slab. */
	LARGE_PAGE_COUNT = SLAB_BYTES / sizeof(uint32_t) + 4,
};

#define BIAS 0x550000000000ULL
#define LARGE_BIAS 0x660000000000ULL
#define STACK_START 0x7ffc00000000ULL
#define FIRST_ID (1ULL << 16 | 5)
#define LARGE_ID (1ULL << 16 | 9)

struct fixture {
	struct deferred_unwinder *unwind;
	struct deferred_sample *sample;
	struct stack_deltas first, large;
	struct mapping_row rows[2];
	struct user_tables tables;
	bool large_is_loaded;
};

/*
 * One page: a function with its return address at sp, from 0x40 on one with a frame by the frame pointer, from
 * 0x60 on one that has just taken the frame pointer from below the stack, and from 0x80 on the thread's entry.
 */
static uint32_t first_index[] = { 0, 4 };
static struct {
	uint8_t offsets[CELL_BYTES];
	uint16_t numbers[CELL_BYTES / 2];
} first_rows = { { 0, 0x40, 0x60, 0x80 }, { 0, 3, 2, 1 } }, large_rows;
static struct unwind_rule first_rules[] = {
	{ .cfa = CFA_SP, .cfa_offset = 8, .ra = SAVED_AT_CFA, .ra_offset = -8 },
	{ .cfa = CFA_END },
	{ .cfa = CFA_SP,
	  .cfa_offset = 8,
	  .ra = SAVED_AT_CFA,
	  .ra_offset = -8,
	  .fp = SAVED_AT_CFA,
	  .fp_offset = -16 },
	{ .cfa = CFA_FP, .cfa_offset = 16, .ra = SAVED_AT_CFA, .ra_offset = -8 },
};

static const struct stack_deltas *find_deltas(void *context, uint64_t executable_id)
{
	struct fixture *fixture = context;

	if (executable_id == FIRST_ID)
		return &fixture->first;
	return executable_id == LARGE_ID && fixture->large_is_loaded ? &fixture->large : NULL;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->sample = calloc(1, sizeof(*fixture->sample));
	fixture->first = (struct stack_deltas){
		.text_start = TEXT_START,
		.page_count = 1,
		.row_count = 4,
		.rule_count = 4,
		.page_index = first_index,
		.rows = &first_rows,
		.rules = first_rules,
	};
	fixture->large = (struct stack_deltas){
		.text_start = TEXT_START,
		.page_count = LARGE_PAGE_COUNT,
		.row_count = 1,
		.rule_count = 1,
		.rows = &large_rows,
		.rules = first_rules,
	};
	fixture->large.page_index = malloc((LARGE_PAGE_COUNT + 1) * sizeof(uint32_t));
	for (uint32_t i = 0; i <= LARGE_PAGE_COUNT; i++)
		fixture->large.page_index[i] = i > 0;
	fixture->large_is_loaded = true;
	fixture->rows[0] = (struct mapping_row){ BIAS + TEXT_START, BIAS + 0x2000, BIAS, FIRST_ID };
	fixture->rows[1] = (struct mapping_row){ LARGE_BIAS + TEXT_START, LARGE_BIAS + (1ULL << 32),
						 LARGE_BIAS, LARGE_ID };
	fixture->tables = (struct user_tables){
		.rows = fixture->rows,
		.row_count = 2,
		.find_deltas = find_deltas,
		.context = fixture,
	};
	assert_int_equal(deferred_unwinder_create(&fixture->unwind), 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	deferred_unwinder_destroy(fixture->unwind);
	free(fixture->large.page_index);
	free(fixture->sample);
	free(fixture);
	return 0;
}

/* Unwinds from @pc over a stack that holds @words; returns the number of words of the trace. */
static uint32_t unwind(struct fixture *fixture, uint64_t pc, const uint64_t *stack, uint32_t count,
		       uint64_t *words, bool *reached_end)
{
	struct user_unwinder *unwinder = deferred_unwinder_interface(fixture->unwind);

	fixture->sample->registers[STACK_POINTER_NUMBER] = STACK_START;
	fixture->sample->registers[PC_NUMBER] = pc;
	fixture->sample->stack_bytes = count * sizeof(*stack);
	memcpy(fixture->sample->stack, stack, count * sizeof(*stack));
	*reached_end = false;
	return unwinder->ops->unwind(unwinder, fixture->sample, &fixture->tables, words,
				     TRACE_MAX_WORDS, reached_end);
}

static void a_stack_is_unwound_to_the_entry(void **state)
{
	const uint64_t stack[] = { BIAS + TEXT_START + 0x20, BIAS + TEXT_START + 0x90 };
	uint64_t words[TRACE_MAX_WORDS];
	bool reached_end;

	assert_int_equal(unwind(*state, BIAS + TEXT_START + 0x10, stack, 2, words, &reached_end),
			 6);
	assert_true(reached_end);
	assert_int_equal(words[0], frame_word(FRAME_NATIVE, 0, TEXT_START + 0x10));
	assert_int_equal(words[1], FIRST_ID);
	assert_int_equal(words[2],
			 frame_word(FRAME_NATIVE, FRAME_RETURN_ADDRESS, TEXT_START + 0x20));
	assert_int_equal(words[4],
			 frame_word(FRAME_NATIVE, FRAME_RETURN_ADDRESS, TEXT_START + 0x90));
}

static void a_table_larger_than_a_slab_is_read_to_its_end(void **state)
{
	uint64_t offset = (LARGE_PAGE_COUNT - 1) * (uint64_t)UNWIND_PAGE_BYTES + 3;
	const uint64_t stack[] = { BIAS + TEXT_START + 0x90 };
	uint64_t words[TRACE_MAX_WORDS];
	bool reached_end;

	assert_int_equal(
		unwind(*state, LARGE_BIAS + TEXT_START + offset, stack, 1, words, &reached_end), 4);
	assert_true(reached_end);
	assert_int_equal(words[1], LARGE_ID);
}

static void the_end_of_the_stack_copy_ends_the_unwind(void **state)
{
	const uint64_t stack[] = { BIAS + TEXT_START + 0x20 };
	uint64_t words[TRACE_MAX_WORDS];
	bool reached_end;

	assert_int_equal(unwind(*state, BIAS + TEXT_START + 0x10, stack, 1, words, &reached_end),
			 5);
	assert_false(reached_end);
	assert_int_equal(frame_kind(words[4]), FRAME_ERROR);
	assert_int_equal(frame_flags(words[4]), UNWIND_STACK_UNREADABLE);
}

static void a_page_that_is_missing_in_the_copy_is_not_read(void **state)
{
	struct fixture *fixture = *state;
	uint64_t stack[2 * DEFERRED_PAGE_BYTES / 8] = { BIAS + TEXT_START + 0x20 };
	uint64_t words[TRACE_MAX_WORDS];
	bool reached_end;

	stack[1] = BIAS + TEXT_START + 0x90;
	fixture->sample->missing_pages = 1 << 1;
	assert_int_equal(unwind(fixture, BIAS + TEXT_START + 0x10, stack,
				2 * DEFERRED_PAGE_BYTES / 8, words, &reached_end),
			 6);
	assert_true(reached_end);
	fixture->sample->missing_pages = 1 << 0;
	assert_int_equal(unwind(fixture, BIAS + TEXT_START + 0x10, stack,
				2 * DEFERRED_PAGE_BYTES / 8, words, &reached_end),
			 3);
	assert_false(reached_end);
	assert_int_equal(frame_flags(words[2]), UNWIND_STACK_UNREADABLE);
}

static void a_register_that_was_taken_from_below_the_stack_is_read(void **state)
{
	struct fixture *fixture = *state;
	/* The stack pointer is at the second one. */
	const uint64_t stack[] = { STACK_START + 8, BIAS + TEXT_START + 0x50, 0,
				   BIAS + TEXT_START + 0x90 };
	uint64_t words[TRACE_MAX_WORDS];
	bool reached_end;

	fixture->sample->below_bytes = sizeof(*stack);
	assert_int_equal(unwind(fixture, BIAS + TEXT_START + 0x70, stack, 4, words, &reached_end),
			 6);
	assert_true(reached_end);
	/* The caller needs it. */
	fixture->sample->below_bytes = 0;
	assert_int_equal(
		unwind(fixture, BIAS + TEXT_START + 0x70, stack + 1, 3, words, &reached_end), 5);
	assert_int_equal(frame_flags(words[4]), UNWIND_REGISTER_UNKNOWN);
}

static void an_executable_that_is_not_loaded_ends_the_unwind(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t stack[] = { LARGE_BIAS + TEXT_START + 0x20 };
	uint64_t words[TRACE_MAX_WORDS];
	bool reached_end;

	fixture->large_is_loaded = false;
	assert_int_equal(unwind(fixture, BIAS + TEXT_START + 0x10, stack, 1, words, &reached_end),
			 5);
	assert_false(reached_end);
	assert_int_equal(frame_flags(words[4]), UNWIND_NOT_LOADED);
}

static void unwinds_do_not_see_each_other(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t stack[] = { LARGE_BIAS + TEXT_START + 0x20, BIAS + TEXT_START + 0x90 };
	uint64_t words[TRACE_MAX_WORDS];
	bool reached_end;

	assert_int_equal(unwind(fixture, BIAS + TEXT_START, stack, 2, words, &reached_end), 6);
	fixture->large_is_loaded = false;
	assert_int_equal(unwind(fixture, BIAS + TEXT_START, stack, 2, words, &reached_end), 5);
	assert_int_equal(frame_flags(words[4]), UNWIND_NOT_LOADED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_stack_is_unwound_to_the_entry, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_table_larger_than_a_slab_is_read_to_its_end,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_end_of_the_stack_copy_ends_the_unwind, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_page_that_is_missing_in_the_copy_is_not_read,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_register_that_was_taken_from_below_the_stack_is_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_executable_that_is_not_loaded_ends_the_unwind,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(unwinds_do_not_see_each_other, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
