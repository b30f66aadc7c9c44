/* SPDX-License-Identifier: Apache-2.0 */
#include "stackdeltas/bare_code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/elf/tests/elf_builder.h"
#include "stackdeltas/fde_table.h"
#include "stackdeltas/unwind_input.h"

enum { CODE_BYTES = 0x1000 };

struct fixture {
	struct elf_builder builder;
	/* Address of .text. */
	uint64_t text;
	struct elf_image image;
	struct unwind_input input;
	struct fde_table table;
	struct bare_code code;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	uint8_t bytes[CODE_BYTES];
	uint32_t section;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = i * 7;
	elf_builder_init(&fixture->builder, 1);
	section = elf_builder_add(&fixture->builder, ".text", SHT_PROGBITS,
				  SHF_ALLOC | SHF_EXECINSTR, bytes, sizeof(bytes));
	elf_builder_add(&fixture->builder, ".rodata", SHT_PROGBITS, SHF_ALLOC, bytes, 64);
	elf_builder_finish(&fixture->builder);
	fixture->text = built_section(&fixture->builder, section)->sh_addr;
	assert_int_equal(
		elf_image_init_memory(&fixture->image, fixture->builder.bytes, BUILT_BYTES), 0);
	fixture->input.machine = EM_X86_64;
	fixture->input.segment_count = 1;
	fixture->input.segments[0] =
		(struct unwind_segment){ BUILT_ADDRESS, BUILT_ADDRESS + BUILT_BYTES };
	fixture->table.base = BUILT_ADDRESS;
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	fde_table_deinit(&fixture->table);
	bare_code_deinit(&fixture->code);
	elf_image_deinit(&fixture->image);
	free(fixture);
	return 0;
}

/* An FDE at [start, end) of .text. */
static void cover(struct fixture *fixture, uint64_t start, uint64_t end)
{
	const struct fde_record record = {
		.start = fixture->text + start - BUILT_ADDRESS,
		.length = end - start,
	};

	assert_int_equal(fde_record_vector_push(&fixture->table.fdes, record), 0);
}

static void read_code(struct fixture *fixture, uint64_t expected_bytes)
{
	uint64_t bytes = 0;

	bare_code_deinit(&fixture->code);
	assert_int_equal(bare_code_read(&fixture->image, &fixture->input, &fixture->table,
					&fixture->code, &bytes),
			 0);
	assert_int_equal(bytes, expected_bytes);
}

/* Range @i is [start, end) of .text, and has its bytes. */
static void assert_range(const struct fixture *fixture, uint32_t i, uint64_t start, uint64_t end)
{
	const struct code_bytes *range = &fixture->code.ranges[i];

	assert_in_range(i, 0, fixture->code.range_count - 1);
	assert_int_equal(range->address, fixture->text + start);
	assert_int_equal(range->size, end - start);
	for (size_t j = 0; j < range->size; j++)
		assert_int_equal(range->bytes[j], (uint8_t)((start + j) * 7));
}

static void what_fdes_leave_of_executable_sections_is_bare(void **state)
{
	struct fixture *fixture = *state;

	read_code(fixture, CODE_BYTES);
	assert_range(fixture, 0, 0, CODE_BYTES);
	assert_int_equal(fixture->code.starts.count, 1);
	/* 8 bytes at the start of a section are code, 15 between functions are padding. */
	cover(fixture, 8, 0x100);
	cover(fixture, 0x10f, 0x200);
	cover(fixture, 0x210, 0x300);
	cover(fixture, 0x280, 0x290);
	cover(fixture, 0xff8, CODE_BYTES);
	read_code(fixture, 8 + 16 + 0xff8 - 0x290);
	assert_int_equal(fixture->code.range_count, 3);
	assert_range(fixture, 0, 0, 8);
	assert_range(fixture, 1, 0x200, 0x210);
	/* As for an unwinder, the FDE that starts last holds, and the rest of the other does not. */
	assert_range(fixture, 2, 0x290, 0xff8);
	assert_true(bare_code_contains(&fixture->code, fixture->text));
	assert_false(bare_code_contains(&fixture->code, fixture->text - 1));
	assert_false(bare_code_contains(&fixture->code, fixture->text + 8));
	assert_true(bare_code_contains(&fixture->code, fixture->text + 0x20f));
}

