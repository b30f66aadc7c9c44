/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions of arm64 (Arm ARM, C4.1 and C6.2) that small functions consist of. Others that write a
 * register are refused, except those whose only effect is an unknown result.
 */
#include "interpreters/call_evaluator_arm64.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/isa/arm64_decode.h"

enum { SLOT_REGISTER = 16 };

/*
 * stp x16, x30, [sp, #-16]!: the instruction that a call between libraries reaches while it is not bound.
 * x16 has the address of the call's slot (ELF for the Arm 64-bit Architecture, procedure linkage table).
 */
#define BINDER_BEGIN 0xa9bf7bf0

/* Register 31 is the zero register here. */
static struct value get(const struct evaluator *evaluator, uint32_t number, uint8_t bytes)
{
	return number == ARM64_ZERO ? value_number(0, true) :
				      value_cut(evaluator->registers[number], bytes);
}

static void set(struct evaluator *evaluator, uint32_t number, uint8_t bytes, struct value value)
{
	if (number != ARM64_ZERO)
		evaluator->registers[number] = value_cut(value, bytes);
}

static void compare(struct evaluator *evaluator, struct value left, struct value right,
		    uint8_t bytes)
{
	bool is_known = left.kind != VALUE_UNKNOWN && right.kind != VALUE_UNKNOWN;

	evaluator->flags =
		(struct comparison){ .left = left, .right = right, .bytes = is_known ? bytes : 0 };
}

static struct value shifted(struct value value, uint32_t kind, uint32_t count, uint8_t bytes)
{
	if (!count)
		return value;
	if (value.kind != VALUE_NUMBER || kind > ARM64_LSR)
		return (struct value){ 0 };
	value.number = kind == ARM64_LSR ? value.number >> count : value.number << count;
	return value_cut(value, bytes);
}

/* uxtb, uxth, uxtw, uxtx and their signed forms, then a shift to the left. */
static struct value extended(struct value value, uint32_t option, uint32_t shift)
{
	uint8_t bytes = (uint8_t)(1U << (option & 3));

	if (option >= 4 && bytes < 8 && value.kind == VALUE_NUMBER)
		value.number =
			(uint64_t)((int64_t)(value.number << (64 - bytes * 8)) >> (64 - bytes * 8));
	else
		value = value_cut(value, bytes);
	return shifted(value, ARM64_LSL, shift, 8);
}

/* ubfm: lsr, lsl, ubfx, ubfiz, uxtb, uxth. */
static struct value bitfield(struct value value, const struct arm64_instruction *instruction)
{
	uint32_t rotate = instruction->shift, last = (uint32_t)instruction->immediate,
		 width = instruction->bytes * 8;

	if (value.kind != VALUE_NUMBER || last >= width || rotate >= width)
		return (struct value){ 0 };
	if (last >= rotate) {
		value.number >>= rotate;
		width = last - rotate + 1;
		rotate = 0;
	} else {
		rotate = width - rotate;
		width = last + 1;
	}
	if (width < 64)
		value.number &= (UINT64_C(1) << width) - 1;
	value.number <<= rotate;
	return value_cut(value, instruction->bytes);
}

/* The last operand of a sum or of a bitwise operation. */
static struct value operand(const struct evaluator *evaluator,
			    const struct arm64_instruction *instruction)
{
	uint8_t bytes = instruction->bytes;

	switch (instruction->operand) {
	case ARM64_IMMEDIATE:
		return value_number((uint64_t)instruction->immediate, true);
	case ARM64_SHIFTED:
		return shifted(get(evaluator, instruction->rm, bytes), instruction->shift_kind,
			       instruction->shift, bytes);
	default:
		return extended(get(evaluator, instruction->rm, bytes), instruction->extend,
				instruction->shift);
	}
}

static void set_result(struct evaluator *evaluator, const struct arm64_instruction *instruction,
		       struct value result)
{
	/* The stack pointer is written with all bits, whatever the size of the operands. */
	if (instruction->rd == ARM64_SP && instruction->writes)
		evaluator->registers[ARM64_SP] = result;
	else
		set(evaluator, instruction->rd, instruction->bytes, result);
}

/* add and sub of all kinds; subs to the zero register is cmp. */
static void step_sum(struct evaluator *evaluator, const struct arm64_instruction *instruction)
{
	bool is_subtraction = instruction->operation == ARM64_SUBTRACT;
	uint8_t bytes = instruction->bytes;
	struct value right = operand(evaluator, instruction), left;

	left = instruction->operand == ARM64_SHIFTED ?
		       get(evaluator, instruction->rn, bytes) :
		       value_cut(evaluator->registers[instruction->rn], bytes);
	if (instruction->sets_flags && is_subtraction)
		compare(evaluator, left, right, bytes);
	else if (instruction->sets_flags)
		evaluator->flags.bytes = 0;
	set_result(evaluator, instruction,
		   is_subtraction ? value_subtract(left, right) : value_add(left, right));
}

