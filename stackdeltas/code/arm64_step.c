/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions of arm64 (Arm Architecture Reference Manual, C4.1): those that move the stack
 * pointer, save or restore x29 and x30, or end a block. For all others only the general register
 * that they write matters; vector registers are ignored.
 */
#include "stackdeltas/code/arm64_step.h"

#include <elf.h>

#include "lib/base/byte_reader.h"
#include "lib/elf/dwarf_constants.h"
#include "lib/isa/arm64_decode.h"

enum {
	WORD_BYTES = 8,
	/* Limit of constants: larger ones of one instruction are not sizes of frames. */
	MAX_RUN_OF_ONES = (1 << 27) - 1,
	/* The conditions from here on are always true: al, nv. */
	ALWAYS = 14,
};

static const struct code_value unknown = { CODE_UNKNOWN, 0 };

/* Sets a register other than the stack pointer. */
static void set(struct code_state *state, uint8_t number, struct code_value value)
{
	if (number == ARM64_ZERO)
		return;
	if (value.kind == CODE_CALLERS)
		value = unknown;
	code_state_set(state, EM_AARCH64, number, value);
}

static void set_or_sp(struct code_state *state, uint8_t number, struct code_value value)
{
	if (number == DWARF_ARM64_SP)
		code_state_move_sp(state, value);
	else
		set(state, number, value);
}

static struct code_value get(const struct code_state *state, uint8_t number)
{
	return code_state_get(state, EM_AARCH64, number);
}

/* Sets the registers of a bit set to unknown values. */
static void write_all(struct code_state *state, uint32_t registers)
{
	for (uint8_t number = 0; registers; number++, registers >>= 1)
		if (registers & 1)
			set_or_sp(state, number, unknown);
}

/* Loads or stores one register at @slot. */
static void transfer(struct code_state *state, uint8_t number, bool is_load, bool is_whole,
		     struct code_value slot)
{
	if (number == ARM64_ZERO)
		return;
	if (!is_load) {
		if (is_whole)
			code_state_store(state, EM_AARCH64, number, slot);
	} else if (is_whole) {
		code_state_load(state, EM_AARCH64, number, slot);
	} else {
		set(state, number, unknown);
	}
}

/* The address of an access, and the base register after it. */
struct access {
	uint8_t base;
	bool writes_back;
	struct code_value slot;
	struct code_value base_after;
};

static struct access make_access(const struct code_state *state,
				 const struct arm64_instruction *instruction)
{
	struct code_value value = get(state, instruction->rn);
	struct code_value moved = code_value_add(value, instruction->immediate);
	bool is_post_index = instruction->mode == ARM64_POST_INDEX;

	return (struct access){
		.base = instruction->rn,
		.writes_back = is_post_index || instruction->mode == ARM64_PRE_INDEX,
		.slot = is_post_index ? code_value_add(value, 0) : moved,
		.base_after = moved,
	};
}

/* A push moves the stack pointer before its store, since a store to popped words would be lost. */
static void begin_access(struct code_state *state, const struct access *access, bool is_load)
{
	if (access->writes_back && !is_load)
		set_or_sp(state, access->base, access->base_after);
}

static void end_access(struct code_state *state, const struct access *access, bool is_load)
{
	if (access->writes_back && is_load)
		set_or_sp(state, access->base, access->base_after);
}

static void pair(struct code_state *state, const struct arm64_instruction *instruction)
{
	bool is_load = instruction->operation == ARM64_LOAD_PAIR;
	bool is_whole = instruction->bytes == WORD_BYTES;
	struct access access = make_access(state, instruction);

	begin_access(state, &access, is_load);
	if (!instruction->is_vector) {
		transfer(state, instruction->rd, is_load, is_whole, access.slot);
		transfer(state, instruction->second, is_load, is_whole,
			 code_value_add(access.slot, WORD_BYTES));
	}
	end_access(state, &access, is_load);
}

/* Loads and stores of one register. */
static void single(struct code_state *state, const struct arm64_instruction *instruction)
{
	bool is_load = instruction->operation == ARM64_LOAD;
	bool is_whole = instruction->bytes == WORD_BYTES;
	struct access access;

	if (instruction->mode == ARM64_INDEX) {
		write_all(state, instruction->writes);
		return;
	}
	access = make_access(state, instruction);
	begin_access(state, &access, is_load);
	if (!instruction->is_vector)
		transfer(state, instruction->rd, is_load, is_whole, access.slot);
	end_access(state, &access, is_load);
}

static struct code_value sum_of(const struct arm64_instruction *instruction, struct code_value left,
				int64_t right)
{
	return code_value_add(left, instruction->operation == ARM64_SUBTRACT ? -right : right);
}

/* add and sub with an immediate: `mov x29, sp` too */
static void add_immediate(struct code_state *state, const struct arm64_instruction *instruction)
{
	struct code_value sum = unknown;

	if (instruction->bytes == WORD_BYTES)
		sum = sum_of(instruction, get(state, instruction->rn), instruction->immediate);
	if (instruction->sets_flags)
		set(state, instruction->rd, sum);
	else
		set_or_sp(state, instruction->rd, sum);
}

