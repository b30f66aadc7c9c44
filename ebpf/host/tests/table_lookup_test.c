// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* The searches: mappings, executables, pages, rows and rules, at their borders and when torn. */
#include "ebpf/host/tests/unwind_fixture.h"

enum {
	/* The unwind stops at every frame of these tests: what is looked at is the first. */
	RULE_END,
	RULE_UNSUPPORTED,
	RULE_COUNT,
};

static const struct unwind_rule rules[RULE_COUNT] = {
	[RULE_END] = { .cfa = CFA_END },
	[RULE_UNSUPPORTED] = { .cfa = CFA_UNSUPPORTED },
};

static struct tables empty_tables(void)
{
	return (struct tables){
		.rules = rules,
		.rule_count = RULE_COUNT,
		.header_cell = 100,
		.page_index_cell = 200,
		.row_cell = 500,
		.rule_cell = 1000,
	};
}

/* Result of an unwind from @offset in the text: UNWIND_OK for RULE_END. */
static enum unwind_error lookup(struct world *world, uint64_t offset)
{
	world_set_registers(world, TEXT_START + offset, stack_address(0), 0);
	world_unwind(world);
	return world->trace.error;
}

/* Compares each address of the text with the last row at or below it. */
static void assert_all_rows(struct world *world, const struct tables *tables)
{
	uint32_t next = 0;

	for (uint32_t offset = 0; offset < tables->page_count * UNWIND_PAGE_BYTES; offset++) {
		enum unwind_error expected = UNWIND_NO_INFO;

		while (next < tables->row_count && tables->rows[next].offset <= offset)
			next++;
		if (next > 0)
			expected = tables->rows[next - 1].rule == RULE_END ?
					   UNWIND_OK :
					   UNWIND_UNSUPPORTED_RULE;
		assert_int_equal(lookup(world, offset), expected);
	}
	assert_int_equal(lookup(world, tables->page_count * UNWIND_PAGE_BYTES), UNWIND_NO_INFO);
	assert_int_equal(lookup(world, -1ULL - TEXT_START), UNWIND_NO_MAPPING);
}

/* Rows at random offsets, rules in turn. */
static void fill_randomly(struct tables *tables, uint32_t page_count, uint32_t one_in)
{
	tables->page_count = page_count;
	tables_add(tables, 0, RULE_END);
	for (uint32_t offset = 1; offset < page_count * UNWIND_PAGE_BYTES; offset++) {
		if (rand() % one_in == 0 && tables->row_count < 1000)
			tables_add(tables, offset, tables->row_count % 2);
	}
}

static void every_address_finds_the_row_below_it(void **state)
{
	struct world *world = *state;

	srand(1);
	for (uint32_t one_in = 2; one_in <= 512; one_in *= 2) {
		struct tables tables = empty_tables();

		fill_randomly(&tables, 8, one_in);
		world_publish(world, EXECUTABLE_ID, &tables);
		assert_all_rows(world, &tables);
	}
}

static void a_page_can_have_a_row_for_every_byte(void **state)
{
	struct world *world = *state;
	struct tables tables = empty_tables();

	tables.page_count = 3;
	for (uint32_t offset = 0; offset < 3 * UNWIND_PAGE_BYTES; offset++)
		tables_add(&tables, offset, offset % 3 == 0);
	world_publish(world, EXECUTABLE_ID, &tables);
	assert_all_rows(world, &tables);
}

static void pages_without_rows_use_the_last_row_before_them(void **state)
{
	struct world *world = *state;
	struct tables tables = empty_tables();

	tables.page_count = 20;
	tables_add(&tables, 0, RULE_UNSUPPORTED);
	tables_add(&tables, 3 * UNWIND_PAGE_BYTES - 1, RULE_END);
	tables_add(&tables, 19 * UNWIND_PAGE_BYTES, RULE_UNSUPPORTED);
	world_publish(world, EXECUTABLE_ID, &tables);
	assert_all_rows(world, &tables);
}

