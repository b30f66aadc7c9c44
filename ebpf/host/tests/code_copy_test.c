/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* Copies of anonymous code: their rows are used as long as the process's code is what was copied. */
#include "ebpf/host/tests/unwind_fixture.h"

#include "ebpf/abi/code_copy.h"

enum {
	PAGE_COUNT = 70,
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
	uint64_t sum = 0, word;

	for (uint32_t i = page - check->pages_before; i <= page + check->pages_after; i++)
		for (uint32_t at = 0; at < UNWIND_PAGE_BYTES; at += sizeof(word)) {
			memcpy(&word, copied->code + i * UNWIND_PAGE_BYTES + at, sizeof(word));
			sum = fingerprint_mix(sum, word);
		}
	return fingerprint_end(sum);
}

static void put_checks(struct copied *copied)
{
	world_put(copied->world, INDEX_CELL + unwind_index_cells(PAGE_COUNT), copied->checks,
		  sizeof(copied->checks));
}

/* All pages have the frame's rule. Functions are @function_pages long, one behind the other. */
static void publish_copy(struct copied *copied, uint32_t function_pages, uint32_t rule)
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
		uint32_t first = page - page % function_pages, last = first + function_pages - 1;

		if (last >= PAGE_COUNT)
			last = PAGE_COUNT - 1;
		copied->checks[page].pages_before = page - first;
		copied->checks[page].pages_after = last - page;
		copied->checks[page].fingerprint = fingerprint_of_page(copied, page);
	}
	put_checks(copied);
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

	for (uint32_t pages = 1; pages <= CODE_CHECK_PAGES; pages += 9) {
		publish_copy(copied, pages, RULE_FRAME);
		for (uint32_t page = 0; page < PAGE_COUNT; page++)
			assert_unwound(copied, page);
	}
}

static void code_that_has_changed_is_code_without_rows(void **state)
{
	struct copied *copied = *state;

	publish_copy(copied, 1, RULE_FRAME);
	for (uint32_t at = 0; at < UNWIND_PAGE_BYTES; at++) {
		copied->code[5 * UNWIND_PAGE_BYTES + at] ^= 1;
		assert_anonymous(copied, 5);
		assert_unwound(copied, 4);
		assert_unwound(copied, 6);
		copied->code[5 * UNWIND_PAGE_BYTES + at] ^= 1;
	}
	assert_unwound(copied, 5);
}

static void a_change_anywhere_in_a_function_counts_in_all_of_it(void **state)
{
	struct copied *copied = *state;

	publish_copy(copied, 60, RULE_FRAME);
	for (uint32_t changed = 0; changed < 60; changed++) {
		copied->code[changed * UNWIND_PAGE_BYTES + 3] ^= 1;
		for (uint32_t page = 0; page < 60; page += 7)
			assert_anonymous(copied, page);
		assert_unwound(copied, 60);
		copied->code[changed * UNWIND_PAGE_BYTES + 3] ^= 1;
	}
}

static void a_function_that_is_too_long_to_be_compared_is_code_without_rows(void **state)
{
	struct copied *copied = *state;

	publish_copy(copied, CODE_CHECK_PAGES + 1, RULE_FRAME);
	assert_anonymous(copied, 0);
	assert_anonymous(copied, CODE_CHECK_PAGES);
	assert_unwound(copied, CODE_CHECK_PAGES + 1);
}

static void code_that_cannot_be_read_is_code_without_rows(void **state)
{
	struct copied *copied = *state;

	publish_copy(copied, 1, RULE_FRAME);
	copied->world->user[1].size = 0;
	assert_anonymous(copied, 5);
	/* Not even if it has the fingerprint that none has. */
	for (uint32_t page = 0; page < PAGE_COUNT; page++)
		copied->checks[page].fingerprint = 0;
	put_checks(copied);
	assert_anonymous(copied, 5);
}

static void a_page_without_a_fingerprint_never_fits(void **state)
{
	struct copied *copied = *state;

	publish_copy(copied, 1, RULE_FRAME);
	copied->checks[5].fingerprint = 0;
	put_checks(copied);
	assert_anonymous(copied, 5);
}

static void code_that_the_copy_has_no_row_for_is_anonymous(void **state)
{
	struct copied *copied = *state;

	publish_copy(copied, 1, RULE_NONE);
	assert_anonymous(copied, 5);
}

static void a_copy_that_is_retired_is_anonymous_code(void **state)
{
	struct copied *copied = *state;

	publish_copy(copied, 1, RULE_FRAME);
	copied->world->descriptors[EXECUTABLE_ID & 0xffff].word = 0;
	assert_anonymous(copied, 5);
}

