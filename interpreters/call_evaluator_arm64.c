/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions of arm64 (Arm ARM, C4.1 and C6.2) that small functions are made of. What else writes
 * a register is refused, but for hints and stores.
 */
#include "interpreters/call_evaluator_arm64.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/isa/arm64_bits.h"

enum { SP = 31, SLOT_REGISTER = 16, INSTRUCTION_BYTES = 4 };

/*
 * stp x16, x30, [sp, #-16]!: what calls between libraries that are not bound yet lead to, with their
 * slot in x16 (ELF for the Arm 64-bit Architecture, procedure linkage table).
 */
#define BINDER_BEGIN 0xa9bf7bf0

/* Register 31 is the zero register here. */
static struct value get(const struct evaluator *evaluator, uint32_t number, uint8_t bytes)
{
	return number == SP ? value_number(0, true) :
			      value_cut(evaluator->registers[number], bytes);
}

static void set(struct evaluator *evaluator, uint32_t number, uint8_t bytes, struct value value)
{
	if (number != SP)
		evaluator->registers[number] = value_cut(value, bytes);
}

static void compare(struct evaluator *evaluator, struct value left, struct value right,
		    uint8_t bytes)
{
	bool is_known = left.kind != VALUE_UNKNOWN && right.kind != VALUE_UNKNOWN;

	evaluator->flags =
		(struct comparison){ .left = left, .right = right, .bytes = is_known ? bytes : 0 };
}

/* What add and sub, of all kinds, write; subs to the zero register is cmp. */
static void sum(struct evaluator *evaluator, uint32_t word, struct value left, struct value right,
		uint8_t bytes, bool to_sp)
{
	bool is_subtraction = arm64_bits(word, 30, 1), sets_flags = arm64_bits(word, 29, 1);
	uint32_t to = arm64_bits(word, 0, 5);
	struct value result = is_subtraction ? value_subtract(left, right) : value_add(left, right);

	if (sets_flags && is_subtraction)
		compare(evaluator, left, right, bytes);
	else if (sets_flags)
		evaluator->flags.bytes = 0;
	if (to == SP && to_sp && !sets_flags)
		evaluator->registers[SP] = result;
	else
		set(evaluator, to, bytes, result);
}

static struct value shifted(struct value value, uint32_t kind, uint32_t count, uint8_t bytes)
{
	if (!count)
		return value;
	if (value.kind != VALUE_NUMBER || kind > 1)
		return (struct value){ 0 };
	value.number = kind ? value.number >> count : value.number << count;
	return value_cut(value, bytes);
}

/* uxtb, uxth, uxtw, uxtx and their signed ones, then a shift to the left. */
static struct value extended(struct value value, uint32_t option, uint32_t shift)
{
	uint8_t bytes = (uint8_t)(1U << (option & 3));

	if (option >= 4 && bytes < 8 && value.kind == VALUE_NUMBER)
		value.number =
			(uint64_t)((int64_t)(value.number << (64 - bytes * 8)) >> (64 - bytes * 8));
	else
		value = value_cut(value, bytes);
	return shifted(value, 0, shift, 8);
}

/* ubfm: lsr, lsl, ubfx, ubfiz, uxtb, uxth. */
static struct value bitfield(struct value value, uint32_t word, uint8_t bytes)
{
	uint32_t rotate = arm64_bits(word, 16, 6), last = arm64_bits(word, 10, 6),
		 width = bytes * 8;

	if (value.kind != VALUE_NUMBER || arm64_bits(word, 29, 2) != 2 || last >= width ||
	    rotate >= width)
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
	return value_cut(value, bytes);
}

/* Immediates of and, orr, eor, ands (DecodeBitMasks); false for those that are reserved. */
static bool logical_immediate(uint32_t word, uint8_t bytes, uint64_t *mask)
{
	uint32_t immr = arm64_bits(word, 16, 6), imms = arm64_bits(word, 10, 6);
	uint32_t pattern = arm64_bits(word, 22, 1) << 6 | (~imms & 63);
	uint32_t length, levels, size, ones;
	uint64_t element;

	if (!pattern || pattern == 1)
		return false;
	length = 31 - (uint32_t)__builtin_clz(pattern);
	size = 1U << length;
	levels = size - 1;
	ones = (imms & levels) + 1;
	immr &= levels;
	if (ones == size || size > bytes * 8U)
		return false;
	element = (UINT64_C(1) << ones) - 1;
	if (immr)
		element = (element >> immr | element << (size - immr)) &
			  (size < 64 ? (UINT64_C(1) << size) - 1 : UINT64_MAX);
	for (uint32_t at = size; at < 64; at *= 2)
		element |= element << at;
	*mask = bytes < 8 ? element & UINT32_MAX : element;
	return true;
}

