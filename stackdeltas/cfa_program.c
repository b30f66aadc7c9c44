/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DW_CFA instructions. Each consumes at least one byte and does bounded work, so a program takes
 * time linear in its length. Arithmetic on values of the file wraps or is checked, and is never undefined.
 */
#include "stackdeltas/cfa_program.h"

#include <errno.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/elf/dwarf_constants.h"
#include "stackdeltas/eh_pointer.h"

enum {
	OPERAND_MASK = 0x3f,
};

/* Returns the value that is tracked for register @number, or NULL. */
static inline struct cfa_value *followed_value(struct cfa_program *program, uint64_t number)
{
	const struct cfa_registers *registers = &program->defaults->registers;

	if (number == registers->return_address)
		return &program->state.return_address;
	if (number == registers->frame_pointer)
		return &program->state.frame_pointer;
	if (number == registers->stack_pointer)
		return &program->state.stack_pointer;
	if (number == registers->rbx)
		return &program->state.rbx;
	return NULL;
}

static inline void set_value(struct cfa_program *program, uint64_t number, struct cfa_value value)
{
	struct cfa_value *followed = followed_value(program, number);

	if (followed)
		*followed = value;
}

static struct cfa_value offset_value(const struct cfa_program *program, uint8_t kind,
				     int64_t factored)
{
	struct cfa_value value = { .kind = kind };

	if (__builtin_mul_overflow(factored, program->defaults->data_alignment, &value.offset))
		return (struct cfa_value){ .kind = CFA_VALUE_OUT_OF_RANGE };
	return value;
}

/* An unsigned operand that is used as a signed number. */
static inline int64_t read_unsigned_offset(struct byte_reader *reader)
{
	uint64_t offset = byte_reader_uleb128(reader);

	return offset > INT64_MAX ? INT64_MAX : (int64_t)offset;
}

static struct cfa_value read_expression(struct cfa_program *program, uint8_t kind)
{
	uint64_t bytes = byte_reader_uleb128(&program->reader);
	struct cfa_value value = { .kind = kind };

	value.expression.start = byte_reader_offset(&program->reader);
	value.expression.bytes = bytes;
	byte_reader_skip(&program->reader, bytes);
	return value;
}

/* Reads a register number; one that no machine has becomes another number that no machine has. */
static uint32_t read_register(struct cfa_program *program)
{
	uint64_t number = byte_reader_uleb128(&program->reader);

	return number > UINT32_MAX ? UINT32_MAX : number;
}

static void restore_register(struct cfa_program *program, uint64_t number)
{
	struct cfa_value *followed = followed_value(program, number);

	if (!followed)
		return;
	/* The same value in the initial state. */
	*followed = *(const struct cfa_value *)((const char *)&program->defaults->initial +
						((char *)followed - (char *)&program->state));
}

static int remember_state(struct cfa_program *program)
{
	if (program->remembered_count == CFA_PROGRAM_MAX_REMEMBERED)
		return fail(-EBADMSG, "more than %d states remembered", CFA_PROGRAM_MAX_REMEMBERED);
	if (program->remembered_count >= CFA_PROGRAM_NEAR_REMEMBERED &&
	    cfa_state_vector_push(&program->far_remembered, program->state))
		return fail(-ENOMEM, "no memory for %u states", program->remembered_count);
	if (program->remembered_count < CFA_PROGRAM_NEAR_REMEMBERED)
		program->near_remembered[program->remembered_count] = program->state;
	program->remembered_count++;
	return 0;
}

static int restore_state(struct cfa_program *program)
{
	struct cfa_state_vector *far = &program->far_remembered;

	if (!program->remembered_count)
		return fail(-EBADMSG, "no state remembered");
	program->remembered_count--;
	program->state = far->count ? far->items[--far->count] :
				      program->near_remembered[program->remembered_count];
	return 0;
}

