/* SPDX-License-Identifier: Apache-2.0 */
/* From hand-written .eh_frame to rules, the whole way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>

#include "stackdeltas/tests/extraction.h"

#define RSP (DW_OP_breg0 + DWARF_X86_RSP)
#define RBP (DW_OP_breg0 + DWARF_X86_RBP)

/* A one-row function with the arguments as instructions gives one rule. */
#define ASSERT_ONE_RULE(fixture, expected, ...)                                                    \
	do {                                                                                       \
		(fixture)->bytes.size = 0;                                                         \
		put_x86_cie(&(fixture)->bytes);                                                    \
		PUT_FDE(&(fixture)->bytes, TEXT_ADDRESS, 16, __VA_ARGS__);                         \
		assert_extracts(fixture);                                                          \
		assert_rule(fixture, 0, expected);                                                 \
		assert_rule(fixture, 15, expected);                                                \
		assert_rule(fixture, 16, "none");                                                  \
	} while (0)

static void a_prologue_gives_a_row_per_step(void **state)
{
	struct fixture *fixture = *state;

	PUT_FDE(&fixture->bytes, TEXT_ADDRESS + 4, 40, DW_CFA_advance_loc | 1,
		DW_CFA_def_cfa_offset, 16, DW_CFA_offset | DWARF_X86_RBP, 2, DW_CFA_advance_loc | 3,
		DW_CFA_def_cfa_register, DWARF_X86_RBP, DW_CFA_advance_loc | 20, DW_CFA_def_cfa,
		DWARF_X86_RSP, 8);
	assert_extracts(fixture);
	assert_rule(fixture, 0, "none");
	assert_rule(fixture, 4, "cfa=sp+8 ra=cfa-8 fp=same");
	assert_rule(fixture, 5, "cfa=sp+16 ra=cfa-8 fp=cfa-16");
	assert_rule(fixture, 8, "cfa=fp+16 ra=cfa-8 fp=cfa-16");
	assert_rule(fixture, 27, "cfa=fp+16 ra=cfa-8 fp=cfa-16");
	assert_rule(fixture, 28, "cfa=sp+8 ra=cfa-8 fp=cfa-16");
	assert_rule(fixture, 44, "none");
	assert_int_equal(fixture->statistics.fde_count, 1);
	assert_int_equal(fixture->statistics.cie_count, 1);
}

static void offsets_of_all_sizes_change_alone(void **state)
{
	struct fixture *fixture = *state;

	PUT_FDE(&fixture->bytes, TEXT_ADDRESS, 40, DW_CFA_def_cfa_offset, 0, DW_CFA_advance_loc | 1,
		DW_CFA_def_cfa_offset, 0xff, 0xff, 0xff, 7, DW_CFA_advance_loc | 1,
		DW_CFA_def_cfa_offset, 0x80, 0x80, 0x80, 8, DW_CFA_advance_loc | 1,
		DW_CFA_def_cfa_offset, 24, DW_CFA_advance_loc | 1, DW_CFA_offset | DWARF_X86_RBP, 2,
		DW_CFA_def_cfa_offset, 32, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16);
	/* The next function starts as its CIE says, whatever the one before it did. */
	PUT_FDE(&fixture->bytes, TEXT_ADDRESS + 40, 8, DW_CFA_def_cfa_offset, 48);
	assert_extracts(fixture);
	assert_rule(fixture, 0, "cfa=sp+0 ra=cfa-8 fp=same");
	assert_rule(fixture, 1, "cfa=sp+16777215 ra=cfa-8 fp=same");
	assert_rule(fixture, 2, "cfa=sp+16777216 ra=cfa-8 fp=same");
	assert_rule(fixture, 3, "cfa=sp+24 ra=cfa-8 fp=same");
	assert_rule(fixture, 4, "cfa=sp+32 ra=cfa-8 fp=cfa-16");
	assert_rule(fixture, 5, "cfa=sp+16 ra=cfa-8 fp=cfa-16");
	assert_rule(fixture, 40, "cfa=sp+48 ra=cfa-8 fp=same");
}

