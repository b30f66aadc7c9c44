/* SPDX-License-Identifier: Apache-2.0 */
/* A look ahead from a change of stacks to the return. */
#include "stackdeltas/code/stack_switch.h"

#include <elf.h>
#include <stdbool.h>

#include "lib/isa/x86_decode.h"

enum {
	WORD_BYTES = 8,
	MAX_INSTRUCTIONS = 32,
	MAX_FRAME_BYTES = 4096,
	/* Limits of the distance from an instruction to the code at the end of its function, and of that code. */
	MAX_START_DISTANCE = 256,
	MAX_START_INSTRUCTIONS = 8,
	/* REX.W, opcode, ModRM, displacement */
	LEA_PC_BYTES = 7,
};

/* Where the value is of a register that a callee preserves. */
enum fate { KEPT, LOADED, LOST };

struct saved {
	enum fate fate;
	/* LOADED: relative to the stack pointer behind the change. */
	int64_t offset;
};

struct look_ahead {
	/* Bytes that were removed from the stack. */
	int64_t removed;
	struct saved rbp;
	struct saved rbx;
};

/* Notes that @reg is set: from the stack at @offset if @is_load. */
static void note_write(struct look_ahead *ahead, uint8_t reg, bool is_load, int64_t offset)
{
	struct saved *saved = reg == X86_RBP ? &ahead->rbp : &ahead->rbx;

	if ((reg != X86_RBP && reg != X86_RBX) || saved->fate != KEPT)
		return;
	*saved = (struct saved){ is_load ? LOADED : LOST, offset };
}

/* False if the stack pointer is not known behind @instruction. */
static bool pass(struct look_ahead *ahead, const struct x86_instruction *instruction)
{
	uint8_t reg = instruction->reg, base = instruction->base;
	int64_t distance = instruction->displacement;

	switch (instruction->kind) {
	case X86_NOP:
	case X86_STORE:
	case X86_COMPARE:
		return true;
	case X86_POP:
		note_write(ahead, reg, true, ahead->removed);
		ahead->removed += WORD_BYTES;
		return reg != X86_RSP;
	case X86_LOAD:
		note_write(ahead, reg, base == X86_RSP, ahead->removed + distance);
		return reg != X86_RSP;
	case X86_ADD:
		if (reg == X86_RSP) {
			ahead->removed += distance;
			return base == X86_RSP && distance > 0 && distance < MAX_FRAME_BYTES;
		}
		note_write(ahead, reg, false, 0);
		return true;
	case X86_MOVE:
	case X86_AND:
		note_write(ahead, reg, false, 0);
		return reg != X86_RSP;
	case X86_OTHER:
		if (instruction->writes >> X86_RBP & 1)
			note_write(ahead, X86_RBP, false, 0);
		if (instruction->writes >> X86_RBX & 1)
			note_write(ahead, X86_RBX, false, 0);
		return !(instruction->writes >> X86_RSP & 1);
	default:
		return false;
	}
}

/* Offset of @saved from the CFA; 0 if it is not on the stack. */
static int32_t slot_of(const struct saved *saved, int64_t frame_bytes)
{
	int64_t offset = saved->offset - frame_bytes;

	return saved->fate == LOADED && offset < 0 && offset >= -MAX_FRAME_BYTES ? offset : 0;
}

static void set_state(struct code_state *state, const struct look_ahead *ahead)
{
	int64_t frame_bytes = ahead->removed + WORD_BYTES;
	int32_t slot = slot_of(&ahead->rbp, frame_bytes);

	code_state_init(state, EM_X86_64);
	state->sp.offset = -frame_bytes;
	if (ahead->rbp.fate != KEPT)
		state->fp = (struct code_value){ CODE_UNKNOWN, 0 };
	if (slot)
		state->fp_slot = (struct code_value){ CODE_FROM_CFA, slot };
	state->rbx_is_callers = ahead->rbx.fate == KEPT;
	slot = slot_of(&ahead->rbx, frame_bytes);
	if (slot)
		state->rbx_slot = (struct code_value){ CODE_FROM_CFA, slot };
}

void stack_switch_follow(const uint8_t *bytes, size_t size, struct code_state *state)
{
	struct look_ahead ahead = { 0 };
	size_t offset = 0;
	struct unwind_rule rule;

	code_state_rule(state, EM_X86_64, &rule);
	if (rule.cfa != CFA_NONE)
		return;
	for (int i = 0; i < MAX_INSTRUCTIONS && offset < size; i++) {
		struct x86_instruction instruction;

		if (!x86_decode(bytes + offset, size - offset, &instruction))
			return;
		if (instruction.kind == X86_RETURN && !instruction.displacement) {
			set_state(state, &ahead);
			return;
		}
		if (!pass(&ahead, &instruction) || ahead.removed > MAX_FRAME_BYTES)
			return;
		offset += instruction.length;
	}
}

uint32_t stack_start_stored(const uint8_t *bytes, size_t size)
{
	struct x86_operands taken;
	struct x86_instruction store;

	if (size < LEA_PC_BYTES || !x86_decode_operands(bytes, size, &taken) ||
	    taken.length != LEA_PC_BYTES || taken.opcode != 0x8d || !taken.is_pc_relative ||
	    taken.displacement <= 0 || taken.displacement > MAX_START_DISTANCE ||
	    !x86_decode(bytes + taken.length, size - taken.length, &store))
		return 0;
	if (store.kind != X86_STORE || store.reg != taken.reg || store.base == X86_NO_REGISTER)
		return 0;
	return taken.length + (uint32_t)taken.displacement;
}

uint32_t stack_start_bytes(const uint8_t *bytes, size_t size, uint32_t *jump_end)
{
	struct x86_instruction instruction;
	uint32_t offset = 0, entered = 0;
	bool is_after_call = false;

	for (int i = 0; i < MAX_START_INSTRUCTIONS && offset < size; i++) {
		if (!x86_decode(bytes + offset, size - offset, &instruction))
			return 0;
		offset += instruction.length;
		switch (instruction.kind) {
		case X86_STOP:
			*jump_end = entered;
			return is_after_call ? offset : 0;
		case X86_JUMP_INDIRECT:
			if (entered)
				return 0;
			entered = offset;
			break;
		case X86_CALL:
		case X86_CALL_INDIRECT:
			is_after_call = true;
			continue;
		case X86_JUMP:
		case X86_BRANCH:
		case X86_RETURN:
		case X86_SYSCALL:
			return 0;
		default:
			break;
		}
		is_after_call = false;
	}
	return 0;
}