/* Changes the offset or the register of the CFA. After an expression only a new register is valid. */
static int change_cfa(struct cfa_program *program, uint8_t opcode)
{
	struct cfa_value value = program->state.cfa;

	if (value.kind == CFA_VALUE_EXPRESSION && opcode == DW_CFA_def_cfa_register)
		value = (struct cfa_value){ .kind = CFA_VALUE_REGISTER,
					    .offset = program->state.last_offset };
	if (value.kind != CFA_VALUE_REGISTER && value.kind != CFA_VALUE_OUT_OF_RANGE)
		return fail(-EBADMSG, "a change to a CFA that is not register and offset");
	if (opcode == DW_CFA_def_cfa_register) {
		value.number = read_register(program);
	} else if (opcode == DW_CFA_def_cfa_offset) {
		value.kind = CFA_VALUE_REGISTER;
		value.offset = read_unsigned_offset(&program->reader);
	} else {
		uint32_t number = value.number;

		value = offset_value(program, CFA_VALUE_REGISTER,
				     byte_reader_sleb128(&program->reader));
		value.number = number;
	}
	program->state.cfa = value;
	return 0;
}

static int advance(struct cfa_program *program, uint64_t factored)
{
	uint64_t distance;

	if (__builtin_mul_overflow(factored, program->defaults->code_alignment, &distance) ||
	    __builtin_add_overflow(program->location, distance, &program->location))
		program->location = UINT64_MAX;
	return 0;
}

static int set_location(struct cfa_program *program)
{
	uint64_t location = eh_pointer_read(&program->reader, program->defaults->pointer_encoding,
					    program->defaults->section_address, 0);

	if (location < program->location)
		return fail(-EBADMSG, "DW_CFA_set_loc goes back");
	program->location = location;
	return 0;
}

/* Runs an instruction whose opcode fills the byte. */
static int run_extended(struct cfa_program *program, uint8_t opcode)
{
	struct byte_reader *reader = &program->reader;
	struct cfa_value value;
	uint64_t number;

	switch (opcode) {
	case DW_CFA_nop:
		return 0;
	case DW_CFA_set_loc:
		return set_location(program);
	case DW_CFA_advance_loc1:
		return advance(program, byte_reader_u8(reader));
	case DW_CFA_advance_loc2:
		return advance(program, byte_reader_u16(reader));
	case DW_CFA_advance_loc4:
		return advance(program, byte_reader_u32(reader));
	case DW_CFA_MIPS_advance_loc8:
		return advance(program, byte_reader_u64(reader));
	case DW_CFA_def_cfa:
		value = (struct cfa_value){ .kind = CFA_VALUE_REGISTER };
		value.number = read_register(program);
		value.offset = read_unsigned_offset(&program->reader);
		program->state.cfa = value;
		return 0;
	case DW_CFA_def_cfa_sf:
		number = read_register(program);
		value = offset_value(program, CFA_VALUE_REGISTER, byte_reader_sleb128(reader));
		value.number = number;
		program->state.cfa = value;
		return 0;
	case DW_CFA_def_cfa_register:
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
		return change_cfa(program, opcode);
	case DW_CFA_def_cfa_expression:
		if (program->state.cfa.kind == CFA_VALUE_REGISTER)
			program->state.last_offset = program->state.cfa.offset;
		program->state.cfa = read_expression(program, CFA_VALUE_EXPRESSION);
		return 0;
	case DW_CFA_remember_state:
		return remember_state(program);
	case DW_CFA_restore_state:
		return restore_state(program);
	case DW_CFA_restore_extended:
		restore_register(program, byte_reader_uleb128(reader));
		return 0;
	case DW_CFA_GNU_args_size:
		byte_reader_uleb128(reader);
		return 0;
	case DW_CFA_AARCH64_negate_ra_state_with_pc:
	case DW_CFA_AARCH64_negate_ra_state:
		/* The kernel side removes the signature of every return address. */
		if (program->defaults->registers.is_aarch64)
			return 0;
		return fail(-EBADMSG, "CFA instruction %#x of another machine", opcode);
	default:
		break;
	}

	/* All other opcodes set the rule of a register. */
	number = byte_reader_uleb128(reader);
	switch (opcode) {
	case DW_CFA_offset_extended:
		value = offset_value(program, CFA_VALUE_AT_CFA,
				     read_unsigned_offset(&program->reader));
		break;
	case DW_CFA_offset_extended_sf:
		value = offset_value(program, CFA_VALUE_AT_CFA, byte_reader_sleb128(reader));
		break;
	case DW_CFA_GNU_negative_offset_extended:
		value = offset_value(program, CFA_VALUE_AT_CFA,
				     -read_unsigned_offset(&program->reader));
		break;
	case DW_CFA_val_offset:
		value = offset_value(program, CFA_VALUE_IS_CFA,
				     read_unsigned_offset(&program->reader));
		break;
	case DW_CFA_val_offset_sf:
		value = offset_value(program, CFA_VALUE_IS_CFA, byte_reader_sleb128(reader));
		break;
	case DW_CFA_undefined:
		value = (struct cfa_value){ .kind = CFA_VALUE_UNDEFINED };
		break;
	case DW_CFA_same_value:
		value = (struct cfa_value){ .kind = CFA_VALUE_SAME };
		break;
	case DW_CFA_register:
		value = (struct cfa_value){ .kind = CFA_VALUE_REGISTER };
		value.number = read_register(program);
		break;
	case DW_CFA_expression:
		value = read_expression(program, CFA_VALUE_EXPRESSION);
		break;
	case DW_CFA_val_expression:
		value = read_expression(program, CFA_VALUE_IS_EXPRESSION);
		break;
	default:
		return fail(-EBADMSG, "CFA instruction %#x is not known", opcode);
	}
	set_value(program, number, value);
	return 0;
}

