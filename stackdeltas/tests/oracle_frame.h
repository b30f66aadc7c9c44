/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Random frames for the oracle, and the results of a rule and of a row of libdw in one. Registers and
 * memory are functions of a seed, so two rules that agree in a few frames are the same. It also works
 * for frames of a stopped process.
 */
#ifndef STACKDELTAS_TESTS_ORACLE_FRAME_H
#define STACKDELTAS_TESTS_ORACLE_FRAME_H

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "ebpf/abi/slab.h"

enum {
	REGISTERS = 33,
	STACK_MAX = 16,
	X86_RBX = 3,
	PLT_PERIOD = 16,
	UCONTEXT_RBP = 120,
	UCONTEXT_RSP = 160,
	UCONTEXT_RIP = 168,
};

/* DWARF numbers of the registers that every frame has. */
struct frame_registers {
	uint16_t machine;
	int fp;
	int sp;
	int ra;
};

static const struct frame_registers x86_registers = { EM_X86_64, 6, 7, 16 };
static const struct frame_registers arm64_registers = { EM_AARCH64, 29, 31, 30 };

/* A made-up frame, or one of a process. */
struct frame {
	const struct frame_registers *numbers;
	uint64_t seed;
	/* /proc/PID/mem; 0 where memory is made up. */
	int memory_fd;
	uint64_t pc;
	uint64_t registers[REGISTERS];
};

static uint64_t mix(uint64_t value)
{
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ULL;
	value = (value ^ value >> 27) * 0x94d049bb133111ebULL;
	return value ^ value >> 31;
}

static uint64_t load(const struct frame *frame, uint64_t address)
{
	uint64_t value = 0;

	if (!frame->memory_fd)
		return mix(address ^ frame->seed);
	/* Memory that cannot be read is 0 for both sides. */
	if (pread(frame->memory_fd, &value, sizeof(value), address) != sizeof(value))
		return 0;
	return value;
}

static inline void make_frame(struct frame *frame, const struct frame_registers *numbers,
			      uint64_t seed, uint64_t pc)
{
	frame->numbers = numbers;
	frame->seed = mix(seed);
	frame->memory_fd = 0;
	frame->pc = pc;
	for (int i = 0; i < REGISTERS; i++)
		frame->registers[i] = mix(frame->seed + i) >> 16;
	/* On x86 its number is also the pc's; on arm64 it is the link register's. */
	if (numbers->machine == EM_X86_64)
		frame->registers[numbers->ra] = pc;
}

/* A stack machine for expressions in call frame information. False: an operation is not implemented. */
static bool evaluate(const struct frame *frame, const Dwarf_Op *operations, size_t count,
		     uint64_t cfa, bool push_cfa, uint64_t *result, bool *is_value)
{
	uint64_t stack[STACK_MAX];
	int depth = 0;

	*is_value = false;
	if (push_cfa)
		stack[depth++] = cfa;
	for (size_t i = 0; i < count; i++) {
		const Dwarf_Op *op = &operations[i];

		if (depth == STACK_MAX)
			return false;
		if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
			stack[depth++] = frame->registers[op->atom - DW_OP_breg0] + op->number;
			continue;
		}
		if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
			stack[depth++] = op->atom - DW_OP_lit0;
			continue;
		}
		if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) {
			stack[depth++] = frame->registers[op->atom - DW_OP_reg0];
			*is_value = true;
			continue;
		}
		switch (op->atom) {
		case DW_OP_call_frame_cfa:
			stack[depth++] = cfa;
			continue;
		case DW_OP_bregx:
		case DW_OP_regx:
			if (op->number >= REGISTERS)
				return false;
			stack[depth++] = frame->registers[op->number] + op->number2;
			*is_value = op->atom == DW_OP_regx;
			continue;
		case DW_OP_const1u:
		case DW_OP_const1s:
		case DW_OP_const2u:
		case DW_OP_const2s:
		case DW_OP_const4u:
		case DW_OP_const4s:
		case DW_OP_const8u:
		case DW_OP_const8s:
		case DW_OP_constu:
		case DW_OP_consts:
			stack[depth++] = op->number;
			continue;
		case DW_OP_nop:
			continue;
		default:
			break;
		}
		if (depth < 1)
			return false;
		switch (op->atom) {
		case DW_OP_deref:
			stack[depth - 1] = load(frame, stack[depth - 1]);
			continue;
		case DW_OP_plus_uconst:
			stack[depth - 1] += op->number;
			continue;
		case DW_OP_stack_value:
			*is_value = true;
			continue;
		default:
			break;
		}
		if (depth < 2)
			return false;
		depth--;
		switch (op->atom) {
		case DW_OP_plus:
			stack[depth - 1] += stack[depth];
			continue;
		case DW_OP_minus:
			stack[depth - 1] -= stack[depth];
			continue;
		case DW_OP_mul:
			stack[depth - 1] *= stack[depth];
			continue;
		case DW_OP_and:
			stack[depth - 1] &= stack[depth];
			continue;
		case DW_OP_shl:
			stack[depth - 1] <<= stack[depth];
			continue;
		case DW_OP_ge:
			stack[depth - 1] = (int64_t)stack[depth - 1] >= (int64_t)stack[depth];
			continue;
		default:
			return false;
		}
	}
	if (depth < 1)
		return false;
	*result = stack[depth - 1];
	return true;
}