/* add and sub of sp and a register, extended or not; for other operands only the written register matters */
static void add_extended(struct code_state *state, const struct arm64_instruction *instruction)
{
	struct code_value amount = get(state, instruction->rm), sum = unknown;
	uint8_t target = instruction->rd, source = instruction->rn;

	if (instruction->bytes != WORD_BYTES || instruction->sets_flags ||
	    (target != DWARF_ARM64_SP && source != DWARF_ARM64_SP)) {
		set(state, target, unknown);
		return;
	}
	if (amount.kind == CODE_CONSTANT && !instruction->shift)
		sum = sum_of(instruction, get(state, source), amount.offset);
	set_or_sp(state, target, sum);
}

static void add(struct code_state *state, const struct arm64_instruction *instruction)
{
	if (instruction->operand == ARM64_IMMEDIATE)
		add_immediate(state, instruction);
	else if (instruction->operand == ARM64_EXTENDED)
		add_extended(state, instruction);
	else
		set(state, instruction->rd, unknown);
}

/* movz, movk: sizes of large frames */
static void move_wide(struct code_state *state, const struct arm64_instruction *instruction)
{
	struct code_value old = get(state, instruction->rd), value = unknown;
	uint64_t number = instruction->immediate;

	if (instruction->operation == ARM64_MOVK) {
		number |= (uint64_t)(int64_t)old.offset & ~(0xffffULL << instruction->shift);
		if (old.kind != CODE_CONSTANT)
			number = UINT64_MAX;
	}
	if (number <= CODE_MAX_OFFSET)
		value = (struct code_value){ CODE_CONSTANT, number };
	set(state, instruction->rd, value);
}

/* orr with zero is a constant; `and` aligns the stack pointer. */
static void logical_immediate(struct code_state *state, const struct arm64_instruction *instruction)
{
	uint64_t number = instruction->immediate;
	struct code_value value = unknown;

	if (instruction->operation == ARM64_OR && instruction->rn == ARM64_ZERO &&
	    instruction->bytes == WORD_BYTES && number <= MAX_RUN_OF_ONES)
		value = (struct code_value){ CODE_CONSTANT, number };
	if (instruction->sets_flags || instruction->rd != DWARF_ARM64_SP)
		set(state, instruction->rd, value);
	else if (instruction->operation == ARM64_AND)
		code_state_align_sp(state);
	else
		code_state_move_sp(state, value);
}

static void logical(struct code_state *state, const struct arm64_instruction *instruction)
{
	bool is_move = instruction->operation == ARM64_OR && instruction->rn == ARM64_ZERO &&
		       instruction->bytes == WORD_BYTES && !instruction->shift_kind &&
		       !instruction->shift;

	/* The register is never the stack pointer. */
	if (instruction->operand == ARM64_IMMEDIATE)
		logical_immediate(state, instruction);
	else if (is_move && instruction->rm != ARM64_ZERO)
		set(state, instruction->rd, get(state, instruction->rm));
	else
		set(state, instruction->rd, unknown);
}

static void apply(struct code_state *state, const struct arm64_instruction *instruction)
{
	switch (instruction->operation) {
	case ARM64_ADD:
	case ARM64_SUBTRACT:
		add(state, instruction);
		break;
	case ARM64_AND:
	case ARM64_OR:
	case ARM64_XOR:
		logical(state, instruction);
		break;
	case ARM64_MOVZ:
	case ARM64_MOVK:
		move_wide(state, instruction);
		break;
	case ARM64_LOAD:
	case ARM64_STORE:
		single(state, instruction);
		break;
	case ARM64_LOAD_PAIR:
	case ARM64_STORE_PAIR:
		pair(state, instruction);
		break;
	default:
		write_all(state, instruction->writes);
		break;
	}
}

static enum code_step_flow flow_of(const struct arm64_instruction *instruction)
{
	switch (instruction->operation) {
	case ARM64_UNALLOCATED:
		return CODE_FLOW_BAD;
	case ARM64_JUMP:
		return CODE_FLOW_JUMP;
	case ARM64_CALL:
		return CODE_FLOW_CALL;
	case ARM64_BRANCH:
		return instruction->condition >= ALWAYS ? CODE_FLOW_JUMP : CODE_FLOW_BRANCH;
	case ARM64_BRANCH_ZERO:
	case ARM64_BRANCH_BIT:
		return CODE_FLOW_BRANCH;
	case ARM64_JUMP_REGISTER:
		return CODE_FLOW_JUMP_INDIRECT;
	case ARM64_CALL_REGISTER:
		return CODE_FLOW_CALL_INDIRECT;
	/* A ret by another register than x30 is a jump. */
	case ARM64_RETURN:
		return instruction->rn == ARM64_LR ? CODE_FLOW_RETURN : CODE_FLOW_JUMP_INDIRECT;
	case ARM64_SYSCALL:
		return CODE_FLOW_SYSCALL;
	case ARM64_STOP:
		return CODE_FLOW_STOP;
	case ARM64_NOP:
		return CODE_FLOW_NOP;
	default:
		return CODE_FLOW_NEXT;
	}
}

void arm64_step(const uint8_t *bytes, size_t size, struct code_state *state, struct code_step *step)
{
	struct arm64_instruction instruction;
	struct byte_reader reader;
	uint32_t word;

	*step = (struct code_step){ .flow = CODE_FLOW_BAD, .length = 1 };
	byte_reader_init(&reader, bytes, size);
	word = byte_reader_u32(&reader);
	if (byte_reader_failed(&reader))
		return;
	/* At address 0 the target is the distance. */
	arm64_decode(word, 0, &instruction);
	step->length = ARM64_INSTRUCTION_BYTES;
	step->flow = flow_of(&instruction);
	step->target = (int64_t)instruction.target;
	if (state)
		apply(state, &instruction);
}