static void gaps_hold_nothing_and_neighbours_are_joined(void **state)
{
	struct fixture *fixture = *state;

	PUT_FDE(&fixture->bytes, TEXT_ADDRESS, 16, DW_CFA_nop);
	PUT_FDE(&fixture->bytes, TEXT_ADDRESS + 16, 16, DW_CFA_nop);
	PUT_FDE(&fixture->bytes, TEXT_ADDRESS + 40, 16, DW_CFA_nop);
	assert_extracts(fixture);
	assert_rule(fixture, 31, "cfa=sp+8 ra=cfa-8 fp=same");
	assert_rule(fixture, 32, "none");
	assert_rule(fixture, 39, "none");
	assert_rule(fixture, 40, "cfa=sp+8 ra=cfa-8 fp=same");
	assert_int_equal(fixture->deltas.row_count, 4);
}

static void an_entry_point_without_fde_is_the_outermost_frame(void **state)
{
	struct fixture *fixture = *state;

	PUT_FDE(&fixture->bytes, TEXT_ADDRESS, 16, DW_CFA_nop);
	PUT_FDE(&fixture->bytes, TEXT_ADDRESS + 128, 16, DW_CFA_nop);
	fixture->input.entry = TEXT_ADDRESS + 20;
	assert_extracts(fixture);
	assert_rule(fixture, 19, "none");
	assert_rule(fixture, 20, "end");
	assert_rule(fixture, 20 + 63, "end");
	assert_rule(fixture, 20 + 64, "none");
	fixture->input.entry = TEXT_ADDRESS + 16;
	assert_extracts(fixture);
	assert_rule(fixture, 15, "cfa=sp+8 ra=cfa-8 fp=same");
	assert_rule(fixture, 16, "end");
	/* Never beyond the next FDE, and not where an FDE has the entry point. */
	fixture->input.entry = TEXT_ADDRESS + 120;
	assert_extracts(fixture);
	assert_rule(fixture, 127, "end");
	assert_rule(fixture, 128, "cfa=sp+8 ra=cfa-8 fp=same");
	fixture->input.entry = TEXT_ADDRESS + 8;
	assert_extracts(fixture);
	assert_rule(fixture, 8, "cfa=sp+8 ra=cfa-8 fp=same");
	assert_rule(fixture, 16, "none");
}

static void plt_stubs_without_fde_have_the_rule_of_stubs(void **state)
{
	const char *stub = "cfa=sp+8+(pc%16>=11)*8 ra=cfa-8 fp=same";
	struct fixture *fixture = *state;

	PUT_FDE(&fixture->bytes, TEXT_ADDRESS + 64, 16, DW_CFA_nop);
	PUT_FDE(&fixture->bytes, TEXT_ADDRESS + 128, 16, DW_CFA_nop);
	fixture->input.stub_count = 3;
	fixture->input.stubs[0] = (struct unwind_segment){ TEXT_ADDRESS + 16, TEXT_ADDRESS + 32 };
	fixture->input.stubs[1] = (struct unwind_segment){ TEXT_ADDRESS + 72, TEXT_ADDRESS + 96 };
	fixture->input.stubs[2] = (struct unwind_segment){ TEXT_ADDRESS + 160, TEXT_ADDRESS + 176 };
	assert_extracts(fixture);
	assert_rule(fixture, 16, stub);
	assert_rule(fixture, 31, stub);
	assert_rule(fixture, 32, "none");
	/* Where an FDE is, it counts. */
	assert_rule(fixture, 79, "cfa=sp+8 ra=cfa-8 fp=same");
	assert_rule(fixture, 80, stub);
	assert_rule(fixture, 96, "none");
	assert_rule(fixture, 159, "none");
	assert_rule(fixture, 160, stub);
	fixture->input.machine = EM_AARCH64;
	assert_extracts(fixture);
	assert_rule(fixture, 160, "cfa=sp+0 ra=lr fp=same");
}

static void functions_out_of_order_are_sorted(void **state)
{
	enum { COUNT = 1000, STRIDE = 64 };
	struct fixture *fixture = *state;

	for (uint64_t i = 0; i < COUNT; i++)
		PUT_FDE(&fixture->bytes, TEXT_ADDRESS + i * 37 % COUNT * STRIDE, 16,
			DW_CFA_def_cfa_offset, 8 + i * 37 % COUNT % 100);
	assert_extracts(fixture);
	for (uint64_t i = 0; i < COUNT; i++) {
		char expected[RULE_TEXT_MAX_BYTES];

		snprintf(expected, sizeof(expected), "cfa=sp+%d ra=cfa-8 fp=same",
			 (int)(8 + i % 100));
		assert_rule(fixture, i * STRIDE, expected);
		assert_rule(fixture, i * STRIDE + 15, expected);
		if (i < COUNT - 1)
			assert_rule(fixture, i * STRIDE + 16, "none");
	}
}