static void too_much_of_it_is_counted_and_left(void **state)
{
	const uint64_t much = BARE_CODE_MAX_BYTES + 1ULL;
	struct fixture *fixture = *state;

	for (uint32_t i = 0; i < fixture->image.section_count; i++)
		if (fixture->image.sections[i].address == fixture->text)
			fixture->image.sections[i].size = much;
	fixture->input.segments[0].end = fixture->text + much;
	read_code(fixture, much);
	assert_int_equal(fixture->code.range_count, 0);
	cover(fixture, CODE_BYTES, much);
	read_code(fixture, CODE_BYTES);
	assert_range(fixture, 0, 0, CODE_BYTES);
}

static void plt_stubs_are_no_bare_code(void **state)
{
	struct fixture *fixture = *state;

	fixture->input.stub_count = 2;
	fixture->input.stubs[0] = (struct unwind_segment){ fixture->text, fixture->text + 0x40 };
	fixture->input.stubs[1] =
		(struct unwind_segment){ fixture->text + 0x80, fixture->text + 0x90 };
	read_code(fixture, CODE_BYTES - 0x50);
	assert_int_equal(fixture->code.range_count, 2);
	assert_range(fixture, 0, 0x40, 0x80);
	assert_range(fixture, 1, 0x90, CODE_BYTES);
}

static void without_sections_all_of_a_segment_may_be_code(void **state)
{
	struct fixture *fixture = *state;

	fixture->image.section_count = 0;
	read_code(fixture, BUILT_BYTES);
	assert_int_equal(fixture->code.range_count, 1);
	assert_int_equal(fixture->code.ranges[0].address, BUILT_ADDRESS);
	/* It may start with a header: no function is said to start there. */
	assert_int_equal(fixture->code.starts.count, 0);
	fixture->image.section_count = 4;
}

static void hostile_sections_are_joined_and_cut_to_the_segments(void **state)
{
	struct fixture *fixture = *state;
	struct elf_section *text = &fixture->image.sections[1];
	struct elf_section *other = &fixture->image.sections[2];

	other->flags = text->flags;
	other->address = text->address + 0x800;
	other->size = CODE_BYTES;
	fixture->input.segments[0].end = text->address + 0x1800 - 0x100;
	read_code(fixture, 0x1700);
	assert_int_equal(fixture->code.range_count, 1);
	other->address = UINT64_MAX - 8;
	other->size = 64;
	read_code(fixture, CODE_BYTES);
	text->address = BUILT_ADDRESS - 0x10;
	text->size = 0x20;
	read_code(fixture, 0x10);
}

static void starts_are_sorted_single_and_within_ranges(void **state)
{
	struct fixture *fixture = *state;
	uint64_t wanted[] = { 0x900, 0x10, 0x250, 0x10, 0x208, 0x5000 };
	struct address_vector starts = { .items = wanted, .count = 6 };
	struct address_vector selected = { 0 };

	cover(fixture, 0x200, 0x300);
	read_code(fixture, CODE_BYTES - 0x100);
	for (int i = 0; i < 6; i++)
		wanted[i] += fixture->text;
	assert_int_equal(bare_code_select_starts(&fixture->code, &starts, &selected), 0);
	assert_int_equal(selected.count, 2);
	assert_int_equal(selected.items[0], fixture->text + 0x10);
	assert_int_equal(selected.items[1], fixture->text + 0x900);
	address_vector_deinit(&selected);
}

static void more_tables_leave_less(void **state)
{
	struct fixture *fixture = *state;
	struct code_bytes_vector rest = { 0 };

	cover(fixture, 0x200, 0x300);
	read_code(fixture, CODE_BYTES - 0x100);
	fixture->table.fdes.count = 0;
	cover(fixture, 0x100, 0x300);
	cover(fixture, 0x400, 0x500);
	assert_int_equal(bare_code_rest(&fixture->code, &fixture->table, &rest), 0);
	assert_int_equal(rest.count, 3);
	assert_int_equal(rest.items[0].size, 0x100);
	assert_int_equal(rest.items[1].address, fixture->text + 0x300);
	assert_int_equal(rest.items[1].size, 0x100);
	assert_int_equal(rest.items[2].address, fixture->text + 0x500);
	assert_int_equal(rest.items[2].bytes[0], (uint8_t)(0x500 * 7));
	code_bytes_vector_deinit(&rest);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(what_fdes_leave_of_executable_sections_is_bare),
		TEST(too_much_of_it_is_counted_and_left),
		TEST(plt_stubs_are_no_bare_code),
		TEST(without_sections_all_of_a_segment_may_be_code),
		TEST(hostile_sections_are_joined_and_cut_to_the_segments),
		TEST(starts_are_sorted_single_and_within_ranges),
		TEST(more_tables_leave_less),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
