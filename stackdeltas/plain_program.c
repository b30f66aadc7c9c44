/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One loop over the instructions that nearly all programs consist of. Bytes are hostile: no instruction
 * reads more than INSTRUCTION_MAX_BYTES, which are in the section, and an instruction that extends
 * beyond its program is detected right behind it.
 *
 * A packed row, from the highest bit on: a one, the CFA's register (7), the slots of return address (12),
 * frame pointer (12) and rbx (8), and the CFA's offset (24). Slot n is at CFA - 8n; 0: unchanged.
 */
#include "stackdeltas/plain_program.h"

#include <elf.h>
#include <string.h>

#include "lib/elf/dwarf_constants.h"

enum {
	OFFSET_BITS = 24,
	OFFSET_MAX = (1 << OFFSET_BITS) - 1,
	RBX_SHIFT = OFFSET_BITS,
	RBX_BITS = 8,
	FP_SHIFT = RBX_SHIFT + RBX_BITS,
	FP_BITS = 12,
	RA_SHIFT = FP_SHIFT + FP_BITS,
	RA_BITS = 12,
	REGISTER_SHIFT = RA_SHIFT + RA_BITS,
	REGISTER_BITS = 7,
	SLOT_BYTES = 8,
	/* Flag of all bytes of a number but the last. */
	NUMBER_GOES_ON = 0x80,
	OPERAND_MASK = 0x3f,
	/* DW_CFA_def_cfa with two numbers of three bytes each. */
	INSTRUCTION_MAX_BYTES = 8,
	/* Compilers need 1 to 4. */
	CODE_ALIGNMENT_MAX = 255,
	REMEMBERED_MAX = 8,
};

static uint64_t field_mask(int shift, int bits)
{
	return ((1ULL << bits) - 1) << shift;
}

static void follow(struct plain_programs *programs, uint32_t number, int shift, int bits)
{
	programs->slot_masks[number] = field_mask(shift, bits);
	programs->slot_shifts[number] = shift;
}

void plain_programs_init(struct plain_programs *programs, struct delta_builder *builder,
			 uint16_t machine)
{
	memset(programs, 0, sizeof(*programs));
	programs->builder = builder;
	programs->machine = machine;
	if (machine == EM_X86_64) {
		follow(programs, DWARF_X86_RIP, RA_SHIFT, RA_BITS);
		follow(programs, DWARF_X86_RBP, FP_SHIFT, FP_BITS);
		follow(programs, DWARF_X86_RBX, RBX_SHIFT, RBX_BITS);
	} else {
		follow(programs, DWARF_ARM64_LR, RA_SHIFT, RA_BITS);
		follow(programs, DWARF_ARM64_FP, FP_SHIFT, FP_BITS);
	}
}

/* --- rows --- */

/* Adds the slot of @value to @row; false if it has none. */
static bool pack_slot(const struct cfa_value *value, int shift, int bits, uint64_t *row)
{
	uint64_t slot;

	if (value->kind == CFA_VALUE_UNSPECIFIED)
		return true;
	slot = (uint64_t)-value->offset / SLOT_BYTES;
	if (value->kind != CFA_VALUE_AT_CFA || value->offset % SLOT_BYTES || !slot || slot >> bits)
		return false;
	*row |= slot << shift;
	return true;
}

/* The highest bit is always set, so that a packed row is never 0. */
static inline uint64_t pack_cfa(uint64_t number, uint64_t offset)
{
	return 1ULL << (REGISTER_SHIFT + REGISTER_BITS) | number << REGISTER_SHIFT | offset;
}

