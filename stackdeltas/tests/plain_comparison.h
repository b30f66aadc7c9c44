/* SPDX-License-Identifier: Apache-2.0 */
/** Runs one CFA program on both paths: plain_program.h, and cfa_program.h with cfa_rule.h. */
#ifndef STACKDELTAS_TESTS_PLAIN_COMPARISON_H
#define STACKDELTAS_TESTS_PLAIN_COMPARISON_H

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/elf/dwarf_constants.h"
#include "stackdeltas/plain_program.h"

enum plain_comparison {
	/** The fast path stopped. */
	COMPARISON_NOT_PLAIN,
	COMPARISON_EQUAL,
	COMPARISON_DIFFERENT,
};

enum { COMPARISON_START = 0x40, COMPARISON_END = 0x440, COMPARISON_ROOM = 8 };

/** The defaults of CIEs as compilers write them. */
static inline struct cfa_defaults comparison_defaults(uint16_t machine)
{
	bool is_x86 = machine == EM_X86_64;
	struct cfa_defaults defaults = {
		.registers = {
			.return_address = is_x86 ? DWARF_X86_RIP : DWARF_ARM64_LR,
			.frame_pointer = is_x86 ? DWARF_X86_RBP : DWARF_ARM64_FP,
			.stack_pointer = is_x86 ? DWARF_X86_RSP : DWARF_ARM64_SP,
			.rbx = is_x86 ? DWARF_X86_RBX : CFA_NO_REGISTER,
			.is_aarch64 = !is_x86,
		},
		.code_alignment = is_x86 ? 1 : 4,
		.data_alignment = -8,
	};

	defaults.initial.cfa = (struct cfa_value){
		.kind = CFA_VALUE_REGISTER,
		.number = defaults.registers.stack_pointer,
		.offset = is_x86 ? 8 : 0,
	};
	if (is_x86)
		defaults.initial.return_address =
			(struct cfa_value){ .kind = CFA_VALUE_AT_CFA, .offset = -8 };
	return defaults;
}

/* False if the program is bad, or a row of it has a problem. */
static inline bool comparison_run_slowly(struct delta_builder *builder, uint16_t machine,
					 const struct cfa_defaults *defaults,
					 const struct eh_frame *section, size_t count)
{
	const struct cfa_rule_context context = { .section = section->bytes, .machine = machine };
	struct cfa_program program;
	bool is_good = true;
	int found = 0;

	cfa_program_init(&program, defaults, section->bytes, 0, count, COMPARISON_START,
			 COMPARISON_END);
	while (is_good && (found = cfa_program_next(&program)) > 0) {
		struct unwind_rule rule;
		uint32_t number;

		is_good = !cfa_rule_make(&context, &program.state, &rule) &&
			  !delta_builder_intern(builder, &rule, &number) &&
			  !delta_builder_add(builder, program.row_start, number);
	}
	cfa_program_deinit(&program);
	return is_good && found == 0;
}

static inline bool comparison_is_equal(const struct stack_deltas *a, const struct stack_deltas *b)
{
	for (uint64_t address = 0; address < COMPARISON_END; address++)
		if (memcmp(stack_deltas_lookup(a, address), stack_deltas_lookup(b, address),
			   sizeof(struct unwind_rule)) != 0)
			return false;
	return a->row_count == b->row_count;
}

/** Runs the program on both paths. */
static inline enum plain_comparison compare_plain(uint16_t machine, const uint8_t *program,
						  size_t count)
{
	_cleanup_(stack_deltas_deinit) struct stack_deltas quick_deltas = { 0 },
							   slow_deltas = { 0 };
	_cleanup_(delta_builder_deinit) struct delta_builder quick = { 0 }, slow = { 0 };
	const struct cfa_defaults defaults = comparison_defaults(machine);
	/* Exactly the section's size, so that the sanitizer finds a read beyond it. */
	_cleanup_(free_pointer) uint8_t *bytes = malloc(count + COMPARISON_ROOM);
	const struct eh_frame section = { .bytes = bytes, .size = count + COMPARISON_ROOM };
	static struct plain_programs programs;
	bool is_good;

	if (!bytes || delta_builder_init(&quick, 0, COMPARISON_END, 0) ||
	    delta_builder_init(&slow, 0, COMPARISON_END, 0) ||
	    delta_builder_add(&quick, 0, DELTA_RULE_NONE) ||
	    delta_builder_add(&slow, 0, DELTA_RULE_NONE))
		abort();
	memset(bytes, 0xff, count + COMPARISON_ROOM);
	if (count)
		memcpy(bytes, program, count);
	plain_programs_init(&programs, &quick, machine);
	if (!plain_programs_run(&programs, &defaults, &section, 0, count, COMPARISON_START,
				COMPARISON_END))
		return COMPARISON_NOT_PLAIN;
	is_good = comparison_run_slowly(&slow, machine, &defaults, &section, count);
	if (delta_builder_finish(&quick, &quick_deltas) ||
	    delta_builder_finish(&slow, &slow_deltas))
		abort();
	return is_good && comparison_is_equal(&quick_deltas, &slow_deltas) ? COMPARISON_EQUAL :
									     COMPARISON_DIFFERENT;
}

#endif