static void nothing_is_known_before_the_first_row(void **state)
{
	struct world *world = *state;
	struct tables tables = empty_tables();

	tables.page_count = 2;
	tables_add(&tables, 100, RULE_END);
	world_publish(world, EXECUTABLE_ID, &tables);
	assert_all_rows(world, &tables);
	assert_int_equal(lookup(world, 99), UNWIND_NO_INFO);
}

static void tables_may_lie_across_two_slabs(void **state)
{
	struct world *world = *state;

	srand(2);
	for (int i = 0; i < 4; i++) {
		struct tables tables = empty_tables();

		fill_randomly(&tables, 8, 8);
		tables.header_cell = i == 0 ? SLAB_CELLS - 1 : 100;
		tables.page_index_cell = i == 1 ? SLAB_CELLS - 1 : 200;
		tables.row_cell = i == 2 ? 2 * SLAB_CELLS - 20 : 500;
		tables.rule_cell = i == 3 ? SLAB_CELLS - 1 : 1000;
		world_publish(world, EXECUTABLE_ID, &tables);
		assert_all_rows(world, &tables);
	}
}

static void a_table_that_contradicts_itself_ends_the_unwind(void **state)
{
	struct world *world = *state;
	struct tables tables = empty_tables();
	uint32_t index[2];

	tables.page_count = 1;
	tables_add(&tables, 0, RULE_END);
	tables_add(&tables, 16, RULE_COUNT);
	world_publish(world, EXECUTABLE_ID, &tables);
	assert_int_equal(lookup(world, 15), UNWIND_OK);
	assert_int_equal(lookup(world, 16), UNWIND_BAD_TABLE);

	index[0] = 0;
	index[1] = 3;
	world_put(world, tables.page_index_cell, index, sizeof(index));
	assert_int_equal(lookup(world, 0), UNWIND_BAD_TABLE);
	index[0] = 2;
	index[1] = 1;
	world_put(world, tables.page_index_cell, index, sizeof(index));
	assert_int_equal(lookup(world, 0), UNWIND_BAD_TABLE);
}

static void cells_without_a_slab_end_the_unwind(void **state)
{
	const uint32_t nowhere = SLAB_COUNT * SLAB_CELLS;
	struct world *world = *state;
	struct unwind_header header = {
		.text_start = TEXT_ADDRESS,
		.page_count = 8,
		.page_index_cell = 200,
		.row_cell = 500,
		.row_count = 2,
		.rule_cell = 1000,
		.rule_count = RULE_COUNT,
	};
	struct tables tables = empty_tables();
	struct unwind_header bad;

	tables.page_count = 8;
	tables_add(&tables, 0, RULE_END);
	tables_add(&tables, 32, RULE_END);
	world_publish(world, EXECUTABLE_ID, &tables);
	assert_int_equal(lookup(world, 0), UNWIND_OK);

	bad = header;
	bad.page_index_cell = nowhere;
	world_put(world, 100, &bad, sizeof(bad));
	assert_int_equal(lookup(world, 0), UNWIND_BAD_TABLE);
	bad = header;
	bad.page_index_cell = nowhere - 1;
	world_put(world, 100, &bad, sizeof(bad));
	assert_int_equal(lookup(world, 3 * UNWIND_PAGE_BYTES), UNWIND_BAD_TABLE);
	bad = header;
	bad.row_cell = nowhere;
	world_put(world, 100, &bad, sizeof(bad));
	assert_int_equal(lookup(world, 0), UNWIND_BAD_TABLE);
	assert_int_equal(lookup(world, UNWIND_PAGE_BYTES), UNWIND_BAD_TABLE);
	bad = header;
	bad.rule_cell = ~0U;
	world_put(world, 100, &bad, sizeof(bad));
	assert_int_equal(lookup(world, 0), UNWIND_BAD_TABLE);
	world->descriptors[EXECUTABLE_ID & 0xffff].word = descriptor_word(EXECUTABLE_ID, nowhere);
	assert_int_equal(lookup(world, 0), UNWIND_BAD_TABLE);
	world->descriptors[EXECUTABLE_ID & 0xffff].word =
		descriptor_word(EXECUTABLE_ID, nowhere - 1);
	assert_int_equal(lookup(world, 0), UNWIND_BAD_TABLE);
}

