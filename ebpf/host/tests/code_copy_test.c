/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* Copies of anonymous code: their rows are used as long as the process's code is what was copied. */
#include "ebpf/host/tests/unwind_fixture.h"

#include "ebpf/abi/code_copy.h"

enum {
	PAGE_COUNT = 24,
	HEADER_CELL = 100,
	INDEX_CELL = 200,
	FRAME_BYTES = 48,
	CODE_START = 0x10000
};

#define COPY_ID (EXECUTABLE_ID | EXECUTABLE_ID_COPY)

enum { RULE_NONE, RULE_FRAME, RULE_END };

static const struct unwind_rule rules[] = {
	[RULE_NONE] = { .cfa = CFA_NONE },
	[RULE_FRAME] = CALL_RULE(FRAME_BYTES),
	[RULE_END] = { .cfa = CFA_END },
};

/* A process with code in anonymous memory, whose frame's caller is in a file. */
struct copied {
	struct world *world;
	uint8_t code[PAGE_COUNT * UNWIND_PAGE_BYTES];
	struct code_check checks[PAGE_COUNT];
};

static uint32_t fingerprint_of_page(const struct copied *copied, uint32_t page)
{
	const struct code_check *check = &copied->checks[page];
	uint32_t first = page - check->pages_before;
	uint64_t sum = 0, word;

	/* By hand, in other words than those of code_check_distance(). */
	for (uint32_t i = first; i <= page; i++) {
		if (i >= first + CODE_CHECK_FIRST_PAGES && i + CODE_CHECK_FIRST_PAGES <= page)
			continue;
		for (uint32_t at = 0; at < UNWIND_PAGE_BYTES; at += sizeof(word)) {
			memcpy(&word, copied->code + i * UNWIND_PAGE_BYTES + at, sizeof(word));
			sum = fingerprint_mix(sum, word);
		}
	}
	return fingerprint_end(sum);
}

/* All pages have the frame's rule, and depend on the code from @first on. */
static void publish_copy(struct copied *copied, uint32_t first, uint32_t rule)
{
	struct tables tables = {
		.rules = rules,
		.rule_count = 3,
		.page_count = PAGE_COUNT,
		.header_cell = HEADER_CELL,
		.page_index_cell = INDEX_CELL,
		.row_cell = 500,
		.rule_cell = 1000,
	};

	tables_add(&tables, 0, rule);
	world_publish(copied->world, COPY_ID, &tables);
	for (uint32_t page = 0; page < PAGE_COUNT; page++) {
		copied->checks[page].pages_before = page > first ? page - first : 0;
		copied->checks[page].fingerprint = fingerprint_of_page(copied, page);
	}
	world_put(copied->world, INDEX_CELL + unwind_index_cells(PAGE_COUNT), copied->checks,
		  sizeof(copied->checks));
}

static void publish_caller(struct world *world)
{
	struct tables tables = {
		.rules = rules,
		.rule_count = 3,
		.page_count = 1,
		.header_cell = 2100,
		.page_index_cell = 2200,
		.row_cell = 2500,
		.rule_cell = 3000,
	};

	tables_add(&tables, 0, RULE_END);
	world_publish(world, EXECUTABLE_ID + 1, &tables);
}

static int setup(void **state)
{
	static const struct mapping_row rows[] = {
		{ CODE_START, CODE_START + PAGE_COUNT * UNWIND_PAGE_BYTES,
		  CODE_START - TEXT_ADDRESS, COPY_ID },
		{ TEXT_START, TEXT_START + UNWIND_PAGE_BYTES, TEXT_START - TEXT_ADDRESS,
		  EXECUTABLE_ID + 1 },
	};
	struct copied *copied = calloc(1, sizeof(*copied));

	world_setup((void **)&copied->world);
	for (size_t i = 0; i < sizeof(copied->code); i++)
		copied->code[i] = (uint8_t)(i * 167 + i / 256);
	copied->world->user[1] = (struct region){ CODE_START, sizeof(copied->code), copied->code };
	world_set_mappings(copied->world, 10, rows, 2);
	publish_caller(copied->world);
	copied->world->stack[FRAME_BYTES / 8 - 1] = TEXT_START + 16;
	*state = copied;
	return 0;
}

static int teardown(void **state)
{
	struct copied *copied = *state;

	world_teardown((void **)&copied->world);
	free(copied);
	return 0;
}

static void unwind_from(struct copied *copied, uint32_t page)
{
	world_set_registers(copied->world, CODE_START + page * UNWIND_PAGE_BYTES + 100,
			    stack_address(0), 1);
	world_unwind(copied->world);
}

static void assert_unwound(struct copied *copied, uint32_t page)
{
	unwind_from(copied, page);
	assert_end(copied->world, 2);
	/* The frame is one of anonymous memory for everybody else. */
	assert_int_equal(copied->world->trace.words[1], EXECUTABLE_ID_ANONYMOUS);
	assert_int_equal(frame_flags(copied->world->trace.words[2]), FRAME_RETURN_ADDRESS);
}

