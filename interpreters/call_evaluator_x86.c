/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions of x86-64 (Intel SDM volume 2) that small functions consist of: moves, sums, shifts,
 * comparisons and jumps of general registers. For all others lib/isa/x86_decode.h gives only the length
 * and the registers that they write.
 */
#include "interpreters/call_evaluator_x86.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/isa/x86_decode.h"
#include "lib/isa/x86_opcode.h"

enum {
	/** The thread pointer itself is stored at fs:0 and, in glibc, at fs:0x10. */
	TCB_SELF = 0,
	TCB_SELF_OF_GLIBC = 0x10,
};

struct instruction {
	struct x86_operands operands;
	/** Address of the next instruction. */
	uint64_t next;
	/** Address of the operand in memory. */
	struct value address;
};

static struct value scaled(struct value value, unsigned int shift)
{
	if (value.kind != VALUE_NUMBER)
		return shift ? (struct value){ 0 } : value;
	value.number <<= shift;
	return value;
}

static struct value address_of(const struct evaluator *evaluator,
			       const struct instruction *instruction)
{
	const struct x86_operands *operands = &instruction->operands;
	struct value address = value_number(operands->is_pc_relative ? instruction->next : 0, true);

	if (operands->base != X86_NO_REGISTER)
		address = evaluator->registers[operands->base];
	if (operands->index != X86_NO_REGISTER)
		address = value_add(address,
				    scaled(evaluator->registers[operands->index], operands->scale));
	address = value_add(address, value_number(operands->displacement, true));
	if (operands->is_of_fs) {
		struct value thread = { .kind = VALUE_THREAD };

		address = value_add(thread, address);
	}
	return address;
}

static int load_operand(struct evaluator *evaluator, const struct instruction *instruction,
			uint8_t bytes, struct value *value)
{
	const struct value *address = &instruction->address;

	if (!instruction->operands.is_memory) {
		*value = value_cut(evaluator->registers[instruction->operands.rm], bytes);
		return 0;
	}
	if (instruction->operands.is_of_fs && address->kind == VALUE_THREAD && !address->depth &&
	    (address->number == TCB_SELF || address->number == TCB_SELF_OF_GLIBC)) {
		*value = (struct value){ .kind = VALUE_THREAD };
		return 0;
	}
	return evaluator_load(evaluator, *address, bytes, value);
}

static void set_register(struct evaluator *evaluator, uint8_t number, uint8_t bytes,
			 struct value value)
{
	/* A write of 1 or 2 bytes keeps the rest of the register, so the result is unknown. */
	evaluator->registers[number] = bytes < 4 ? (struct value){ 0 } : value_cut(value, bytes);
}

static void store_operand(struct evaluator *evaluator, const struct instruction *instruction,
			  struct value value)
{
	if (instruction->operands.is_memory)
		evaluator_store(evaluator, instruction->address, instruction->operands.bytes,
				value);
	else
		set_register(evaluator, instruction->operands.rm, instruction->operands.bytes,
			     value);
}

static void set_flags(struct evaluator *evaluator, struct value left, struct value right,
		      uint8_t bytes, bool is_test)
{
	bool is_known = left.kind != VALUE_UNKNOWN && right.kind != VALUE_UNKNOWN;

	evaluator->flags = (struct comparison){
		.left = left, .right = right, .bytes = is_known ? bytes : 0, .is_test = is_test
	};
}

/** Numbered as in the opcodes 00 to 3f and in group 1. */
enum arithmetic { ADD = 0, OR = 1, AND = 4, SUBTRACT = 5, XOR = 6, COMPARE = 7 };

/* Sets *result and returns true, unless the operation writes only flags. */
static bool calculate(struct evaluator *evaluator, uint8_t operation, struct value left,
		      struct value right, uint8_t bytes, struct value *result)
{
	struct value zero = value_number(0, true);
	bool are_numbers = left.kind == VALUE_NUMBER && right.kind == VALUE_NUMBER;

	*result = (struct value){ 0 };
	switch (operation) {
	case ADD:
		*result = value_add(left, right);
		break;
	case SUBTRACT:
	case COMPARE:
		set_flags(evaluator, left, right, bytes, false);
		*result = value_subtract(left, right);
		return operation == SUBTRACT;
	case OR:
		if (are_numbers)
			*result = value_number(left.number | right.number, false);
		break;
	case AND:
		/* The stack is assumed to be aligned, so that aligning it changes nothing. */
		if (left.kind == VALUE_STACK)
			*result = left;
		else if (are_numbers)
			*result = value_number(left.number & right.number, false);
		break;
	case XOR:
		if (are_numbers)
			*result = value_number(left.number ^ right.number, false);
		break;
	default:
		break;
	}
	set_flags(evaluator, *result, zero, bytes, true);
	return true;
}

