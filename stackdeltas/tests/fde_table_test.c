/* SPDX-License-Identifier: Apache-2.0 */
#include "stackdeltas/fde_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>

#include "stackdeltas/tests/eh_frame_bytes.h"

struct fixture {
	struct eh_frame_bytes bytes;
	struct unwind_input input;
	struct delta_report report;
	struct fde_table table;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->input.machine = EM_X86_64;
	fixture->input.eh_frame = fixture->bytes.bytes;
	fixture->input.eh_frame_address = SECTION_ADDRESS;
	fixture->input.segment_count = 1;
	fixture->input.segments[0] =
		(struct unwind_segment){ TEXT_ADDRESS, TEXT_ADDRESS + TEXT_BYTES };
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	fde_table_deinit(&fixture->table);
	free(fixture);
	return 0;
}

static void read_table(struct fixture *fixture)
{
	fixture->input.eh_frame_bytes = fixture->bytes.size;
	assert_int_equal(fde_table_init(&fixture->table, &fixture->input, &fixture->report), 0);
}

static void fdes_come_by_address_and_equal_ones_in_the_order_of_the_file(void **state)
{
	static const uint32_t starts[] = { 0x80000, 0x10, 0x7ff, 0x800, 0x10, 0x90, 0xfffff };
	static const uint32_t sorted[] = { 0x10, 0x10, 0x90, 0x7ff, 0x800, 0x80000, 0xfffff };
	struct fixture *fixture = *state;
	const struct fde_record *fdes;

	put_x86_cie(&fixture->bytes);
	for (int i = 0; i < 7; i++)
		PUT_FDE(&fixture->bytes, TEXT_ADDRESS + starts[i], 1 + i, DW_CFA_nop);
	read_table(fixture);
	fdes = fixture->table.fdes.items;
	assert_int_equal(fixture->table.fdes.count, 7);
	assert_int_equal(fixture->table.cies.count, 1);
	for (int i = 0; i < 7; i++)
		assert_int_equal(fdes[i].start, sorted[i]);
	assert_int_equal(fdes[0].length, 2);
	assert_int_equal(fdes[1].length, 5);
	/* Cut at the end of its segment. */
	assert_int_equal(fdes[6].length, 1);
}

static void fdes_of_no_length_or_outside_of_the_text_are_left_out(void **state)
{
	struct fixture *fixture = *state;

	put_x86_cie(&fixture->bytes);
	PUT_FDE(&fixture->bytes, TEXT_ADDRESS, 0, DW_CFA_nop);
	PUT_FDE(&fixture->bytes, TEXT_ADDRESS + TEXT_BYTES, 4, DW_CFA_nop);
	PUT_FDE(&fixture->bytes, TEXT_ADDRESS + 4, 4, DW_CFA_nop);
	read_table(fixture);
	assert_int_equal(fixture->table.fdes.count, 1);
	assert_int_equal(fixture->report.statistics.empty_fde_count, 1);
	assert_int_equal(fixture->report.statistics.problems[DELTA_PROBLEM_OUTSIDE], 1);
}

/* Else many FDEs could name many overlapping CIEs, and their bytes would be run for each. */
static void a_cie_of_absurd_length_is_bad(void **state)
{
	struct fixture *fixture = *state;

	begin_cie(&fixture->bytes, "zR", DWARF_X86_RIP);
	PUT(&fixture->bytes, 1, 0x1b, DW_CFA_def_cfa, DWARF_X86_RSP, 8,
	    DW_CFA_offset | DWARF_X86_RIP, 1);
	for (int i = 0; i < 1024; i++)
		put_u8(&fixture->bytes, DW_CFA_nop);
	end_entry(&fixture->bytes);
	PUT_FDE(&fixture->bytes, TEXT_ADDRESS, 16, DW_CFA_nop);
	read_table(fixture);
	assert_int_equal(fixture->table.fdes.count, 0);
	assert_int_equal(fixture->report.statistics.problems[DELTA_PROBLEM_BAD_CIE], 1);
}