static void of_overlapping_functions_the_later_start_holds(void **state)
{
	struct fixture *fixture = *state;

	PUT_FDE(&fixture->bytes, TEXT_ADDRESS, 64, DW_CFA_advance_loc | 32, DW_CFA_def_cfa_offset,
		16);
	PUT_FDE(&fixture->bytes, TEXT_ADDRESS + 16, 8, DW_CFA_def_cfa_offset, 32);
	PUT_FDE(&fixture->bytes, TEXT_ADDRESS + 16, 99, DW_CFA_def_cfa_offset, 64);
	assert_extracts(fixture);
	assert_rule(fixture, 15, "cfa=sp+8 ra=cfa-8 fp=same");
	assert_rule(fixture, 16, "cfa=sp+32 ra=cfa-8 fp=same");
	assert_rule(fixture, 24, "none");
	assert_int_equal(fixture->statistics.problems[DELTA_PROBLEM_OVERLAP], 1);
}

static void expressions_become_rules(void **state)
{
	struct fixture *fixture = *state;

	ASSERT_ONE_RULE(fixture, "cfa=sp+8+(pc%16>=11)*8 ra=cfa-8 fp=same",
			DW_CFA_def_cfa_expression, 11, RSP, 8, DW_OP_breg0 + DWARF_X86_RIP, 0,
			DW_OP_lit0 + 15, DW_OP_and, DW_OP_lit0 + 11, DW_OP_ge, DW_OP_lit0 + 3,
			DW_OP_shl, DW_OP_plus);
	ASSERT_ONE_RULE(fixture, "cfa=*(sp+32)+8 ra=cfa-8 fp=same", DW_CFA_def_cfa_expression, 5,
			RSP, 32, DW_OP_deref, DW_OP_plus_uconst, 8);
	/* A re-aligned stack: gcc keeps the CFA below the saved frame pointer. */
	ASSERT_ONE_RULE(fixture, "cfa=*(fp-8)+0 ra=cfa-8 fp=*(fp+0)", DW_CFA_def_cfa_expression, 3,
			RBP, 0x78, DW_OP_deref, DW_CFA_expression, DWARF_X86_RBP, 2, RBP, 0);
	ASSERT_ONE_RULE(fixture, "cfa=*(r12+16)-1 ra=cfa-8 fp=same", DW_CFA_def_cfa_expression, 5,
			DW_OP_breg0 + 12, 16, DW_OP_deref, DW_OP_lit0 + 1, DW_OP_minus);
	ASSERT_ONE_RULE(fixture, "cfa=r10+0 ra=cfa-8 fp=same", DW_CFA_def_cfa, 10, 0);
	/* Relative to sp, but sp is the CFA less a known number. */
	ASSERT_ONE_RULE(fixture, "cfa=sp+48 ra=cfa-8 fp=cfa-32", DW_CFA_def_cfa_offset, 48,
			DW_CFA_expression, DWARF_X86_RBP, 2, RSP, 16);
	ASSERT_ONE_RULE(fixture, "cfa=sp+8 ra=cfa-8 fp=cfa+24", DW_CFA_expression, DWARF_X86_RBP, 2,
			DW_OP_plus_uconst, 24);
}