static void only_the_published_generation_is_used(void **state)
{
	struct world *world = *state;
	struct tables tables = empty_tables();

	assert_int_equal(lookup(world, 0), UNWIND_NOT_LOADED);
	tables.page_count = 1;
	tables_add(&tables, 0, RULE_END);
	world_publish(world, EXECUTABLE_ID, &tables);
	assert_int_equal(lookup(world, 0), UNWIND_OK);
	world_publish(world, EXECUTABLE_ID + (1ULL << 16), &tables);
	assert_int_equal(lookup(world, 0), UNWIND_NOT_LOADED);
	assert_int_equal(world->trace.words[1], EXECUTABLE_ID);
	world->descriptors[EXECUTABLE_ID & 0xffff].word = 0;
	assert_int_equal(lookup(world, 0), UNWIND_NOT_LOADED);
}

static void an_executable_in_use_is_marked(void **state)
{
	struct executable_descriptor *descriptor;
	struct world *world = *state;
	struct tables tables = empty_tables();

	descriptor = &world->descriptors[EXECUTABLE_ID & 0xffff];
	tables.page_count = 1;
	tables_add(&tables, 0, RULE_END);
	world_publish(world, EXECUTABLE_ID, &tables);
	assert_int_equal(descriptor->used, 0);
	lookup(world, 0);
	assert_int_equal(descriptor->used, 1);
	descriptor->used = 0;
	lookup(world, 2 << 20);
	assert_int_equal(descriptor->used, 0);
}

static void code_outside_every_file_has_no_caller(void **state)
{
	static const struct mapping_row rows[] = {
		{ 0x10000, 0x20000, 0, EXECUTABLE_ID_ANONYMOUS },
		{ 0x20000, 0x30000, 0, EXECUTABLE_ID_UPROBES },
	};
	struct world *world = *state;

	world_set_mappings(world, 3000, rows, 2);
	world_set_registers(world, 0x1ffff, stack_address(0), 0);
	world_unwind(world);
	assert_error(world, 1, UNWIND_ANONYMOUS, 0x1ffff);
	assert_int_equal(world->trace.words[0], frame_word(FRAME_NATIVE, 0, 0x1ffff));
	assert_int_equal(world->trace.words[1], EXECUTABLE_ID_ANONYMOUS);
	world_set_registers(world, 0x20000, stack_address(0), 0);
	world_unwind(world);
	assert_error(world, 1, UNWIND_ANONYMOUS, 0x20000);
	assert_int_equal(world->trace.words[1], EXECUTABLE_ID_UPROBES);
}

static void an_address_outside_the_mappings_is_told(void **state)
{
	static const uint64_t outside[] = { TEXT_START - 1, TEXT_START + (1 << 20), 0x1234, ~0ULL };
	struct world *world = *state;

	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
		world_set_registers(world, outside[i], stack_address(0), 0);
		world_unwind(world);
		assert_error(world, 0, UNWIND_NO_MAPPING, outside[i]);
		assert_int_equal(world->trace.unknown_address, outside[i]);
	}
	world->start.mapping_count = 0;
	assert_int_equal(lookup(world, 0), UNWIND_NO_MAPPING);
}

static void a_mapping_table_without_a_slab_ends_the_unwind(void **state)
{
	struct world *world = *state;

	world->start.mapping_cell = SLAB_COUNT * SLAB_CELLS;
	assert_int_equal(lookup(world, 0), UNWIND_BAD_TABLE);
	world->start.mapping_cell = ~0U;
	assert_int_equal(lookup(world, 0), UNWIND_BAD_TABLE);
	world->start.mapping_cell = 10;
	world->start.mapping_count = ~0U;
	assert_int_equal(lookup(world, 0), UNWIND_BAD_TABLE);
}