/* Text offsets of start and end. */
static void assert_fde(const struct fixture *fixture, size_t i, uint32_t start, uint32_t end)
{
	const struct fde_record *fde = &fixture->table.fdes.items[i];

	assert_in_range(i, 0, fixture->table.fdes.count - 1);
	assert_int_equal(fde->start, start);
	assert_int_equal(fde->start + fde->length, end);
}

static void a_second_section_gives_what_the_first_leaves_out(void **state)
{
	struct fixture *fixture = *state;
	struct eh_frame_bytes *debug = calloc(1, sizeof(*debug));
	struct eh_frame section;

	put_x86_cie(&fixture->bytes);
	PUT_FDE(&fixture->bytes, TEXT_ADDRESS + 0x100, 0x100, DW_CFA_nop);
	PUT_FDE(&fixture->bytes, TEXT_ADDRESS + 0x300, 0x10, DW_CFA_nop);
	read_table(fixture);
	put_debug_cie(debug);
	/* A dropped function; the same range again; within it; behind it; before it, and into the next. */
	put_debug_fde(debug, 0, 0x10, 16);
	put_debug_fde(debug, TEXT_ADDRESS + 0x100, 0x100, 16);
	put_debug_fde(debug, TEXT_ADDRESS + 0x1ff, 0x20, 16);
	put_debug_fde(debug, TEXT_ADDRESS + 0x200, 0x10, 16);
	put_debug_fde(debug, TEXT_ADDRESS + 0x20, 0x10, 16);
	put_debug_fde(debug, TEXT_ADDRESS + 0x2f0, 0x100, 16);
	put_debug_fde(debug, TEXT_ADDRESS + 0x400, 0x10, 16);
	section = (struct eh_frame){ .bytes = debug->bytes,
				     .size = debug->size,
				     .is_debug_frame = true };
	assert_int_equal(
		fde_table_add(&fixture->table, &fixture->input, &section, &fixture->report), 0);
	assert_int_equal(fixture->table.fdes.count, 6);
	assert_fde(fixture, 0, 0x20, 0x30);
	assert_fde(fixture, 1, 0x100, 0x200);
	assert_fde(fixture, 2, 0x200, 0x210);
	assert_fde(fixture, 3, 0x2f0, 0x300);
	assert_fde(fixture, 4, 0x300, 0x310);
	assert_fde(fixture, 5, 0x400, 0x410);
	for (int i = 0; i < 6; i++)
		assert_int_equal(
			fixture->table.cies.items[fixture->table.fdes.items[i].cie].section,
			i != 1 && i != 4);
	assert_int_equal(fixture->report.statistics.empty_fde_count, 1);
	free(debug);
}

static void a_table_can_do_without_eh_frame(void **state)
{
	struct fixture *fixture = *state;
	struct eh_frame section;

	read_table(fixture);
	assert_int_equal(fixture->table.fdes.count, 0);
	put_debug_cie(&fixture->bytes);
	put_debug_fde(&fixture->bytes, TEXT_ADDRESS + 0x40, 0x10, 16);
	put_debug_fde(&fixture->bytes, TEXT_ADDRESS + 0x20, 0x10, 16);
	section = (struct eh_frame){ .bytes = fixture->bytes.bytes,
				     .size = fixture->bytes.size,
				     .is_debug_frame = true };
	for (int i = 0; i < FDE_TABLE_MAX_SECTIONS; i++)
		assert_int_equal(fde_table_add(&fixture->table, &fixture->input, &section,
					       &fixture->report),
				 0);
	assert_int_equal(fixture->table.fdes.count, 2);
	assert_fde(fixture, 0, 0x20, 0x30);
	assert_int_equal(fde_table_add(&fixture->table, &fixture->input, &section,
				       &fixture->report),
			 -E2BIG);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(fdes_come_by_address_and_equal_ones_in_the_order_of_the_file),
		TEST(fdes_of_no_length_or_outside_of_the_text_are_left_out),
		TEST(a_second_section_gives_what_the_first_leaves_out),
		TEST(a_table_can_do_without_eh_frame),
		TEST(a_cie_of_absurd_length_is_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