static int step_arithmetic(struct evaluator *evaluator, struct instruction *instruction)
{
	uint8_t opcode = instruction->operands.opcode, operation = opcode >> 3 & 7;
	uint8_t bytes = opcode & 1 ? instruction->operands.bytes : 1;
	struct value left, right, result;
	bool is_to_register = opcode & 2;
	int err;

	if ((opcode & 7) > 3)
		return -ENOENT;
	err = load_operand(evaluator, instruction, bytes, &left);
	if (err)
		return err;
	right = value_cut(evaluator->registers[instruction->operands.reg], bytes);
	if (operation == XOR && !instruction->operands.is_memory &&
	    instruction->operands.reg == instruction->operands.rm) {
		set_register(evaluator, instruction->operands.rm, bytes, value_number(0, true));
		return 0;
	}
	if (is_to_register) {
		struct value swapped = left;

		left = right;
		right = swapped;
	}
	if (!calculate(evaluator, operation, left, right, bytes, &result))
		return 0;
	if (is_to_register)
		set_register(evaluator, instruction->operands.reg, bytes, result);
	else
		store_operand(evaluator, instruction, result);
	return 0;
}

/* Opcodes 80, 81, 83: arithmetic with an immediate. */
static int step_group1(struct evaluator *evaluator, struct instruction *instruction)
{
	uint8_t bytes = instruction->operands.opcode & 1 ? instruction->operands.bytes : 1;
	struct value left, result;
	int err;

	if (instruction->operands.opcode == 0x81 && bytes == 2)
		return -ENOENT;
	err = load_operand(evaluator, instruction, bytes, &left);
	if (!err && calculate(evaluator, instruction->operands.reg & 7, left,
			      value_number(instruction->operands.immediate, true), bytes, &result))
		store_operand(evaluator, instruction, result);
	return err;
}

/* Opcodes c1, d1: shifts by an immediate or by 1. */
static int step_shift(struct evaluator *evaluator, struct instruction *instruction)
{
	uint8_t operation;
	uint32_t count;
	struct value value;

	count = instruction->operands.opcode == 0xc1 ? instruction->operands.immediate & 63 : 1;
	operation = instruction->operands.reg & 7;
	if (instruction->operands.is_memory || (operation != 4 && operation != 5) ||
	    instruction->operands.bytes < 4)
		return -ENOENT;
	evaluator->flags.bytes = 0;
	value = value_cut(evaluator->registers[instruction->operands.rm],
			  instruction->operands.bytes);
	if (value.kind != VALUE_NUMBER)
		value = (struct value){ 0 };
	else
		value.number = operation == 4 ? value.number << count : value.number >> count;
	set_register(evaluator, instruction->operands.rm, instruction->operands.bytes, value);
	return 0;
}

/* Opcodes 84, 85, and /0 of f6, f7: test. */
static int step_test(struct evaluator *evaluator, struct instruction *instruction)
{
	uint8_t bytes = instruction->operands.opcode & 1 ? instruction->operands.bytes : 1;
	bool has_immediate = instruction->operands.opcode >= 0xf6;
	struct value left, right, result;
	int err;

	if (has_immediate && ((instruction->operands.reg & 7) > 1 || bytes == 2))
		return -ENOENT;
	right = has_immediate ? value_number(instruction->operands.immediate, true) :
				value_cut(evaluator->registers[instruction->operands.reg], bytes);
	err = load_operand(evaluator, instruction, bytes, &left);
	if (err)
		return err;
	if (left.kind == VALUE_THREAD && !has_immediate && !instruction->operands.is_memory &&
	    instruction->operands.reg == instruction->operands.rm)
		set_flags(evaluator, left, value_number(0, true), bytes, true);
	else
		calculate(evaluator, AND, left, right, bytes, &result);
	return 0;
}

static void push(struct evaluator *evaluator, struct value value)
{
	struct value *sp = &evaluator->registers[X86_RSP];

	*sp = value_add(*sp, value_number(-8, true));
	evaluator_store(evaluator, *sp, 8, value);
}

static int pop(struct evaluator *evaluator, struct value *value)
{
	struct value *sp = &evaluator->registers[X86_RSP];
	int err = evaluator_load(evaluator, *sp, 8, value);

	*sp = value_add(*sp, value_number(8, true));
	return err;
}

