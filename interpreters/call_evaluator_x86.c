/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions of x86-64 (Intel SDM volume 2) that small functions are made of: moves, sums,
 * shifts, comparisons and jumps of general registers. Of all others only the length and the
 * registers that they write are known, by lib/isa/x86_decode.h.
 */
#include "interpreters/call_evaluator_x86.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/isa/x86_decode.h"

enum {
	/** fs:0 and, in glibc, fs:0x10 hold the thread pointer itself. */
	TCB_SELF = 0,
	TCB_SELF_OF_GLIBC = 0x10,
	NO_INDEX = 4,
};

struct instruction {
	const uint8_t *bytes;
	/** Behind prefixes and opcode, later behind the operands. */
	size_t at;
	uint8_t rex;
	bool is_of_thread;
	/** Of operands: 1, 2, 4, 8. */
	uint8_t operand_bytes;
	uint8_t opcode;
	/** The opcode follows 0f. */
	bool is_extended;
	uint64_t next;

	bool is_memory;
	uint8_t reg;
	uint8_t rm;
	struct value address;
};

static int32_t immediate32(const uint8_t *bytes)
{
	int32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static void parse_prefixes(struct instruction *instruction)
{
	const uint8_t *bytes = instruction->bytes;
	bool has_66 = false;

	for (;; instruction->at++) {
		uint8_t byte = bytes[instruction->at];

		if (byte == 0x64)
			instruction->is_of_thread = true;
		else if (byte == 0x66)
			has_66 = true;
		else if (byte != 0x2e && byte != 0x3e && byte != 0x65 && byte != 0xf2 &&
			 byte != 0xf3)
			break;
	}
	if ((bytes[instruction->at] & 0xf0) == 0x40)
		instruction->rex = bytes[instruction->at++];
	instruction->operand_bytes = instruction->rex & 8 ? 8 : has_66 ? 2 : 4;
	if (bytes[instruction->at] == 0x0f) {
		instruction->is_extended = true;
		instruction->at++;
	}
	instruction->opcode = bytes[instruction->at++];
}

static struct value scaled(struct value value, unsigned int shift)
{
	if (value.kind != VALUE_NUMBER)
		return shift ? (struct value){ 0 } : value;
	value.number <<= shift;
	return value;
}

/* ModRM, SIB and displacement; @immediate_bytes follow, by which pc-relative addresses move. */
static void parse_operands(const struct evaluator *evaluator, struct instruction *instruction)
{
	const uint8_t *bytes = instruction->bytes;
	uint8_t modrm = bytes[instruction->at++];
	uint8_t mode = modrm >> 6;
	struct value address;
	int64_t displacement = 0;
	bool has_base = true;

	instruction->reg = (modrm >> 3 & 7) | (instruction->rex & 4) << 1;
	instruction->rm = (modrm & 7) | (instruction->rex & 1) << 3;
	instruction->is_memory = mode != 3;
	if (mode == 3)
		return;
	if ((modrm & 7) == 4) {
		uint8_t sib = bytes[instruction->at++];
		uint8_t base = (sib & 7) | (instruction->rex & 1) << 3;
		uint8_t index = (sib >> 3 & 7) | (instruction->rex & 2) << 2;

		has_base = (sib & 7) != 5 || mode != 0;
		address = has_base ? evaluator->registers[base] : value_number(0, true);
		if (index != NO_INDEX)
			address = value_add(address, scaled(evaluator->registers[index], sib >> 6));
	} else if ((modrm & 7) == 5 && mode == 0) {
		has_base = false;
		address = value_number(instruction->next, true);
	} else {
		address = evaluator->registers[instruction->rm];
	}
	if (mode == 1) {
		displacement = (int8_t)bytes[instruction->at++];
	} else if (mode == 2 || !has_base) {
		displacement = immediate32(bytes + instruction->at);
		instruction->at += 4;
	}
	address = value_add(address, value_number(displacement, true));
	if (instruction->is_of_thread) {
		struct value thread = { .kind = VALUE_THREAD };

		address = value_add(thread, address);
	}
	instruction->address = address;
}

static int load_operand(struct evaluator *evaluator, const struct instruction *instruction,
			uint8_t bytes, struct value *value)
{
	const struct value *address = &instruction->address;

	if (!instruction->is_memory) {
		*value = value_cut(evaluator->registers[instruction->rm], bytes);
		return 0;
	}
	if (instruction->is_of_thread && address->kind == VALUE_THREAD && !address->depth &&
	    (address->number == TCB_SELF || address->number == TCB_SELF_OF_GLIBC)) {
		*value = (struct value){ .kind = VALUE_THREAD };
		return 0;
	}
	return evaluator_load(evaluator, *address, bytes, value);
}

static void set_register(struct evaluator *evaluator, uint8_t number, uint8_t bytes,
			 struct value value)
{
	/* Words and bytes leave the rest of the register. */
	evaluator->registers[number] = bytes < 4 ? (struct value){ 0 } : value_cut(value, bytes);
}

static void store_operand(struct evaluator *evaluator, const struct instruction *instruction,
			  struct value value)
{
	if (instruction->is_memory)
		evaluator_store(evaluator, instruction->address, instruction->operand_bytes, value);
	else
		set_register(evaluator, instruction->rm, instruction->operand_bytes, value);
}

static void set_flags(struct evaluator *evaluator, struct value left, struct value right,
		      uint8_t bytes, bool is_test)
{
	bool is_known = left.kind != VALUE_UNKNOWN && right.kind != VALUE_UNKNOWN;

	evaluator->flags = (struct comparison){
		.left = left, .right = right, .bytes = is_known ? bytes : 0, .is_test = is_test
	};
}

/** As in the opcodes 00 to 3f and in group 1. */
enum arithmetic { ADD = 0, OR = 1, AND = 4, SUBTRACT = 5, XOR = 6, COMPARE = 7 };

/* True, and *result, unless only flags are written. */
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
		/* The stack is aligned at every call of ours. */
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
	uint8_t opcode = instruction->opcode, operation = opcode >> 3 & 7;
	uint8_t bytes = opcode & 1 ? instruction->operand_bytes : 1;
	struct value left, right, result;
	bool is_to_register = opcode & 2;
	int err;

	if ((opcode & 7) > 3)
		return -ENOENT;
	parse_operands(evaluator, instruction);
	err = load_operand(evaluator, instruction, bytes, &left);
	if (err)
		return err;
	right = value_cut(evaluator->registers[instruction->reg], bytes);
	if (operation == XOR && !instruction->is_memory && instruction->reg == instruction->rm) {
		set_register(evaluator, instruction->rm, bytes, value_number(0, true));
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
		set_register(evaluator, instruction->reg, bytes, result);
	else
		store_operand(evaluator, instruction, result);
	return 0;
}

/* 80, 81, 83: with an immediate. */
static int step_group1(struct evaluator *evaluator, struct instruction *instruction)
{
	uint8_t bytes = instruction->opcode & 1 ? instruction->operand_bytes : 1;
	struct value left, result;
	int64_t immediate;
	int err;

	if (instruction->opcode == 0x81 && bytes == 2)
		return -ENOENT;
	parse_operands(evaluator, instruction);
	immediate = instruction->opcode == 0x81 ?
			    immediate32(instruction->bytes + instruction->at) :
			    (int8_t)instruction->bytes[instruction->at];
	err = load_operand(evaluator, instruction, bytes, &left);
	if (!err && calculate(evaluator, instruction->reg & 7, left, value_number(immediate, true),
			      bytes, &result))
		store_operand(evaluator, instruction, result);
	return err;
}

/* c1, d1: by an immediate or by 1. */
static int step_shift(struct evaluator *evaluator, struct instruction *instruction)
{
	uint8_t operation;
	uint32_t count;
	struct value value;

	parse_operands(evaluator, instruction);
	count = instruction->opcode == 0xc1 ? instruction->bytes[instruction->at] & 63 : 1;
	operation = instruction->reg & 7;
	value = evaluator->registers[instruction->rm];
	if (instruction->is_memory || (operation != 4 && operation != 5) ||
	    instruction->operand_bytes < 4)
		return -ENOENT;
	evaluator->flags.bytes = 0;
	value = value_cut(value, instruction->operand_bytes);
	if (value.kind != VALUE_NUMBER)
		value = (struct value){ 0 };
	else
		value.number = operation == 4 ? value.number << count : value.number >> count;
	set_register(evaluator, instruction->rm, instruction->operand_bytes, value);
	return 0;
}

/* 84, 85, and /0 of f6, f7. */
static int step_test(struct evaluator *evaluator, struct instruction *instruction)
{
	uint8_t bytes = instruction->opcode & 1 ? instruction->operand_bytes : 1;
	bool has_immediate = instruction->opcode >= 0xf6;
	struct value left, right, result;
	int err;

	parse_operands(evaluator, instruction);
	if (has_immediate && ((instruction->reg & 7) > 1 || bytes == 2))
		return -ENOENT;
	right = !has_immediate ? value_cut(evaluator->registers[instruction->reg], bytes) :
		bytes == 1     ? value_number((int8_t)instruction->bytes[instruction->at], true) :
			     value_number(immediate32(instruction->bytes + instruction->at), true);
	err = load_operand(evaluator, instruction, bytes, &left);
	if (err)
		return err;
	if (left.kind == VALUE_THREAD && !has_immediate && !instruction->is_memory &&
	    instruction->reg == instruction->rm)
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

/* Calls keep a word of the stack, so that pushes and pops fit together; it is never read. */
static int call(struct evaluator *evaluator, struct value target, uint64_t next)
{
	push(evaluator, (struct value){ 0 });
	return evaluator_call(evaluator, target, next);
}

/*
 * A slot that is not bound leads to the next instructions of the PLT: endbr64 perhaps, a push of the
 * relocation's number and a jump.
 */
static int bind_target(struct evaluator *evaluator, const struct instruction *instruction,
		       struct value *target)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t code[12];
	size_t at;
	int err;

	if (!instruction->is_memory || target->kind != VALUE_NUMBER)
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

	parse_operands(evaluator, instruction);
	err = load_operand(evaluator, instruction, 8, &target);
	if (err)
		return err;
	switch (instruction->reg & 7) {
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
	uint8_t bytes = instruction->operand_bytes;
	struct value value;
	int err = 0;

	parse_operands(evaluator, instruction);
	switch (instruction->opcode) {
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
		/* An address of the thread's own segment is none. */
		if (!instruction->is_memory || instruction->is_of_thread)
			value = (struct value){ 0 };
		break;
	case 0x89:
		store_operand(evaluator, instruction,
			      value_cut(evaluator->registers[instruction->reg], bytes));
		return 0;
	default: /* 0xc7 */
		if (bytes == 2)
			return -ENOENT;
		store_operand(evaluator, instruction,
			      value_number(immediate32(instruction->bytes + instruction->at),
					   true));
		return 0;
	}
	if (!err)
		set_register(evaluator, instruction->reg, bytes, value);
	return err;
}

/* movzx of b6 and b7; what only hints, and branches. */
static int step_extended(struct evaluator *evaluator, struct instruction *instruction)
{
	uint8_t opcode = instruction->opcode;
	struct value value;
	int err;

	if ((opcode & 0xf0) == 0x80)
		return branch(evaluator, opcode & 15,
			      instruction->next +
				      immediate32(instruction->bytes + instruction->at));
	if (opcode != 0xb6 && opcode != 0xb7)
		return -ENOENT;
	parse_operands(evaluator, instruction);
	if (!instruction->is_memory && opcode == 0xb6 && !instruction->rex && instruction->rm >= 4)
		return -ENOENT;
	err = load_operand(evaluator, instruction, opcode == 0xb6 ? 1 : 2, &value);
	if (!err)
		set_register(evaluator, instruction->reg, instruction->operand_bytes, value);
	return err;
}

static int step_plain(struct evaluator *evaluator, struct instruction *instruction)
{
	const uint8_t *rest = instruction->bytes + instruction->at;
	uint8_t opcode = instruction->opcode;
	uint8_t low = (opcode & 7) | (instruction->rex & 1) << 3;
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
		return branch(evaluator, opcode & 15, instruction->next + (int8_t)rest[0]);
	if ((opcode & 0xf8) == 0xb8 && instruction->operand_bytes == 4) {
		set_register(evaluator, low, 4, value_number((uint32_t)immediate32(rest), true));
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
		return call(evaluator, value_number(instruction->next + immediate32(rest), true),
			    instruction->next);
	case 0xe9:
		evaluator->pc = instruction->next + immediate32(rest);
		return 0;
	case 0xeb:
		evaluator->pc = instruction->next + (int8_t)rest[0];
		return 0;
	case 0xff:
		return step_group5(evaluator, instruction);
	default:
		return -ENOENT;
	}
}

/* What an instruction that is not followed leaves. */
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
	struct instruction instruction = { 0 };
	/* Longer than any: what is parsed ends within, whatever it is. */
	uint8_t bytes[2 * X86_MAX_INSTRUCTION_BYTES + 2] = { 0 };
	struct x86_instruction decoded;
	const uint8_t *code;
	size_t count;
	int err;

	code = evaluator_fetch(evaluator, X86_MAX_INSTRUCTION_BYTES, &count, &err);
	if (err)
		return err;
	count = count < X86_MAX_INSTRUCTION_BYTES ? count : X86_MAX_INSTRUCTION_BYTES;
	memcpy(bytes, code, count);
	if (!x86_decode(bytes, count, &decoded))
		return fail(-EOPNOTSUPP, "an instruction at %#" PRIx64 " that is not known",
			    evaluator->pc);
	instruction.bytes = bytes;
	instruction.next = evaluator->pc + decoded.length;
	evaluator->pc = instruction.next;
	if (decoded.kind == X86_NOP)
		return 0;
	parse_prefixes(&instruction);
	err = instruction.is_extended ? step_extended(evaluator, &instruction) :
					step_plain(evaluator, &instruction);
	return err == -ENOENT ? step_over(evaluator, &decoded) : err;
}