static int run_instruction(struct cfa_program *program)
{
	uint8_t byte = byte_reader_u8(&program->reader);
	uint8_t operand = byte & OPERAND_MASK;
	int64_t offset;

	switch (byte & ~OPERAND_MASK) {
	case DW_CFA_advance_loc:
		return advance(program, operand);
	case DW_CFA_offset:
		offset = read_unsigned_offset(&program->reader);
		set_value(program, operand, offset_value(program, CFA_VALUE_AT_CFA, offset));
		return 0;
	case DW_CFA_restore:
		restore_register(program, operand);
		return 0;
	default:
		return run_extended(program, byte);
	}
}

void cfa_program_init(struct cfa_program *program, const struct cfa_defaults *defaults,
		      const uint8_t *section, size_t start, size_t end, uint64_t address,
		      uint64_t address_end)
{
	program->defaults = defaults;
	byte_reader_init(&program->reader, section, end);
	byte_reader_seek(&program->reader, start);
	program->state = defaults->initial;
	program->location = address;
	program->end = address_end;
	program->is_finished = address >= address_end;
	program->remembered_count = 0;
	memset(&program->far_remembered, 0, sizeof(program->far_remembered));
}

int cfa_program_next(struct cfa_program *program)
{
	if (program->is_finished)
		return 0;
	program->row_start = program->location;
	while (program->location == program->row_start) {
		int error;

		if (!byte_reader_left(&program->reader)) {
			program->is_finished = true;
			break;
		}
		error = run_instruction(program);
		if (error)
			return error;
		if (byte_reader_failed(&program->reader))
			return fail(-EBADMSG, "CFA program cut");
	}
	if (program->location >= program->end)
		program->is_finished = true;
	return 1;
}

int cfa_program_run_initial(const uint8_t *section, size_t start, size_t end,
			    struct cfa_defaults *defaults)
{
	struct cfa_program program;
	int found;

	memset(&defaults->initial, 0, sizeof(defaults->initial));
	cfa_program_init(&program, defaults, section, start, end, 0, UINT64_MAX);
	found = cfa_program_next(&program);
	cfa_program_deinit(&program);
	if (found < 0)
		return found;
	if (!program.is_finished)
		return fail(-EBADMSG, "initial instructions that advance");
	defaults->initial = program.state;
	return 0;
}