static int branch(struct evaluator *evaluator, uint8_t condition, uint64_t target)
{
	static const enum condition conditions[] = {
		[1] = CONDITION_BELOW,	  [2] = CONDITION_EQUAL, [3] = CONDITION_BELOW_EQUAL,
		[4] = CONDITION_NEGATIVE, [6] = CONDITION_LESS,	 [7] = CONDITION_LESS_EQUAL,
	};
	uint8_t index = condition >> 1;
	bool holds;
	int err;

	if (index == 0 || index == 5)
		return fail(-EOPNOTSUPP, "a branch at %#" PRIx64 " by a flag that is not kept",
			    evaluator->pc);
	err = evaluator_decide(evaluator, conditions[index], &holds);
	if (!err && holds != (condition & 1))
		evaluator->pc = target;
	return err;
}

/* A call pushes a word, so that pushes and pops match; the word is never read. */
static int call(struct evaluator *evaluator, struct value target, uint64_t next)
{
	push(evaluator, (struct value){ 0 });
	return evaluator_call(evaluator, target, next);
}

/*
 * A slot that is not bound points to the next instructions of the PLT: perhaps endbr64, then a push of the
 * relocation's index and a jump.
 */
static int bind_target(struct evaluator *evaluator, const struct instruction *instruction,
		       struct value *target)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t code[12];
	size_t at;
	int err;

	if (!instruction->operands.is_memory || target->kind != VALUE_NUMBER)
		return 0;
	err = remote_memory_read(evaluator->memory, target->number, code, sizeof(code));
	if (err)
		return err;
	at = memcmp(code, endbr64, sizeof(endbr64)) ? 0 : sizeof(endbr64);
	if (code[at] != 0x68 || (code[at + 5] != 0xe9 && code[at + 5] != 0xf2))
		return 0;
	return evaluator_bind(evaluator, instruction->address, target);
}

static int step_group5(struct evaluator *evaluator, struct instruction *instruction)
{
	struct value target;
	int err;

	err = load_operand(evaluator, instruction, 8, &target);
	if (err)
		return err;
	switch (instruction->operands.reg & 7) {
	case 2:
		err = bind_target(evaluator, instruction, &target);
		return err ? err : call(evaluator, target, instruction->next);
	case 4:
		err = bind_target(evaluator, instruction, &target);
		return err ? err : evaluator_jump(evaluator, target);
	case 6:
		push(evaluator, target);
		return 0;
	default:
		return -ENOENT;
	}
}

static int step_move(struct evaluator *evaluator, struct instruction *instruction)
{
	uint8_t bytes = instruction->operands.bytes;
	struct value value;
	int err = 0;

	switch (instruction->operands.opcode) {
	case 0x63: /* movslq */
		err = load_operand(evaluator, instruction, 4, &value);
		if (!err && value.kind == VALUE_NUMBER)
			value.number = (uint64_t)(int64_t)(int32_t)value.number;
		break;
	case 0x8b:
		err = load_operand(evaluator, instruction, bytes, &value);
		break;
	case 0x8d:
		value = instruction->address;
		/* lea ignores the segment, so an operand with fs gives no address. */
		if (!instruction->operands.is_memory || instruction->operands.is_of_fs)
			value = (struct value){ 0 };
		break;
	case 0x89:
		store_operand(evaluator, instruction,
			      value_cut(evaluator->registers[instruction->operands.reg], bytes));
		return 0;
	default: /* 0xc7 */
		if (bytes == 2)
			return -ENOENT;
		store_operand(evaluator, instruction,
			      value_number(instruction->operands.immediate, true));
		return 0;
	}
	if (!err)
		set_register(evaluator, instruction->operands.reg, bytes, value);
	return err;
}

/* Two-byte opcodes: movzx (b6, b7), hints, and branches. */
static int step_extended(struct evaluator *evaluator, struct instruction *instruction)
{
	uint8_t opcode = instruction->operands.opcode;
	struct value value;
	int err;

	if ((opcode & 0xf0) == 0x80)
		return branch(evaluator, opcode & 15,
			      instruction->next + (uint64_t)instruction->operands.immediate);
	if (opcode != 0xb6 && opcode != 0xb7)
		return -ENOENT;
	if (!instruction->operands.is_memory && opcode == 0xb6 && !instruction->operands.has_rex &&
	    instruction->operands.rm >= 4)
		return -ENOENT;
	err = load_operand(evaluator, instruction, opcode == 0xb6 ? 1 : 2, &value);
	if (!err)
		set_register(evaluator, instruction->operands.reg, instruction->operands.bytes,
			     value);
	return err;
}