static void assert_anonymous(struct copied *copied, uint32_t page)
{
	unwind_from(copied, page);
	assert_int_equal(copied->world->trace.error, UNWIND_ANONYMOUS);
	assert_int_equal(copied->world->trace.words[1], EXECUTABLE_ID_ANONYMOUS);
}

static void code_that_equals_its_copy_is_unwound(void **state)
{
	struct copied *copied = *state;

	publish_copy(copied, PAGE_COUNT, RULE_FRAME);
	for (uint32_t page = 0; page < PAGE_COUNT; page++)
		assert_unwound(copied, page);
	publish_copy(copied, 0, RULE_FRAME);
	for (uint32_t page = 0; page < PAGE_COUNT; page++)
		assert_unwound(copied, page);
}

static void code_that_has_changed_is_code_without_rows(void **state)
{
	struct copied *copied = *state;

	publish_copy(copied, PAGE_COUNT, RULE_FRAME);
	for (uint32_t at = 0; at < UNWIND_PAGE_BYTES; at++) {
		copied->code[5 * UNWIND_PAGE_BYTES + at] ^= 1;
		assert_anonymous(copied, 5);
		assert_unwound(copied, 4);
		assert_unwound(copied, 6);
		copied->code[5 * UNWIND_PAGE_BYTES + at] ^= 1;
	}
	assert_unwound(copied, 5);
}

static void a_change_at_the_start_of_a_function_counts_in_all_of_it(void **state)
{
	struct copied *copied = *state;

	publish_copy(copied, 2, RULE_FRAME);
	copied->code[2 * UNWIND_PAGE_BYTES + 3] ^= 1;
	for (uint32_t page = 2; page < PAGE_COUNT; page++)
		assert_anonymous(copied, page);
	assert_unwound(copied, 1);
}

static void a_change_between_counts_near_the_start_and_near_the_frame(void **state)
{
	struct copied *copied = *state;

	publish_copy(copied, 0, RULE_FRAME);
	copied->code[3 * UNWIND_PAGE_BYTES] ^= 1;
	assert_anonymous(copied, 20);
	copied->code[3 * UNWIND_PAGE_BYTES] ^= 1;
	copied->code[17 * UNWIND_PAGE_BYTES] ^= 1;
	assert_anonymous(copied, 20);
	assert_anonymous(copied, 17);
	assert_unwound(copied, 16);
	/* Not all of a long function is compared. */
	assert_unwound(copied, 21);
}

static void code_that_cannot_be_read_is_code_without_rows(void **state)
{
	struct copied *copied = *state;

	publish_copy(copied, PAGE_COUNT, RULE_FRAME);
	copied->world->user[1].size = 0;
	assert_anonymous(copied, 5);
	/* Not even if it has the fingerprint that none has. */
	for (uint32_t page = 0; page < PAGE_COUNT; page++)
		copied->checks[page].fingerprint = 0;
	world_put(copied->world, INDEX_CELL + unwind_index_cells(PAGE_COUNT), copied->checks,
		  sizeof(copied->checks));
	assert_anonymous(copied, 5);
}

static void a_page_without_a_fingerprint_never_fits(void **state)
{
	struct copied *copied = *state;

	publish_copy(copied, PAGE_COUNT, RULE_FRAME);
	copied->checks[5].fingerprint = 0;
	world_put(copied->world, INDEX_CELL + unwind_index_cells(PAGE_COUNT), copied->checks,
		  sizeof(copied->checks));
	assert_anonymous(copied, 5);
}

static void code_that_the_copy_has_no_row_for_is_anonymous(void **state)
{
	struct copied *copied = *state;

	publish_copy(copied, PAGE_COUNT, RULE_NONE);
	assert_anonymous(copied, 5);
}

static void a_copy_that_is_retired_is_anonymous_code(void **state)
{
	struct copied *copied = *state;

	publish_copy(copied, PAGE_COUNT, RULE_FRAME);
	copied->world->descriptors[EXECUTABLE_ID & 0xffff].word = 0;
	assert_anonymous(copied, 5);
}

static void a_deep_recursion_in_a_copy_is_unwound(void **state)
{
	struct copied *copied = *state;
	uint32_t depth = 600, word = FRAME_BYTES / 8;

	publish_copy(copied, 0, RULE_FRAME);
	/* Callers in three pages in turn, which are compared once. */
	for (uint32_t i = 0; i < depth; i++)
		copied->world->stack[i * word + word - 1] =
			CODE_START + (5 + i % 3) * UNWIND_PAGE_BYTES + 64;
	copied->world->stack[depth * word + word - 1] = TEXT_START + 16;
	unwind_from(copied, 5);
	assert_end(copied->world, depth + 2);
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		test(code_that_equals_its_copy_is_unwound),
		test(code_that_has_changed_is_code_without_rows),
		test(a_change_at_the_start_of_a_function_counts_in_all_of_it),
		test(a_change_between_counts_near_the_start_and_near_the_frame),
		test(code_that_cannot_be_read_is_code_without_rows),
		test(a_page_without_a_fingerprint_never_fits),
		test(code_that_the_copy_has_no_row_for_is_anonymous),
		test(a_copy_that_is_retired_is_anonymous_code),
		test(a_deep_recursion_in_a_copy_is_unwound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