static void logical(struct evaluator *evaluator, uint32_t word, struct value left,
		    struct value right, uint8_t bytes, bool to_sp)
{
	uint32_t operation = arm64_bits(word, 29, 2), to = arm64_bits(word, 0, 5);
	bool are_numbers = left.kind == VALUE_NUMBER && right.kind == VALUE_NUMBER;
	struct value result = { 0 };

	if (are_numbers)
		result = value_number(operation == 1 ? left.number | right.number :
				      operation == 2 ? left.number ^ right.number :
						       left.number & right.number,
				      left.is_immediate && right.is_immediate);
	else if (operation == 1 && left.kind == VALUE_NUMBER && !left.number)
		result = right;
	if (operation == 3) {
		compare(evaluator, result, value_number(0, true), bytes);
		evaluator->flags.is_test = true;
	}
	if (to == SP && to_sp)
		evaluator->registers[SP] = result;
	else
		set(evaluator, to, bytes, result);
}

/* Data processing with immediates, C4.1.92. */
static int step_immediate(struct evaluator *evaluator, uint32_t word)
{
	uint8_t bytes = arm64_bits(word, 31, 1) ? 8 : 4;
	uint32_t from = arm64_bits(word, 5, 5), to = arm64_bits(word, 0, 5), shift;
	uint64_t mask;

	switch (arm64_bits(word, 23, 3)) {
	case 0:
	case 1: { /* adr, adrp */
		int64_t offset = arm64_signed_bits(word, 5, 19) * 4 + arm64_bits(word, 29, 2);
		uint64_t pc = evaluator->pc;

		set(evaluator, to, 8,
		    value_number(arm64_bits(word, 31, 1) ?
					 (pc & ~UINT64_C(4095)) + (uint64_t)offset * 4096 :
					 pc + (uint64_t)offset,
				 true));
		return 0;
	}
	case 2: /* add, sub */
		mask = (uint64_t)arm64_bits(word, 10, 12) << (arm64_bits(word, 22, 1) ? 12 : 0);
		sum(evaluator, word, value_cut(evaluator->registers[from], bytes),
		    value_number(mask, true), bytes, true);
		return 0;
	case 4: /* and, orr, eor, ands */
		if (!logical_immediate(word, bytes, &mask))
			return -EOPNOTSUPP;
		logical(evaluator, word, get(evaluator, from, bytes), value_number(mask, true),
			bytes, true);
		return 0;
	case 5: /* movn, movz, movk */
		shift = arm64_bits(word, 21, 2) * 16;
		mask = (uint64_t)arm64_bits(word, 5, 16) << shift;
		if (arm64_bits(word, 29, 2) == 0)
			mask = ~mask;
		else if (arm64_bits(word, 29, 2) == 3) {
			struct value old = get(evaluator, to, bytes);

			if (old.kind != VALUE_NUMBER)
				return -EOPNOTSUPP;
			mask |= old.number & ~(UINT64_C(0xffff) << shift);
		}
		set(evaluator, to, bytes, value_number(mask, true));
		return 0;
	case 6:
		set(evaluator, to, bytes, bitfield(get(evaluator, from, bytes), word, bytes));
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

/* Data processing of registers, C4.1.95. */
static int step_register(struct evaluator *evaluator, uint32_t word)
{
	uint8_t bytes = arm64_bits(word, 31, 1) ? 8 : 4;
	struct value left = get(evaluator, arm64_bits(word, 5, 5), bytes);
	struct value right = get(evaluator, arm64_bits(word, 16, 5), bytes);

	if (arm64_bits(word, 24, 5) == 0x0a && !arm64_bits(word, 21, 1)) {
		logical(evaluator, word, left,
			shifted(right, arm64_bits(word, 22, 2), arm64_bits(word, 10, 6), bytes),
			bytes, false);
		return 0;
	}
	if (arm64_bits(word, 24, 5) == 0x0b && !arm64_bits(word, 21, 1)) {
		sum(evaluator, word, left,
		    shifted(right, arm64_bits(word, 22, 2), arm64_bits(word, 10, 6), bytes), bytes,
		    false);
		return 0;
	}
	if (arm64_bits(word, 24, 5) == 0x0b) {
		left = value_cut(evaluator->registers[arm64_bits(word, 5, 5)], bytes);
		sum(evaluator, word, left,
		    extended(right, arm64_bits(word, 13, 3), arm64_bits(word, 10, 3)), bytes, true);
		return 0;
	}
	/* csel, and others of a condition or of two sources, are not followed. */
	set(evaluator, arm64_bits(word, 0, 5), 8, (struct value){ 0 });
	return 0;
}

static int step_binder(struct evaluator *evaluator)
{
	struct value target = { 0 };
	int err = evaluator_bind(evaluator, evaluator->registers[SLOT_REGISTER], &target);

	return err ? err : evaluator_jump(evaluator, target);
}

/* Pairs, with or without a change of the base register. */
static int step_pair(struct evaluator *evaluator, uint32_t word)
{
	uint32_t mode = arm64_bits(word, 23, 2), base = arm64_bits(word, 5, 5);
	uint32_t registers[2] = { arm64_bits(word, 0, 5), arm64_bits(word, 10, 5) };
	struct value address = evaluator->registers[base];
	struct value moved = value_add(
		address, value_number((uint64_t)(arm64_signed_bits(word, 15, 7) * 8), true));

	if (arm64_bits(word, 30, 2) != 2 || arm64_bits(word, 26, 1))
		return arm64_bits(word, 22, 1) && !arm64_bits(word, 26, 1) ? -EOPNOTSUPP : 0;
	if (mode != 1)
		address = moved;
	for (uint32_t i = 0; i < 2; i++) {
		struct value place = value_add(address, value_number(8 * i, true)), value;
		int err;

		if (!arm64_bits(word, 22, 1)) {
			evaluator_store(evaluator, place, 8, get(evaluator, registers[i], 8));
			continue;
		}
		err = evaluator_load(evaluator, place, 8, &value);
		if (err)
			return err;
		set(evaluator, registers[i], 8, value);
	}
	if (mode == 1 || mode == 3)
		evaluator->registers[base] = moved;
	return 0;
}

/* One register: at an offset, before or behind a change of the base, or with an index. */
static int step_single(struct evaluator *evaluator, uint32_t word)
{
	uint8_t bytes = (uint8_t)(1U << arm64_bits(word, 30, 2));
	uint32_t base = arm64_bits(word, 5, 5), operation = arm64_bits(word, 22, 2),
		 mode = arm64_bits(word, 10, 2);
	struct value address = evaluator->registers[base], moved = address, value;
	uint32_t to = arm64_bits(word, 0, 5);
	int err;

	if (arm64_bits(word, 26, 1))
		return -EOPNOTSUPP;
	if (arm64_bits(word, 24, 1)) {
		address = value_add(address,
				    value_number(arm64_bits(word, 10, 12) * (uint64_t)bytes, true));
	} else if (arm64_bits(word, 21, 1) && mode == 2) {
		address = value_add(
			address, extended(get(evaluator, arm64_bits(word, 16, 5), 8),
					  arm64_bits(word, 13, 3),
					  arm64_bits(word, 12, 1) ? arm64_bits(word, 30, 2) : 0));
	} else if (arm64_bits(word, 21, 1)) {
		return -EOPNOTSUPP;
	} else {
		moved = value_add(address,
				  value_number((uint64_t)arm64_signed_bits(word, 12, 9), true));
		if (mode != 1)
			address = moved;
	}
	if (operation == 0) {
		evaluator_store(evaluator, address, bytes, get(evaluator, to, bytes));
	} else {
		err = evaluator_load(evaluator, address, bytes, &value);
		if (err)
			return err;
		/* Signed ones: of words only, and of numbers. */
		if (operation > 1)
			value = (struct value){ 0 };
		set(evaluator, to, 8, value);
	}
	if (!arm64_bits(word, 24, 1) && !arm64_bits(word, 21, 1) && (mode == 1 || mode == 3))
		evaluator->registers[base] = moved;
	return 0;
}

static int branch_by(struct evaluator *evaluator, uint32_t condition, uint64_t target)
{
	/* eq, cs, mi, vs, hi, ge, gt; the odd ones are their opposites. */
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
	uint32_t index = condition >> 1;
	bool holds;
	int err;

	if (!conditions[index].is_known)
		return -EOPNOTSUPP;
	err = evaluator_decide(evaluator, conditions[index].condition, &holds);
	if (!err && (holds != conditions[index].is_opposite) != (condition & 1))
		evaluator->pc = target;
	return err;
}

/* Branches, exceptions and system instructions, C4.1.93; pc is that of the next one already. */
static int step_branch(struct evaluator *evaluator, uint32_t word)
{
	uint64_t address = evaluator->pc - INSTRUCTION_BYTES, next = evaluator->pc;
	struct value value;
	bool holds;
	int err;

	if ((word & 0x7c000000) == 0x14000000) { /* b, bl */
		value = value_number(address + (uint64_t)(arm64_signed_bits(word, 0, 26) * 4),
				     true);
		return arm64_bits(word, 31, 1) ? evaluator_call(evaluator, value, next) :
						 evaluator_jump(evaluator, value);
	}
	if ((word & 0xff000010) == 0x54000000)
		return branch_by(evaluator, arm64_bits(word, 0, 4),
				 address + (uint64_t)(arm64_signed_bits(word, 5, 19) * 4));
	if ((word & 0x7e000000) == 0x34000000 || (word & 0x7e000000) == 0x36000000) {
		bool is_bit = word & 0x02000000;
		uint8_t bytes = arm64_bits(word, 31, 1) ? 8 : 4;
		uint32_t bit = arm64_bits(word, 31, 1) << 5 | arm64_bits(word, 19, 5);

		value = get(evaluator, arm64_bits(word, 0, 5), is_bit ? 8 : bytes);
		if (is_bit && value.kind != VALUE_NUMBER)
			return -EOPNOTSUPP;
		if (is_bit)
			value = value_number(value.number >> bit & 1, false);
		compare(evaluator, value, value_number(0, true), 8);
		err = evaluator_decide(evaluator, CONDITION_EQUAL, &holds);
		if (!err && holds != arm64_bits(word, 24, 1))
			evaluator->pc =
				address + (uint64_t)((is_bit ? arm64_signed_bits(word, 5, 14) :
							       arm64_signed_bits(word, 5, 19)) *
						     4);
		return err;
	}
	if ((word & 0xffdffc1f) == 0xd61f0000) { /* br, blr */
		value = evaluator->registers[arm64_bits(word, 5, 5)];
		return arm64_bits(word, 21, 1) ? evaluator_call(evaluator, value, next) :
						 evaluator_jump(evaluator, value);
	}
	if (word == 0xd65f03c0 || word == 0xd65f0bff ||
	    word == 0xd65f0fff) { /* ret, retaa, retab */
		evaluator_return(evaluator);
		return 0;
	}
	if ((word & 0xffffffe0) == 0xd53bd040) { /* mrs, tpidr_el0 */
		set(evaluator, arm64_bits(word, 0, 5), 8, (struct value){ .kind = VALUE_THREAD });
		return 0;
	}
	/* Hints: nop, bti, paciasp, autiasp; barriers. */
	if ((word & 0xfffff01f) == 0xd503201f || (word & 0xfffff000) == 0xd5033000)
		return 0;
	return -EOPNOTSUPP;
}

int evaluator_step_arm64(struct evaluator *evaluator)
{
	const uint8_t *code;
	uint32_t word, group;
	size_t count;
	int err;

	code = evaluator_fetch(evaluator, INSTRUCTION_BYTES, &count, &err);
	if (err)
		return err;
	if (count < INSTRUCTION_BYTES)
		return fail(-EOPNOTSUPP, "code that is cut at %#" PRIx64, evaluator->pc);
	memcpy(&word, code, sizeof(word));
	group = arm64_bits(word, 25, 4);
	if ((group & 14) == 8) {
		/* The only ones that use pc as it is. */
		err = step_immediate(evaluator, word);
		evaluator->pc += INSTRUCTION_BYTES;
	} else {
		evaluator->pc += INSTRUCTION_BYTES;
		if ((group & 14) == 10)
			err = step_branch(evaluator, word);
		else if ((group & 7) == 5)
			err = step_register(evaluator, word);
		else if (word == BINDER_BEGIN)
			err = step_binder(evaluator);
		else if ((group & 5) == 4 && arm64_bits(word, 27, 3) == 5)
			err = step_pair(evaluator, word);
		else if ((group & 5) == 4 && arm64_bits(word, 27, 3) == 7)
			err = step_single(evaluator, word);
		else
			err = -EOPNOTSUPP;
	}
	return err == -EOPNOTSUPP ?
		       fail(-EOPNOTSUPP, "the instruction before %#" PRIx64 " is not followed",
			    evaluator->pc) :
		       err;
}