/* Packs a row; 0 if it is not plain. */
static uint64_t pack_row(const struct cfa_state *state)
{
	uint64_t row = pack_cfa(state->cfa.number, state->cfa.offset);

	if (state->cfa.kind != CFA_VALUE_REGISTER || state->cfa.number >> REGISTER_BITS ||
	    (uint64_t)state->cfa.offset > OFFSET_MAX ||
	    state->stack_pointer.kind != CFA_VALUE_UNSPECIFIED ||
	    !pack_slot(&state->return_address, RA_SHIFT, RA_BITS, &row) ||
	    !pack_slot(&state->frame_pointer, FP_SHIFT, FP_BITS, &row) ||
	    !pack_slot(&state->rbx, RBX_SHIFT, RBX_BITS, &row))
		return 0;
	return row;
}

static struct cfa_value unpack_slot(uint64_t row, int shift, int bits)
{
	int64_t slot = (row & field_mask(shift, bits)) >> shift;

	return (struct cfa_value){ .kind = slot ? CFA_VALUE_AT_CFA : CFA_VALUE_UNSPECIFIED,
				   .offset = -SLOT_BYTES * slot };
}

/* Finds the id of the rule for @row and caches it. Returns as plain_programs_run(). */
static int learn_rule(struct plain_programs *programs, uint64_t row, uint32_t slot)
{
	/* There are no expressions, and signal frames take the slow path. */
	const struct cfa_rule_context context = { .machine = programs->machine };
	const struct cfa_state state = {
		.cfa = { .kind = CFA_VALUE_REGISTER,
			 .number = row >> REGISTER_SHIFT & ((1 << REGISTER_BITS) - 1),
			 .offset = row & OFFSET_MAX },
		.return_address = unpack_slot(row, RA_SHIFT, RA_BITS),
		.frame_pointer = unpack_slot(row, FP_SHIFT, FP_BITS),
		.rbx = unpack_slot(row, RBX_SHIFT, RBX_BITS),
	};
	struct unwind_rule rule;
	uint32_t id;
	int error;

	if (cfa_rule_make(&context, &state, &rule))
		return 0;
	error = delta_builder_intern(programs->builder, &rule, &id);
	if (error)
		return error;
	if (id == DELTA_RULE_UNSUPPORTED)
		return 0;
	programs->rows[slot] = row;
	programs->rule_ids[slot] = id;
	return 1;
}

static inline __attribute__((always_inline)) int add_row(struct plain_programs *programs,
							 uint64_t distance, uint64_t row)
{
	/* The highest bits of a product depend on most bits of the factor. */
	uint32_t slot = (row ^ row >> 32) * 0x9e3779b97f4a7c15ULL >> (64 - PLAIN_RULE_SHIFT);
	int result;

	if (programs->rows[slot] != row) {
		result = learn_rule(programs, row, slot);
		if (result <= 0)
			return result;
	}
	result = delta_builder_add_at(programs->builder, distance, programs->rule_ids[slot]);
	return result ? result : 1;
}

/* --- instructions --- */

/* Reads a number of at most three bytes; a longer one becomes larger than any plain one. */
static inline uint32_t read_number(const uint8_t **bytes)
{
	const uint8_t *at = *bytes;
	uint32_t number = *at++;

	if (number >= NUMBER_GOES_ON) {
		number = (number & 0x7f) | (uint32_t)(*at & 0x7f) << 7;
		if (*at++ >= NUMBER_GOES_ON) {
			number |= (uint32_t)(*at & 0x7f) << 14;
			if (*at++ >= NUMBER_GOES_ON)
				number = UINT32_MAX;
		}
	}
	*bytes = at;
	return number;
}

static uint32_t read_little_endian(const uint8_t *bytes, int count)
{
	uint32_t value = 0;

	while (count--)
		value = value << 8 | bytes[count];
	return value;
}

static void set_defaults(struct plain_programs *programs, const struct cfa_defaults *defaults)
{
	const struct cfa_registers *registers = &defaults->registers;
	bool is_x86 = programs->machine == EM_X86_64;

	programs->defaults = defaults;
	programs->initial_row = 0;
	if (registers->return_address == (is_x86 ? DWARF_X86_RIP : DWARF_ARM64_LR) &&
	    defaults->code_alignment <= CODE_ALIGNMENT_MAX &&
	    defaults->data_alignment == -SLOT_BYTES)
		programs->initial_row = pack_row(&defaults->initial);
}