static void rbx_is_followed_to_slots_below_the_cfa(void **state)
{
	struct fixture *fixture = *state;

	ASSERT_ONE_RULE(fixture, "cfa=sp+8 ra=cfa-8 fp=same rbx=cfa-24",
			DW_CFA_offset | DWARF_X86_RBX, 3);
	ASSERT_ONE_RULE(fixture, "cfa=sp+8 ra=cfa-8 fp=cfa-16 rbx=cfa-24",
			DW_CFA_offset | DWARF_X86_RBX, 3, DW_CFA_offset | DWARF_X86_RBP, 2);
	ASSERT_ONE_RULE(fixture, "cfa=sp+8 ra=cfa-8 fp=same rbx=cfa-2032",
			DW_CFA_offset | DWARF_X86_RBX, 0xfe, 1);
	/* The rule has no field for these locations: too far, above, elsewhere, computed. */
	ASSERT_ONE_RULE(fixture, "cfa=sp+8 ra=cfa-8 fp=same rbx=undefined",
			DW_CFA_offset | DWARF_X86_RBX, 0xff, 1);
	ASSERT_ONE_RULE(fixture, "cfa=sp+8 ra=cfa-8 fp=same rbx=undefined",
			DW_CFA_offset_extended_sf, DWARF_X86_RBX, 0x7e);
	ASSERT_ONE_RULE(fixture, "cfa=sp+8 ra=cfa-8 fp=same rbx=undefined", DW_CFA_register,
			DWARF_X86_RBX, 12);
	ASSERT_ONE_RULE(fixture, "cfa=sp+8 ra=cfa-8 fp=same rbx=undefined", DW_CFA_val_offset,
			DWARF_X86_RBX, 0);
	ASSERT_ONE_RULE(fixture, "cfa=sp+8 ra=cfa-8 fp=same rbx=undefined", DW_CFA_undefined,
			DWARF_X86_RBX);
	ASSERT_ONE_RULE(fixture, "cfa=sp+8 ra=cfa-8 fp=same", DW_CFA_undefined, DWARF_X86_RBX,
			DW_CFA_restore | DWARF_X86_RBX);
	assert_int_equal(fixture->statistics.problems[DELTA_PROBLEM_FRAME_POINTER], 0);
}

static void outermost_and_signal_frames_are_told(void **state)
{
	struct fixture *fixture = *state;

	ASSERT_ONE_RULE(fixture, "end", DW_CFA_undefined, DWARF_X86_RIP);
	/* glibc's __restore_rt */
	ASSERT_ONE_RULE(fixture, "signal", DW_CFA_def_cfa_expression, 4, RSP, 0xa0, 1, DW_OP_deref,
			DW_CFA_expression, DWARF_X86_RBP, 3, RSP, 0xf8, 0, DW_CFA_expression,
			DWARF_X86_RIP, 3, RSP, 0xa8, 1);
	/* The same but for where rip is. */
	ASSERT_ONE_RULE(fixture, "unsupported", DW_CFA_def_cfa_expression, 4, RSP, 0xa0, 1,
			DW_OP_deref, DW_CFA_expression, DWARF_X86_RBP, 3, RSP, 0xf8, 0,
			DW_CFA_expression, DWARF_X86_RIP, 3, RSP, 0xb0, 1);
}

static void a_return_address_in_a_register_is_followed(void **state)
{
	struct fixture *fixture = *state;

	/* glibc's vfork */
	ASSERT_ONE_RULE(fixture, "cfa=sp+0 ra=r5 fp=same", DW_CFA_def_cfa_offset, 0,
			DW_CFA_register, DWARF_X86_RIP, 5);
}

static void code_that_switches_stacks_has_rules(void **state)
{
	struct fixture *fixture = *state;

	/* glibc's longjmp: the CFA is the buffer, what counts is in registers. */
	ASSERT_ONE_RULE(fixture, "cfa=r8+0 ra=r1 fp=r9 rbx=undefined other stack", DW_CFA_def_cfa,
			5, 0, DW_CFA_register, DWARF_X86_RSP, 8, DW_CFA_register, DWARF_X86_RBP, 9,
			DW_CFA_register, DWARF_X86_RIP, 1, DW_CFA_offset_extended_sf, DWARF_X86_RBX,
			0);
	/* glibc's setcontext: all of it is in the struct ucontext that the CFA is. */
	ASSERT_ONE_RULE(fixture, "context(r1)", DW_CFA_def_cfa, 1, 0, DW_CFA_offset_extended_sf,
			DWARF_X86_RBX, 0x70, DW_CFA_offset_extended_sf, DWARF_X86_RBP, 0x71,
			DW_CFA_offset_extended_sf, DWARF_X86_RSP, 0x6c, DW_CFA_offset_extended_sf,
			DWARF_X86_RIP, 0x6b);
	/* One byte differs, so it is not recognised. */
	ASSERT_ONE_RULE(fixture, "unsupported", DW_CFA_def_cfa, 1, 0, DW_CFA_offset_extended_sf,
			DWARF_X86_RBX, 0x70, DW_CFA_offset_extended_sf, DWARF_X86_RBP, 0x71,
			DW_CFA_offset_extended_sf, DWARF_X86_RSP, 0x6c, DW_CFA_offset_extended_sf,
			DWARF_X86_RIP, 0x6a);
	/* libgcc's __morestack */
	ASSERT_ONE_RULE(fixture, "cfa=fp+24 ra=cfa-8 fp=cfa-24 other stack", DW_CFA_def_cfa,
			DWARF_X86_RBP, 24, DW_CFA_offset | DWARF_X86_RBP, 3);
}