static void a_return_address_of_0_does_not_end_a_stack_as_complete(void **state)
{
	struct copied *copied = *state;

	publish_copy(copied, 1, RULE_FRAME);
	copied->world->stack[FRAME_BYTES / 8 - 1] = 0;
	world_set_registers(copied->world, CODE_START + 100, stack_address(0), 0);
	world_unwind(copied->world);
	assert_int_equal(copied->world->trace.error, UNWIND_ANONYMOUS);
	assert_int_equal(copied->world->trace.word_count, 2 + 1);
}

static void copies_of_the_same_code_are_told_apart(void **state)
{
	const struct mapping_row rows[] = {
		{ CODE_START, CODE_START + 40 * UNWIND_PAGE_BYTES, CODE_START - TEXT_ADDRESS,
		  COPY_ID },
		{ CODE_START + 40 * UNWIND_PAGE_BYTES, CODE_START + PAGE_COUNT * UNWIND_PAGE_BYTES,
		  CODE_START - TEXT_ADDRESS, COPY_ID + 2 },
	};
	struct copied *copied = *state;
	struct tables tables = {
		.rules = rules,
		.rule_count = 3,
		.page_count = PAGE_COUNT,
		.header_cell = 4100,
		.page_index_cell = 4200,
		.row_cell = 4500,
		.rule_cell = 5000,
	};

	/* A function is in both parts. The second copy is of other code. */
	publish_copy(copied, 60, RULE_FRAME);
	world_set_mappings(copied->world, 10, rows, 2);
	tables_add(&tables, 0, RULE_END);
	world_publish(copied->world, COPY_ID + 2, &tables);
	for (uint32_t page = 0; page < PAGE_COUNT; page++)
		copied->checks[page].fingerprint ^= 1;
	world_put(copied->world, 4200 + unwind_index_cells(PAGE_COUNT), copied->checks,
		  sizeof(copied->checks));
	copied->world->stack[FRAME_BYTES / 8 - 1] = CODE_START + 50 * UNWIND_PAGE_BYTES;
	unwind_from(copied, 5);
	assert_int_equal(copied->world->trace.error, UNWIND_ANONYMOUS);
	assert_int_equal(copied->world->trace.word_count, 2 * 2 + 1);
}

/* Fills the stack with @depth frames that return to pages @first, @first + @distance ..., @count in turn. */
static void fill_stack(struct copied *copied, uint32_t depth, uint32_t first, uint32_t distance,
		       uint32_t count)
{
	uint32_t word = FRAME_BYTES / 8;

	for (uint32_t i = 0; i < depth; i++)
		copied->world->stack[i * word + word - 1] =
			CODE_START + (first + i % count * distance) * UNWIND_PAGE_BYTES + 64;
	copied->world->stack[depth * word + word - 1] = TEXT_START + 16;
}

static void a_deep_recursion_in_a_copy_is_unwound(void **state)
{
	struct copied *copied = *state;
	uint32_t depth = 600;

	/* All are in one function, which is compared once. */
	publish_copy(copied, 60, RULE_FRAME);
	fill_stack(copied, depth, 5, 1, 50);
	unwind_from(copied, 5);
	assert_end(copied->world, depth + 2);
}

static void not_more_than_a_budget_is_compared_in_an_unwind(void **state)
{
	struct copied *copied = *state;
	uint32_t depth = 600;

	/* More functions than the cache of results has room for, and each is 6 pages long. */
	publish_copy(copied, 6, RULE_FRAME);
	fill_stack(copied, depth, 0, 6, 11);
	unwind_from(copied, 60);
	assert_int_equal(copied->world->trace.error, UNWIND_ANONYMOUS);
	assert_in_range(copied->world->trace.word_count / 2, 11, depth - 1);
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		test(code_that_equals_its_copy_is_unwound),
		test(code_that_has_changed_is_code_without_rows),
		test(a_change_anywhere_in_a_function_counts_in_all_of_it),
		test(a_function_that_is_too_long_to_be_compared_is_code_without_rows),
		test(code_that_cannot_be_read_is_code_without_rows),
		test(a_page_without_a_fingerprint_never_fits),
		test(code_that_the_copy_has_no_row_for_is_anonymous),
		test(a_copy_that_is_retired_is_anonymous_code),
		test(a_return_address_of_0_does_not_end_a_stack_as_complete),
		test(copies_of_the_same_code_are_told_apart),
		test(a_deep_recursion_in_a_copy_is_unwound),
		test(not_more_than_a_budget_is_compared_in_an_unwind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