static void every_mapping_of_the_largest_table_is_found(void **state)
{
	static struct mapping_row rows[PROCESS_MAX_MAPPINGS];
	struct world *world = *state;

	/* Over the border of two slabs, with a hole behind every second mapping. */
	for (uint32_t i = 0; i < PROCESS_MAX_MAPPINGS; i++)
		rows[i] = (struct mapping_row){
			.start = 0x100000 + i * 0x3000ULL,
			.end = 0x100000 + i * 0x3000ULL + (i % 2 ? 0x3000 : 0x2000),
			.bias = i,
			.executable_id = (i + 1ULL) << 16,
		};
	world_set_mappings(world, SLAB_CELLS - 16385, rows, PROCESS_MAX_MAPPINGS);
	for (uint32_t i = 0; i < PROCESS_MAX_MAPPINGS; i++) {
		const uint64_t inside[] = { rows[i].start, rows[i].end - 1 };

		for (int j = 0; j < 2; j++) {
			world_set_registers(world, inside[j], stack_address(0), 0);
			world_unwind(world);
			assert_error(world, 1, UNWIND_NOT_LOADED, inside[j]);
			assert_int_equal(world->trace.words[0],
					 frame_word(FRAME_NATIVE, 0, inside[j] - i));
			assert_int_equal(world->trace.words[1], rows[i].executable_id);
		}
		if (i % 2 == 0) {
			world_set_registers(world, rows[i].end, stack_address(0), 0);
			world_unwind(world);
			assert_error(world, 0, UNWIND_NO_MAPPING, rows[i].end);
		}
	}
}

static void an_unwind_goes_through_more_mappings_than_are_kept(void **state)
{
	static const struct unwind_rule call[] = {
		CALL_RULE(8),
		{ .cfa = CFA_END },
	};
	struct world *world = *state;
	struct tables tables = empty_tables();
	struct mapping_row rows[20];

	tables.rules = call;
	tables.page_count = 2;
	tables_add(&tables, 0, 0);
	tables_add(&tables, 256, 1);
	for (uint32_t i = 0; i < 20; i++) {
		rows[i] = (struct mapping_row){
			.start = TEXT_START + i * 0x10000,
			.end = TEXT_START + i * 0x10000 + 0x1000,
			.bias = TEXT_START + i * 0x10000 - TEXT_ADDRESS,
			.executable_id = (uint64_t)(i + 3) << 16 | i,
		};
		tables.header_cell = 2000 + 2 * i;
		world_publish(world, rows[i].executable_id, &tables);
	}
	world_set_mappings(world, 4000, rows, 20);
	srand(3);
	for (int round = 0; round < 200; round++) {
		uint32_t order[100];

		/* Mostly among a few, as real stacks are; the last frame is an entry. */
		for (int i = 0; i < 100; i++) {
			order[i] = rand() % (round % 20 + 1);
			world->stack[i] = rows[order[i]].start + 0x80 + order[i];
		}
		world->stack[99] = rows[order[99]].start + 0x180 + order[99];
		world_set_registers(world, TEXT_START, stack_address(0), 0);
		world_unwind(world);
		assert_end(world, 101);
		for (int i = 0; i < 100; i++) {
			uint64_t address = TEXT_ADDRESS + (i == 99 ? 0x180 : 0x80) + order[i];

			assert_int_equal(world->trace.words[2 * i + 2],
					 frame_word(FRAME_NATIVE, FRAME_RETURN_ADDRESS, address));
			assert_int_equal(world->trace.words[2 * i + 3],
					 rows[order[i]].executable_id);
		}
	}
}

enum {
	FILE_COUNT = 20,
	/* Rows that leave by one of two rules; behind them is the row of an entry. */
	ROW_COUNT = 40,
	STEP_COUNT = 1000,
};

/* Files with rows at the same offsets; every other file has other rules, and their ids are new each time. */
static void publish_files(struct world *world, struct mapping_row rows[FILE_COUNT])
{
	static const struct unwind_rule leave[] = {
		CALL_RULE(8),
		CALL_RULE(16),
		{ .cfa = CFA_END },
	};

	for (uint32_t file = 0; file < FILE_COUNT; file++) {
		struct tables tables = empty_tables();

		tables.rules = leave;
		tables.rule_count = 3;
		tables.page_count = 4;
		for (uint32_t i = 0; i < ROW_COUNT; i++)
			tables_add(&tables, i * 16, (i + file) % 2);
		tables_add(&tables, ROW_COUNT * 16, 2);
		tables.header_cell = 2000 + 2 * file;
		tables.row_cell = 5000 + 100 * file;
		rows[file] = (struct mapping_row){
			.start = TEXT_START + file * 0x10000,
			.end = TEXT_START + file * 0x10000 + 0x1000,
			.bias = TEXT_START + file * 0x10000 - TEXT_ADDRESS,
			.executable_id = (uint64_t)(rand() % 100000 + 1) << 16 | file,
		};
		world_publish(world, rows[file].executable_id, &tables);
	}
	world_set_mappings(world, 4000, rows, FILE_COUNT);
}