static void a_cfa_behind_an_array_has_a_rule(void **state)
{
	struct fixture *fixture = *state;

	ASSERT_ONE_RULE(fixture, "cfa=*(sp+8+8*r9)+8 ra=cfa-8 fp=same", DW_CFA_def_cfa_expression,
			10, RSP, 8, DW_OP_breg0 + 9, 0, DW_OP_lit0 + 8, DW_OP_mul, DW_OP_plus,
			DW_OP_deref, DW_OP_plus_uconst, 8);
	ASSERT_ONE_RULE(fixture, "unsupported", DW_CFA_def_cfa_expression, 7, RSP, 8,
			DW_OP_breg0 + 9, 0, DW_OP_lit0 + 8, DW_OP_mul, DW_OP_plus);
	ASSERT_ONE_RULE(fixture, "unsupported", DW_CFA_def_cfa_expression, 8, RBP, 8,
			DW_OP_breg0 + 9, 0, DW_OP_lit0 + 8, DW_OP_mul, DW_OP_plus, DW_OP_deref);
}

static void rows_that_differ_in_one_number_have_their_own_rules(void **state)
{
	struct fixture *fixture = *state;

	PUT_FDE(&fixture->bytes, TEXT_ADDRESS, 16, DW_CFA_advance_loc | 1, DW_CFA_offset | 6, 2,
		DW_CFA_advance_loc | 1, DW_CFA_offset | 6, 3, DW_CFA_advance_loc | 1,
		DW_CFA_offset | 16, 4, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_register, 6,
		DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 24, DW_CFA_advance_loc | 1,
		DW_CFA_offset | 6, 0, DW_CFA_advance_loc | 1, DW_CFA_restore | 6);
	assert_extracts(fixture);
	assert_rule(fixture, 0, "cfa=sp+8 ra=cfa-8 fp=same");
	assert_rule(fixture, 1, "cfa=sp+8 ra=cfa-8 fp=cfa-16");
	assert_rule(fixture, 2, "cfa=sp+8 ra=cfa-8 fp=cfa-24");
	assert_rule(fixture, 3, "cfa=sp+8 ra=cfa-32 fp=cfa-24");
	assert_rule(fixture, 4, "cfa=fp+8 ra=cfa-32 fp=cfa-24");
	assert_rule(fixture, 5, "cfa=fp+24 ra=cfa-32 fp=cfa-24");
	assert_rule(fixture, 6, "cfa=fp+24 ra=cfa-32 fp=cfa+0");
	assert_rule(fixture, 7, "cfa=fp+24 ra=cfa-32 fp=same");
}