static int step_plain(struct evaluator *evaluator, struct instruction *instruction)
{
	uint64_t target = instruction->next + (uint64_t)instruction->operands.immediate;
	uint8_t opcode = instruction->operands.opcode, low = instruction->operands.low;
	int err;

	if (opcode < 0x40)
		return step_arithmetic(evaluator, instruction);
	if ((opcode & 0xf8) == 0x50) {
		push(evaluator, evaluator->registers[low]);
		return 0;
	}
	if ((opcode & 0xf8) == 0x58)
		return pop(evaluator, &evaluator->registers[low]);
	if ((opcode & 0xf0) == 0x70)
		return branch(evaluator, opcode & 15, target);
	if ((opcode & 0xf8) == 0xb8 && instruction->operands.bytes == 4) {
		set_register(evaluator, low, 4,
			     value_number((uint32_t)instruction->operands.immediate, true));
		return 0;
	}
	switch (opcode) {
	case 0x63:
	case 0x89:
	case 0x8b:
	case 0x8d:
	case 0xc7:
		return step_move(evaluator, instruction);
	case 0x80:
	case 0x81:
	case 0x83:
		return step_group1(evaluator, instruction);
	case 0x84:
	case 0x85:
	case 0xf6:
	case 0xf7:
		return step_test(evaluator, instruction);
	case 0xc1:
	case 0xd1:
		return step_shift(evaluator, instruction);
	case 0xc3:
		evaluator->registers[X86_RSP] =
			value_add(evaluator->registers[X86_RSP], value_number(8, true));
		evaluator_return(evaluator);
		return 0;
	case 0xc9:
		evaluator->registers[X86_RSP] = evaluator->registers[X86_RBP];
		err = pop(evaluator, &evaluator->registers[X86_RBP]);
		return err;
	case 0xe8:
		return call(evaluator, value_number((int64_t)target, true), instruction->next);
	case 0xe9:
	case 0xeb:
		evaluator->pc = target;
		return 0;
	case 0xff:
		return step_group5(evaluator, instruction);
	default:
		return -ENOENT;
	}
}

/* Applies the effects of an instruction that is not followed: the registers that it writes become unknown. */
static int step_over(struct evaluator *evaluator, const struct x86_instruction *decoded)
{
	switch (decoded->kind) {
	case X86_NOP:
		return 0;
	case X86_OTHER:
	case X86_LOAD:
	case X86_STORE:
	case X86_MOVE:
	case X86_ADD:
	case X86_AND:
	case X86_COMPARE:
		break;
	default:
		return fail(-EOPNOTSUPP, "the instruction before %#" PRIx64 " is not followed",
			    evaluator->pc);
	}
	for (uint8_t i = 0; i < 16; i++) {
		if (decoded->writes & 1U << i || i == decoded->reg)
			evaluator->registers[i] = (struct value){ 0 };
	}
	evaluator->flags.bytes = 0;
	return 0;
}

int evaluator_step_x86(struct evaluator *evaluator)
{
	struct instruction instruction;
	struct x86_instruction decoded;
	const uint8_t *code;
	size_t count;
	int err;

	code = evaluator_fetch(evaluator, X86_MAX_INSTRUCTION_BYTES, &count, &err);
	if (err)
		return err;
	count = count < X86_MAX_INSTRUCTION_BYTES ? count : X86_MAX_INSTRUCTION_BYTES;
	if (!x86_decode(code, count, &decoded) ||
	    !x86_decode_operands(code, count, &instruction.operands))
		return fail(-EOPNOTSUPP, "an instruction at %#" PRIx64 " that is not known",
			    evaluator->pc);
	instruction.next = evaluator->pc + decoded.length;
	instruction.address = address_of(evaluator, &instruction);
	evaluator->pc = instruction.next;
	if (decoded.kind == X86_NOP)
		return 0;
	err = -ENOENT;
	if (instruction.operands.is_vector || instruction.operands.has_67)
		return step_over(evaluator, &decoded);
	if (instruction.operands.map == MAP_ONE_BYTE)
		err = step_plain(evaluator, &instruction);
	else if (instruction.operands.map == MAP_0F)
		err = step_extended(evaluator, &instruction);
	return err == -ENOENT ? step_over(evaluator, &decoded) : err;
}
