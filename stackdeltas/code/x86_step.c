/* SPDX-License-Identifier: Apache-2.0 */
/* The effects of x86-64 instructions on a state. */
#include "stackdeltas/code/x86_step.h"

#include <elf.h>

#include "lib/isa/x86_decode.h"

enum {
	WORD_BYTES = 8,
	REGISTER_COUNT = 16,
};

static const struct code_value unknown = { CODE_UNKNOWN, 0 };

/* DWARF numbers of the hardware's register numbers (x86-64 psABI, figure 3.36). */
static const uint8_t dwarf_numbers[REGISTER_COUNT] = {
	[X86_RAX] = 0,
	[X86_RDX] = 1,
	[X86_RCX] = 2,
	[X86_RBX] = 3,
	[X86_RSI] = 4,
	[X86_RDI] = 5,
	[X86_RBP] = 6,
	[X86_RSP] = 7,
	[8] = 8,
	9,
	10,
	11,
	12,
	13,
	14,
	15,
};

static struct code_value get(const struct code_state *state, uint8_t reg)
{
	if (reg == X86_NO_REGISTER)
		return unknown;
	return code_state_get(state, EM_X86_64, dwarf_numbers[reg]);
}

static void set(struct code_state *state, uint8_t reg, struct code_value value)
{
	/* The copy of a register has the caller's value of another register. */
	if (value.kind == CODE_CALLERS)
		value = unknown;
	code_state_set(state, EM_X86_64, dwarf_numbers[reg], value);
}

static void push(struct code_state *state, uint8_t reg)
{
	struct code_value slot = code_value_add(state->sp, -WORD_BYTES);

	code_state_move_sp(state, slot);
	/* A push of something else than a register overwrites the slot too. rsp is used for it, since it is never saved. */
	code_state_store(state, EM_X86_64, dwarf_numbers[reg == X86_NO_REGISTER ? X86_RSP : reg],
			 slot);
}

static void pop(struct code_state *state, uint8_t reg)
{
	struct code_value slot = state->sp;

	if (reg != X86_NO_REGISTER)
		code_state_load(state, EM_X86_64, dwarf_numbers[reg], slot);
	if (reg != X86_RSP)
		code_state_move_sp(state, code_value_add(slot, WORD_BYTES));
}

static void write_all(struct code_state *state, uint16_t registers)
{
	for (uint8_t reg = 0; registers; reg++, registers >>= 1)
		if (registers & 1)
			set(state, reg, unknown);
}

static void and_immediate(struct code_state *state, uint8_t reg, int64_t mask)
{
	if (reg == X86_RSP && mask < 0)
		code_state_align_sp(state);
	else
		set(state, reg, unknown);
}

static bool compares_sp(const struct code_state *state, const struct x86_instruction *instruction)
{
	uint8_t other = instruction->reg == X86_RSP ? instruction->base : instruction->reg;

	return (instruction->reg == X86_RSP || instruction->base == X86_RSP) && other != X86_RSP &&
	       state->other.kind == CODE_FROM_CFA && dwarf_numbers[other] == state->other_register;
}

static bool is_preserved(uint8_t reg)
{
	return reg == X86_RBX || reg == X86_RBP || (reg >= X86_R12 && reg <= X86_R15);
}

static void apply(const struct x86_instruction *instruction, struct code_state *state,
		  struct code_step *step)
{
	uint8_t reg = instruction->reg, base = instruction->base;

	switch (instruction->kind) {
	case X86_PUSH:
		push(state, reg);
		break;
	case X86_POP:
		pop(state, reg);
		break;
	case X86_MOVE:
		if (reg != base)
			set(state, reg, get(state, base));
		break;
	case X86_ADD:
		set(state, reg, code_value_add(get(state, base), instruction->displacement));
		break;
	case X86_LOAD:
		code_state_load(state, EM_X86_64, dwarf_numbers[reg],
				code_value_add(get(state, base), instruction->displacement));
		break;
	case X86_STORE:
		code_state_store(state, EM_X86_64, dwarf_numbers[reg],
				 code_value_add(get(state, base), instruction->displacement));
		break;
	case X86_AND:
		and_immediate(state, reg, instruction->displacement);
		break;
	case X86_COMPARE:
		step->compares_sp = compares_sp(state, instruction);
		break;
	case X86_LEAVE:
		code_state_move_sp(state, state->fp);
		pop(state, X86_RBP);
		break;
	default:
		write_all(state, instruction->writes);
		break;
	}
}

static enum code_step_flow flow_of(const struct x86_instruction *instruction)
{
	switch (instruction->kind) {
	case X86_NOP:
		return CODE_FLOW_NOP;
	case X86_CALL:
		return CODE_FLOW_CALL;
	case X86_CALL_INDIRECT:
		return CODE_FLOW_CALL_INDIRECT;
	case X86_JUMP:
		return CODE_FLOW_JUMP;
	case X86_JUMP_INDIRECT:
		return CODE_FLOW_JUMP_INDIRECT;
	case X86_BRANCH:
		return CODE_FLOW_BRANCH;
	/* A return that pops arguments: callers expect this of no function. */
	case X86_RETURN:
		return instruction->displacement ? CODE_FLOW_BAD : CODE_FLOW_RETURN;
	case X86_SYSCALL:
		return CODE_FLOW_SYSCALL;
	case X86_STOP:
		return CODE_FLOW_STOP;
	default:
		return CODE_FLOW_NEXT;
	}
}

void x86_step(const uint8_t *bytes, size_t size, struct code_state *state, struct code_step *step)
{
	struct x86_instruction instruction;

	*step = (struct code_step){ .flow = CODE_FLOW_BAD, .length = 1 };
	if (!x86_decode(bytes, size, &instruction))
		return;
	step->flow = flow_of(&instruction);
	step->length = instruction.length;
	step->target = instruction.length + instruction.displacement;
	step->has_slot = instruction.kind == X86_CALL_INDIRECT && instruction.is_pc_relative;
	step->is_not_equal = instruction.is_not_equal;
	step->pushes_preserved = instruction.kind == X86_PUSH && is_preserved(instruction.reg);
	step->stores_sp = instruction.kind == X86_STORE && instruction.reg == X86_RSP;
	if (state)
		apply(&instruction, state, step);
}