static void what_cannot_be_expressed_is_counted(void **state)
{
	struct fixture *fixture = *state;
	const uint32_t *problems = fixture->statistics.problems;

	ASSERT_ONE_RULE(fixture, "unsupported", DW_CFA_def_cfa_expression, 2, DW_OP_lit0,
			DW_OP_deref);
	assert_int_equal(problems[DELTA_PROBLEM_CFA_EXPRESSION], 1);
	ASSERT_ONE_RULE(fixture, "unsupported", DW_CFA_def_cfa_offset, 0x80, 0x80, 0x80, 0x80, 8);
	assert_int_equal(problems[DELTA_PROBLEM_CFA_RANGE], 1);
	ASSERT_ONE_RULE(fixture, "unsupported", DW_CFA_offset_extended, DWARF_X86_RIP, 0x82, 0x20);
	assert_int_equal(problems[DELTA_PROBLEM_RETURN_ADDRESS], 1);
	ASSERT_ONE_RULE(fixture, "cfa=sp+8 ra=cfa-32768 fp=same", DW_CFA_offset_extended,
			DWARF_X86_RIP, 0x80, 0x20);
	ASSERT_ONE_RULE(fixture, "unsupported", DW_CFA_same_value, DWARF_X86_RIP);
	assert_int_equal(problems[DELTA_PROBLEM_RETURN_ADDRESS], 1);
	ASSERT_ONE_RULE(fixture, "unsupported", DW_CFA_register, DWARF_X86_RSP, 8);
	assert_int_equal(problems[DELTA_PROBLEM_STACK_POINTER], 1);
	ASSERT_ONE_RULE(fixture, "cfa=sp+8 ra=cfa-8 fp=undefined", DW_CFA_val_offset, DWARF_X86_RBP,
			1);
	assert_int_equal(problems[DELTA_PROBLEM_FRAME_POINTER], 1);
	ASSERT_ONE_RULE(fixture, "cfa=sp+8 ra=cfa-8 fp=same", DW_CFA_val_offset, DWARF_X86_RSP, 0);
}

static void a_bad_fde_costs_that_fde(void **state)
{
	struct fixture *fixture = *state;

	PUT_FDE(&fixture->bytes, TEXT_ADDRESS, 16, DW_CFA_nop);
	PUT_FDE(&fixture->bytes, TEXT_ADDRESS + 16, 0x300, DW_CFA_advance_loc2, 0, 2,
		DW_CFA_def_cfa_offset, 16, DW_CFA_advance_loc | 1, 0x3f);
	PUT_FDE(&fixture->bytes, TEXT_ADDRESS + 0x400, 16, DW_CFA_def_cfa_offset, 24);
	assert_extracts(fixture);
	assert_rule(fixture, 15, "cfa=sp+8 ra=cfa-8 fp=same");
	assert_rule(fixture, 16, "unsupported");
	assert_rule(fixture, 0x30f, "unsupported");
	assert_rule(fixture, 0x310, "none");
	assert_rule(fixture, 0x400, "cfa=sp+24 ra=cfa-8 fp=same");
	assert_int_equal(fixture->statistics.problems[DELTA_PROBLEM_BAD_FDE], 1);
}

static void a_bad_cie_costs_its_fdes(void **state)
{
	struct fixture *fixture = *state;

	PUT_FDE(&fixture->bytes, TEXT_ADDRESS, 16, DW_CFA_nop);
	begin_cie(&fixture->bytes, "zRX", DWARF_X86_RIP);
	PUT(&fixture->bytes, 1, 0x1b);
	end_entry(&fixture->bytes);
	PUT_FDE(&fixture->bytes, TEXT_ADDRESS + 16, 16, DW_CFA_nop);
	PUT_FDE(&fixture->bytes, TEXT_ADDRESS + 32, 16, DW_CFA_nop);
	fixture->bytes.cie = 0;
	PUT_FDE(&fixture->bytes, TEXT_ADDRESS + 64, 16, DW_CFA_nop);
	/* An FDE whose CIE is an FDE. */
	fixture->bytes.cie = fixture->bytes.entry;
	PUT_FDE(&fixture->bytes, TEXT_ADDRESS + 80, 16, DW_CFA_nop);
	assert_extracts(fixture);
	assert_rule(fixture, 0, "cfa=sp+8 ra=cfa-8 fp=same");
	assert_rule(fixture, 16, "none");
	assert_rule(fixture, 64, "cfa=sp+8 ra=cfa-8 fp=same");
	assert_int_equal(fixture->statistics.problems[DELTA_PROBLEM_BAD_CIE], 2);
	assert_int_equal(fixture->statistics.problems[DELTA_PROBLEM_BAD_FDE], 3);
}