int plain_programs_run(struct plain_programs *programs, const struct cfa_defaults *defaults,
		       const struct eh_frame *section, size_t start, size_t end, uint64_t distance,
		       uint64_t distance_end)
{
	const uint8_t *at = section->bytes + start, *bytes_end = section->bytes + end;
	uint64_t remembered[REMEMBERED_MAX], row, last_row = 0;
	uint32_t remembered_count = 0, stack_pointer, number;
	int result;

	if (programs->defaults != defaults)
		set_defaults(programs, defaults);
	row = programs->initial_row;
	stack_pointer = defaults->registers.stack_pointer;
	if (!row || section->size - end < INSTRUCTION_MAX_BYTES || distance >= distance_end)
		return 0;
	/* The tests are in the order of frequency, since the jump of a switch is mispredicted too often. */
	while (at < bytes_end) {
		uint8_t byte = *at++, operand = byte & OPERAND_MASK;
		uint64_t mask;
		uint32_t advance;

		if ((byte & ~OPERAND_MASK) == DW_CFA_advance_loc) {
			advance = operand;
		} else if (byte == DW_CFA_def_cfa_offset) {
			number = read_number(&at);
			if (number > OFFSET_MAX)
				return 0;
			row = (row & ~(uint64_t)OFFSET_MAX) | number;
			continue;
		} else if ((byte & ~OPERAND_MASK) == DW_CFA_offset) {
			number = *at++;
			/* The number must have one byte, and the slot must not be at the CFA itself. */
			if (!number || number >= NUMBER_GOES_ON || operand == stack_pointer)
				return 0;
			mask = programs->slot_masks[operand];
			row = (row & ~mask) |
			      ((uint64_t)number << programs->slot_shifts[operand] & mask);
			continue;
		} else if (byte == DW_CFA_remember_state) {
			if (remembered_count == REMEMBERED_MAX)
				return 0;
			remembered[remembered_count++] = row;
			continue;
		} else if (byte == DW_CFA_restore_state) {
			if (!remembered_count)
				return 0;
			row = remembered[--remembered_count];
			continue;
		} else if (byte == DW_CFA_nop) {
			continue;
		} else if (byte == DW_CFA_advance_loc1) {
			advance = *at++;
		} else if (byte == DW_CFA_def_cfa || byte == DW_CFA_def_cfa_register) {
			number = *at++;
			if (number >= NUMBER_GOES_ON)
				return 0;
			row &= (1ULL << REGISTER_SHIFT) - 1;
			row |= pack_cfa(number, 0);
			if (byte == DW_CFA_def_cfa_register)
				continue;
			number = read_number(&at);
			if (number > OFFSET_MAX)
				return 0;
			row = (row & ~(uint64_t)OFFSET_MAX) | number;
			continue;
		} else if (byte == DW_CFA_advance_loc2) {
			advance = read_little_endian(at, 2);
			at += 2;
		} else if ((byte & ~OPERAND_MASK) == DW_CFA_restore) {
			mask = programs->slot_masks[operand];
			row = (row & ~mask) | (programs->initial_row & mask);
			continue;
		} else if (byte == DW_CFA_advance_loc4) {
			advance = read_little_endian(at, 4);
			at += 4;
		} else if (byte == DW_CFA_AARCH64_negate_ra_state &&
			   defaults->registers.is_aarch64) {
			continue;
		} else {
			return 0;
		}

		if (at > bytes_end)
			return 0;
		if (!advance)
			continue;
		if (row != last_row) {
			result = add_row(programs, distance, row);
			if (result <= 0)
				return result;
			last_row = row;
		}
		distance += advance * defaults->code_alignment;
		if (distance >= distance_end)
			return 1;
	}
	if (at > bytes_end)
		return 0;
	return row == last_row ? 1 : add_row(programs, distance, row);
}