static void an_unwind_goes_through_more_rules_than_are_kept(void **state)
{
	struct world *world = *state;
	struct mapping_row rows[FILE_COUNT];
	uint64_t expected[STEP_COUNT];

	srand(4);
	for (int round = 0; round < 50; round++) {
		uint32_t word = 0, last_rule = 0;

		publish_files(world, rows);
		world_set_registers(world, rows[0].start + 8, stack_address(0), 0);
		/* The rule of each address decides where the next return address must be. */
		for (int i = 0; i < STEP_COUNT; i++) {
			uint32_t file = rand() % FILE_COUNT, row = rand() % ROW_COUNT;
			uint32_t offset = (i == STEP_COUNT - 1 ? ROW_COUNT : row) * 16 + 8;

			if (last_rule)
				world->stack[word++] = 0x1234;
			world->stack[word++] = rows[file].start + offset;
			expected[i] = frame_word(FRAME_NATIVE, FRAME_RETURN_ADDRESS,
						 TEXT_ADDRESS + offset);
			last_rule = (row + file) % 2;
		}
		world_unwind(world);
		assert_end(world, STEP_COUNT + 1);
		for (int i = 0; i < STEP_COUNT; i++)
			assert_int_equal(world->trace.words[2 * i + 2], expected[i]);
	}
}

static void no_two_entries_can_be_mixed_unseen(void **state)
{
	struct process_entry old = {
		.identity = { 123456789, 3 },
		.pid = 77,
		.mapping_cell = 1000,
		.mapping_count = 20,
		.nonce = 0x1111,
	};
	struct process_entry new = {
		.identity = { 123456789, 4 },
		.pid = 77,
		.mapping_cell = 2000,
		.mapping_count = 20,
		.nonce = 0x2222,
	};
	uint64_t *old_words = (uint64_t *)&old, *new_words = (uint64_t *)&new;

	(void)state;
	old.checksum = process_entry_checksum(&old);
	new.checksum = process_entry_checksum(&new);
	/* Each word from the one or the other. */
	for (uint32_t mix = 1; mix < 63; mix++) {
		union {
			struct process_entry entry;
			uint64_t words[6];
		} mixed;
		bool is_old = true, is_new = true;

		for (int i = 0; i < 6; i++) {
			mixed.words[i] = mix >> i & 1 ? new_words[i] : old_words[i];
			is_old &= mixed.words[i] == old_words[i];
			is_new &= mixed.words[i] == new_words[i];
		}
		if (!is_old && !is_new)
			assert_int_not_equal(process_entry_checksum(&mixed.entry),
					     mixed.entry.checksum);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(every_address_finds_the_row_below_it),
		world_test(a_page_can_have_a_row_for_every_byte),
		world_test(pages_without_rows_use_the_last_row_before_them),
		world_test(nothing_is_known_before_the_first_row),
		world_test(tables_may_lie_across_two_slabs),
		world_test(a_table_that_contradicts_itself_ends_the_unwind),
		world_test(cells_without_a_slab_end_the_unwind),
		world_test(only_the_published_generation_is_used),
		world_test(an_executable_in_use_is_marked),
		world_test(code_outside_every_file_has_no_caller),
		world_test(an_address_outside_the_mappings_is_told),
		world_test(a_mapping_table_without_a_slab_ends_the_unwind),
		world_test(every_mapping_of_the_largest_table_is_found),
		world_test(an_unwind_goes_through_more_mappings_than_are_kept),
		world_test(an_unwind_goes_through_more_rules_than_are_kept),
		cmocka_unit_test(no_two_entries_can_be_mixed_unseen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