enum outcome { OUTCOME_VALUE, OUTCOME_UNDEFINED, OUTCOME_UNKNOWN };

/* Computes the caller's value of a register by libdw. */
static enum outcome register_by_libdw(Dwarf_Frame *row, const struct frame *frame, int number,
				      uint64_t cfa, uint64_t *value)
{
	Dwarf_Op memory[3];
	Dwarf_Op *operations;
	size_t count;
	bool is_value;

	if (dwarf_frame_register(row, number, memory, &operations, &count))
		return OUTCOME_UNKNOWN;
	if (!count && operations == memory)
		return OUTCOME_UNDEFINED;
	if (!count) {
		*value = frame->registers[number];
		return OUTCOME_VALUE;
	}
	/* libdw puts DW_OP_call_frame_cfa before the expressions of registers itself. */
	if (!evaluate(frame, operations, count, cfa, false, value, &is_value))
		return OUTCOME_UNKNOWN;
	if (!is_value)
		*value = load(frame, *value);
	return OUTCOME_VALUE;
}

/* Computes the caller's sp: the CFA, except in code that switches stacks. */
static bool sp_by_rule(const struct unwind_rule *rule, const struct frame *frame, uint64_t *cfa)
{
	uint64_t sp = frame->registers[frame->numbers->sp];
	uint64_t fp = frame->registers[frame->numbers->fp];
	uint64_t other = frame->registers[rule->cfa_register];

	switch (rule->cfa) {
	case CFA_SP:
		*cfa = sp + rule->cfa_offset;
		return true;
	case CFA_FP:
		*cfa = fp + rule->cfa_offset;
		return true;
	case CFA_REGISTER:
		*cfa = other + rule->cfa_offset;
		return true;
	case CFA_DEREF_SP:
		*cfa = load(frame, sp + rule->cfa_offset) + rule->cfa_addend;
		return true;
	case CFA_DEREF_FP:
		*cfa = load(frame, fp + rule->cfa_offset) + rule->cfa_addend;
		return true;
	case CFA_DEREF_REGISTER:
		*cfa = load(frame, other + rule->cfa_offset) + rule->cfa_addend;
		return true;
	case CFA_PLT:
		*cfa = sp + rule->cfa_offset +
		       ((int64_t)(frame->pc & 15) >= rule->cfa_addend ? 8 : 0);
		return true;
	case CFA_DEREF_SP_INDEXED:
		*cfa = load(frame, sp + rule->cfa_offset + 8 * other) + rule->cfa_addend;
		return true;
	case CFA_SIGNAL:
		*cfa = load(frame, sp + UCONTEXT_RSP);
		return true;
	case CFA_CONTEXT:
		*cfa = load(frame, other + UCONTEXT_RSP);
		return true;
	default:
		return false;
	}
}

static enum outcome register_by_rule(const struct unwind_rule *rule, bool is_ra,
				     const struct frame *frame, uint64_t cfa, uint64_t *value)
{
	uint8_t kind = is_ra ? rule->ra : rule->fp;
	int16_t offset = is_ra ? rule->ra_offset : rule->fp_offset;

	if (rule->cfa == CFA_SIGNAL) {
		*value = load(frame, frame->registers[frame->numbers->sp] +
					     (is_ra ? UCONTEXT_RIP : UCONTEXT_RBP));
		return OUTCOME_VALUE;
	}
	if (rule->cfa == CFA_CONTEXT) {
		*value = load(frame, frame->registers[rule->cfa_register] +
					     (is_ra ? UCONTEXT_RIP : UCONTEXT_RBP));
		return OUTCOME_VALUE;
	}
	switch (kind) {
	case SAVED_SAME:
		*value = frame->registers[is_ra ? frame->numbers->ra : frame->numbers->fp];
		return OUTCOME_VALUE;
	case SAVED_AT_CFA:
		*value = load(frame, cfa + offset);
		return OUTCOME_VALUE;
	case SAVED_AT_FP:
		*value = load(frame, frame->registers[frame->numbers->fp] + offset);
		return OUTCOME_VALUE;
	case SAVED_AT_SP:
		*value = load(frame, frame->registers[frame->numbers->sp] + offset);
		return OUTCOME_VALUE;
	case SAVED_IN_REGISTER:
		*value = frame->registers[offset];
		return OUTCOME_VALUE;
	default:
		return OUTCOME_UNDEFINED;
	}
}

#endif