static void step_logical(struct evaluator *evaluator, const struct arm64_instruction *instruction)
{
	struct value left = get(evaluator, instruction->rn, instruction->bytes);
	struct value right = operand(evaluator, instruction), result = { 0 };
	bool are_numbers = left.kind == VALUE_NUMBER && right.kind == VALUE_NUMBER;
	uint8_t operation = instruction->operation;

	if (are_numbers)
		result = value_number(operation == ARM64_OR  ? left.number | right.number :
				      operation == ARM64_XOR ? left.number ^ right.number :
							       left.number & right.number,
				      left.is_immediate && right.is_immediate);
	else if (operation == ARM64_OR && left.kind == VALUE_NUMBER && !left.number)
		result = right;
	if (instruction->sets_flags) {
		compare(evaluator, result, value_number(0, true), instruction->bytes);
		evaluator->flags.is_test = true;
	}
	set_result(evaluator, instruction, result);
}

static int step_move(struct evaluator *evaluator, const struct arm64_instruction *instruction)
{
	uint64_t number = (uint64_t)instruction->immediate;

	if (instruction->operation == ARM64_MOVN) {
		number = ~number;
	} else if (instruction->operation == ARM64_MOVK) {
		struct value old = get(evaluator, instruction->rd, instruction->bytes);

		if (old.kind != VALUE_NUMBER)
			return -EOPNOTSUPP;
		number |= old.number & ~(UINT64_C(0xffff) << instruction->shift);
	}
	set(evaluator, instruction->rd, instruction->bytes, value_number(number, true));
	return 0;
}

static int step_binder(struct evaluator *evaluator)
{
	struct value target = { 0 };
	int err = evaluator_bind(evaluator, evaluator->registers[SLOT_REGISTER], &target);

	return err ? err : evaluator_jump(evaluator, target);
}

static bool changes_base(const struct arm64_instruction *instruction)
{
	return instruction->mode == ARM64_POST_INDEX || instruction->mode == ARM64_PRE_INDEX;
}

/* The address that is accessed. *@moved: the base register afterwards. */
static struct value access_address(const struct evaluator *evaluator,
				   const struct arm64_instruction *instruction, struct value *moved)
{
	struct value base = evaluator->registers[instruction->rn];
	struct value sum = value_add(base, value_number((uint64_t)instruction->immediate, true));

	*moved = base;
	if (instruction->mode == ARM64_INDEX)
		return value_add(base, extended(get(evaluator, instruction->rm, 8),
						instruction->extend, instruction->shift));
	if (instruction->mode == ARM64_OFFSET)
		return sum;
	*moved = sum;
	return instruction->mode == ARM64_POST_INDEX ? base : sum;
}

/* Loads and stores of pairs, with or without a change of the base register. */
static int step_pair(struct evaluator *evaluator, const struct arm64_instruction *instruction)
{
	uint8_t registers[2] = { instruction->rd, instruction->second };
	bool is_load = instruction->operation == ARM64_LOAD_PAIR;
	struct value moved, address = access_address(evaluator, instruction, &moved);

	if (instruction->is_vector || instruction->bytes != 8)
		return is_load && !instruction->is_vector ? -EOPNOTSUPP : 0;
	for (uint32_t i = 0; i < 2; i++) {
		struct value word = value_add(address, value_number(8 * i, true)), value;
		int err;

		if (!is_load) {
			evaluator_store(evaluator, word, 8, get(evaluator, registers[i], 8));
			continue;
		}
		err = evaluator_load(evaluator, word, 8, &value);
		if (err)
			return err;
		set(evaluator, registers[i], 8, value);
	}
	if (changes_base(instruction))
		evaluator->registers[instruction->rn] = moved;
	return 0;
}

/* Loads and stores of one register: at an offset, before or after a change of the base, or with an index. */
static int step_single(struct evaluator *evaluator, const struct arm64_instruction *instruction)
{
	uint8_t bytes = instruction->bytes;
	struct value moved, address = access_address(evaluator, instruction, &moved), value;
	int err;

	if (instruction->is_vector)
		return -EOPNOTSUPP;
	if (instruction->operation == ARM64_STORE) {
		evaluator_store(evaluator, address, bytes, get(evaluator, instruction->rd, bytes));
	} else {
		err = evaluator_load(evaluator, address, bytes, &value);
		if (err)
			return err;
		/* The result of a load with sign extension is unknown. */
		if (instruction->is_signed)
			value = (struct value){ 0 };
		set(evaluator, instruction->rd, 8, value);
	}
	if (changes_base(instruction))
		evaluator->registers[instruction->rn] = moved;
	return 0;
}

static int branch_by(struct evaluator *evaluator, const struct arm64_instruction *instruction)
{
	/* Odd codes are the opposites of the even ones: eq, cs, mi, vs, hi, ge, gt. */
	static const struct {
		uint8_t condition;
		bool is_opposite;
		bool is_known;
	} conditions[] = {
		[0] = { CONDITION_EQUAL, false, true },
		[1] = { CONDITION_BELOW, true, true },
		[2] = { CONDITION_NEGATIVE, false, true },
		[4] = { CONDITION_BELOW_EQUAL, true, true },
		[5] = { CONDITION_LESS, true, true },
		[6] = { CONDITION_LESS_EQUAL, true, true },
		[7] = { 0, false, false },
	};
	uint32_t index = instruction->condition >> 1;
	bool holds;
	int err;

	if (!conditions[index].is_known)
		return -EOPNOTSUPP;
	err = evaluator_decide(evaluator, conditions[index].condition, &holds);
	if (!err && (holds != conditions[index].is_opposite) != (instruction->condition & 1))
		evaluator->pc = instruction->target;
	return err;
}