static void only_executable_segments_count(void **state)
{
	struct fixture *fixture = *state;

	fixture->input.segments[0].end = TEXT_ADDRESS + 0x100;
	fixture->input.segments[1] =
		(struct unwind_segment){ TEXT_ADDRESS + 0x1000, TEXT_ADDRESS + 0x2000 };
	fixture->input.segment_count = 2;
	PUT_FDE(&fixture->bytes, 0, 16, DW_CFA_nop);
	PUT_FDE(&fixture->bytes, TEXT_ADDRESS + 0xf0, 0x200, DW_CFA_nop);
	PUT_FDE(&fixture->bytes, TEXT_ADDRESS + 0x800, 16, DW_CFA_nop);
	PUT_FDE(&fixture->bytes, TEXT_ADDRESS + 0x1ff0, 16, DW_CFA_nop);
	PUT_FDE(&fixture->bytes, TEXT_ADDRESS + 0x1000, 0, DW_CFA_nop);
	assert_extracts(fixture);
	assert_rule(fixture, 0xff, "cfa=sp+8 ra=cfa-8 fp=same");
	assert_rule(fixture, 0x100, "none");
	assert_rule(fixture, 0x800, "none");
	assert_rule(fixture, 0x1000, "none");
	assert_rule(fixture, 0x1fff, "cfa=sp+8 ra=cfa-8 fp=same");
	assert_int_equal(fixture->statistics.problems[DELTA_PROBLEM_OUTSIDE], 2);
	assert_int_equal(fixture->statistics.empty_fde_count, 1);
	assert_null(stack_deltas_lookup(&fixture->deltas, TEXT_ADDRESS + 0x2000));
}

static void no_function_is_enoent_and_text_beyond_a_gib_is_left_out(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(extract(fixture), -ENOENT);
	PUT_FDE(&fixture->bytes, 0x20, 16, DW_CFA_nop);
	assert_int_equal(extract(fixture), -ENOENT);
	fixture->input.segments[0].end = TEXT_ADDRESS + (2ULL << 30);
	PUT_FDE(&fixture->bytes, TEXT_ADDRESS, 16, DW_CFA_nop);
	PUT_FDE(&fixture->bytes, TEXT_ADDRESS + 0x40000000, 0x1000, DW_CFA_nop);
	assert_extracts(fixture);
	assert_rule(fixture, 0, "cfa=sp+8 ra=cfa-8 fp=same");
	assert_rule(fixture, 0x3fffffff, "none");
	assert_null(stack_deltas_lookup(&fixture->deltas, TEXT_ADDRESS + 0x40000000));
	assert_int_equal(fixture->statistics.problems[DELTA_PROBLEM_OUTSIDE], 2);
	PUT_FDE(&fixture->bytes, TEXT_ADDRESS + 0x3ffffff0, 0x100, DW_CFA_nop);
	assert_extracts(fixture);
	assert_rule(fixture, 0x3fffffff, "cfa=sp+8 ra=cfa-8 fp=same");
	assert_null(stack_deltas_lookup(&fixture->deltas, TEXT_ADDRESS + 0x40000000));
}

static void more_rules_than_fit_are_unsupported(void **state)
{
	struct fixture *fixture = *state;
	struct eh_frame_bytes *bytes = &fixture->bytes;
	/* Registers 3 to 15, and offsets: 5 bytes a rule. */
	size_t rule_count = UNWIND_MAX_RULES + 100;
	uint8_t *section = malloc(bytes->size + 64 + rule_count * 6);
	size_t size = bytes->size;
	uint32_t length;

	begin_fde(bytes, TEXT_ADDRESS, rule_count);
	memcpy(section, bytes->bytes, bytes->size);
	size = bytes->size;
	for (size_t i = 0; i < rule_count; i++) {
		const uint8_t row[] = { DW_CFA_def_cfa,		3,	 0x80 | (i & 0x7f),
					0x80 | (i >> 7 & 0x7f), i >> 14, DW_CFA_advance_loc | 1 };

		memcpy(section + size, row, sizeof(row));
		size += sizeof(row);
	}
	length = size - bytes->entry - ENTRY_HEADER_BYTES;
	memcpy(section + bytes->entry, &length, sizeof(length));
	fixture->input.eh_frame = section;
	fixture->input.eh_frame_bytes = size;
	assert_int_equal(
		extract_deltas(&fixture->input, NULL, &fixture->deltas, &fixture->statistics), 0);
	free(section);
	assert_int_equal(stack_deltas_check(&fixture->deltas), 0);
	assert_int_equal(fixture->deltas.rule_count, UNWIND_MAX_RULES);
	/* Two rules are always there. */
	assert_int_equal(fixture->statistics.problems[DELTA_PROBLEM_TOO_MANY_RULES], 102);
	assert_rule(fixture, 1000, "cfa=r3+1000 ra=cfa-8 fp=same");
	assert_rule(fixture, UNWIND_MAX_RULES + 50, "unsupported");
}

static void arm64_has_its_own_registers(void **state)
{
	struct fixture *fixture = *state;
	struct eh_frame_bytes *bytes = &fixture->bytes;

	fixture->input.machine = EM_AARCH64;
	bytes->size = 0;
	begin_cie(bytes, "zR", DWARF_ARM64_LR);
	PUT(bytes, 1, 0x1b, DW_CFA_def_cfa, DWARF_ARM64_SP, 0);
	end_entry(bytes);
	PUT_FDE(bytes, TEXT_ADDRESS, 64, DW_CFA_AARCH64_negate_ra_state, DW_CFA_advance_loc | 4,
		DW_CFA_def_cfa_offset, 32, DW_CFA_offset | DWARF_ARM64_FP, 4,
		DW_CFA_offset | DWARF_ARM64_LR, 3, DW_CFA_advance_loc | 4, DW_CFA_def_cfa_register,
		DWARF_ARM64_FP);
	PUT_FDE(bytes, TEXT_ADDRESS + 64, 16, DW_CFA_undefined, DWARF_ARM64_LR);
	begin_cie(bytes, "zRS", DWARF_ARM64_LR);
	PUT(bytes, 1, 0x1b, DW_CFA_def_cfa, DWARF_ARM64_FP, 0);
	end_entry(bytes);
	PUT_FDE(bytes, TEXT_ADDRESS + 80, 16, DW_CFA_offset | DWARF_ARM64_LR, 1);
	/* Saved registers that are out of reach of the CFA's offsets. */
	begin_cie(bytes, "zR", DWARF_ARM64_LR);
	PUT(bytes, 1, 0x1b, DW_CFA_def_cfa, DWARF_ARM64_SP, 0);
	end_entry(bytes);
	PUT_FDE(bytes, TEXT_ADDRESS + 96, 16, DW_CFA_def_cfa_offset, 0xc0, 0xb8, 2,
		DW_CFA_offset | DWARF_ARM64_FP, 0x88, 0x27, DW_CFA_offset | DWARF_ARM64_LR, 0x87,
		0x27);
	assert_extracts(fixture);
	assert_rule(fixture, 0, "cfa=sp+0 ra=lr fp=same");
	assert_rule(fixture, 4, "cfa=sp+32 ra=cfa-24 fp=cfa-32");
	assert_rule(fixture, 8, "cfa=fp+32 ra=cfa-24 fp=cfa-32");
	assert_rule(fixture, 64, "end");
	assert_rule(fixture, 80, "signal");
	assert_rule(fixture, 96, "cfa=sp+40000 ra=*(sp+8) fp=*(sp+0)");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_prologue_gives_a_row_per_step),
		TEST(offsets_of_all_sizes_change_alone),
		TEST(gaps_hold_nothing_and_neighbours_are_joined),
		TEST(an_entry_point_without_fde_is_the_outermost_frame),
		TEST(plt_stubs_without_fde_have_the_rule_of_stubs),
		TEST(functions_out_of_order_are_sorted),
		TEST(of_overlapping_functions_the_later_start_holds),
		TEST(expressions_become_rules),
		TEST(rbx_is_followed_to_slots_below_the_cfa),
		TEST(outermost_and_signal_frames_are_told),
		TEST(a_return_address_in_a_register_is_followed),
		TEST(code_that_switches_stacks_has_rules),
		TEST(a_cfa_behind_an_array_has_a_rule),
		TEST(rows_that_differ_in_one_number_have_their_own_rules),
		TEST(what_cannot_be_expressed_is_counted),
		TEST(a_bad_fde_costs_that_fde),
		TEST(a_bad_cie_costs_its_fdes),
		TEST(only_executable_segments_count),
		TEST(no_function_is_enoent_and_text_beyond_a_gib_is_left_out),
		TEST(more_rules_than_fit_are_unsupported),
		TEST(arm64_has_its_own_registers),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