/* cbz, cbnz, tbz, tbnz */
static int branch_by_zero(struct evaluator *evaluator, const struct arm64_instruction *instruction)
{
	bool is_bit = instruction->operation == ARM64_BRANCH_BIT, holds;
	struct value value = get(evaluator, instruction->rd, is_bit ? 8 : instruction->bytes);
	int err;

	if (is_bit && value.kind != VALUE_NUMBER)
		return -EOPNOTSUPP;
	if (is_bit)
		value = value_number(value.number >> instruction->immediate & 1, false);
	compare(evaluator, value, value_number(0, true), 8);
	err = evaluator_decide(evaluator, CONDITION_EQUAL, &holds);
	if (!err && holds != instruction->is_opposite)
		evaluator->pc = instruction->target;
	return err;
}

/* Branches to the address in a register. pc is already at the next instruction. */
static int step_register_branch(struct evaluator *evaluator,
				const struct arm64_instruction *instruction)
{
	struct value value = evaluator->registers[instruction->rn];

	if (instruction->operation == ARM64_RETURN) {
		if (instruction->rn != ARM64_LR)
			return -EOPNOTSUPP;
		evaluator_return(evaluator);
		return 0;
	}
	if (instruction->is_authenticated)
		return -EOPNOTSUPP;
	return instruction->operation == ARM64_CALL_REGISTER ?
		       evaluator_call(evaluator, value, evaluator->pc) :
		       evaluator_jump(evaluator, value);
}

/* pc is already at the next instruction. */
static int step(struct evaluator *evaluator, const struct arm64_instruction *instruction)
{
	switch (instruction->operation) {
	case ARM64_ADR:
	case ARM64_ADRP:
		set(evaluator, instruction->rd, 8, value_number(instruction->target, true));
		return 0;
	case ARM64_ADD:
	case ARM64_SUBTRACT:
		step_sum(evaluator, instruction);
		return 0;
	case ARM64_AND:
	case ARM64_OR:
	case ARM64_XOR:
		step_logical(evaluator, instruction);
		return 0;
	case ARM64_MOVZ:
	case ARM64_MOVN:
	case ARM64_MOVK:
		return step_move(evaluator, instruction);
	case ARM64_UBFM:
		set(evaluator, instruction->rd, instruction->bytes,
		    bitfield(get(evaluator, instruction->rn, instruction->bytes), instruction));
		return 0;
	/* csel and other instructions with a condition or two sources: the result is unknown. */
	case ARM64_DATA:
		set(evaluator, instruction->rd, 8, (struct value){ 0 });
		return 0;
	case ARM64_LOAD:
	case ARM64_STORE:
		return step_single(evaluator, instruction);
	case ARM64_LOAD_PAIR:
	case ARM64_STORE_PAIR:
		return step_pair(evaluator, instruction);
	case ARM64_JUMP:
		return evaluator_jump(evaluator, value_number(instruction->target, true));
	case ARM64_CALL:
		return evaluator_call(evaluator, value_number(instruction->target, true),
				      evaluator->pc);
	case ARM64_BRANCH:
		return branch_by(evaluator, instruction);
	case ARM64_BRANCH_ZERO:
	case ARM64_BRANCH_BIT:
		return branch_by_zero(evaluator, instruction);
	case ARM64_JUMP_REGISTER:
	case ARM64_CALL_REGISTER:
	case ARM64_RETURN:
		return step_register_branch(evaluator, instruction);
	case ARM64_READ_SYSTEM:
		if (instruction->immediate != ARM64_TPIDR_EL0)
			return -EOPNOTSUPP;
		set(evaluator, instruction->rd, 8, (struct value){ .kind = VALUE_THREAD });
		return 0;
	case ARM64_NOP:
	case ARM64_HINT:
	case ARM64_PREFETCH:
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

int evaluator_step_arm64(struct evaluator *evaluator)
{
	struct arm64_instruction instruction;
	const uint8_t *code;
	uint32_t word;
	size_t count;
	int err;

	code = evaluator_fetch(evaluator, ARM64_INSTRUCTION_BYTES, &count, &err);
	if (err)
		return err;
	if (count < ARM64_INSTRUCTION_BYTES)
		return fail(-EOPNOTSUPP, "code that is cut at %#" PRIx64, evaluator->pc);
	memcpy(&word, code, sizeof(word));
	arm64_decode(word, evaluator->pc, &instruction);
	evaluator->pc += ARM64_INSTRUCTION_BYTES;
	err = word == BINDER_BEGIN ? step_binder(evaluator) : step(evaluator, &instruction);
	return err == -EOPNOTSUPP ?
		       fail(-EOPNOTSUPP, "the instruction before %#" PRIx64 " is not followed",
			    evaluator->pc) :
		       err;
}
