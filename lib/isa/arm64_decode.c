/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoder selects the group of C4.1, then the instructions of the group that users distinguish. For all
 * others only the general register that they write is found.
 */
#include "lib/isa/arm64_decode.h"

enum {
	MOVE_WIDE_BITS = 16,
	PAGE_BYTES = 4096,
	MAX_SCALE = 4,
};

/* @count bits from bit @low on; @count is less than 32. */
static uint32_t bits(uint32_t word, unsigned int low, unsigned int count)
{
	return word >> low & ((1U << count) - 1);
}

static int64_t signed_bits(uint32_t word, unsigned int low, unsigned int count)
{
	return (int64_t)((uint64_t)word << (64 - low - count)) >> (64 - count);
}

/* The bit of register @number, where 31 is the zero register. */
static uint32_t register_bit(uint32_t number)
{
	return number == ARM64_ZERO ? 0 : 1U << number;
}

/* --- data processing with immediates, C4.1.92 --- */

static void decode_address(uint32_t word, uint64_t address, struct arm64_instruction *instruction)
{
	uint64_t distance = (uint64_t)(signed_bits(word, 5, 19) * 4 + bits(word, 29, 2));
	bool is_page = bits(word, 31, 1);

	instruction->operation = is_page ? ARM64_ADRP : ARM64_ADR;
	instruction->target =
		is_page ? (address & ~(uint64_t)(PAGE_BYTES - 1)) + distance * PAGE_BYTES :
			  address + distance;
}

static void decode_add_immediate(uint32_t word, struct arm64_instruction *instruction)
{
	instruction->operation = bits(word, 30, 1) ? ARM64_SUBTRACT : ARM64_ADD;
	instruction->operand = ARM64_IMMEDIATE;
	instruction->sets_flags = bits(word, 29, 1);
	instruction->immediate = (int64_t)bits(word, 10, 12) << (bits(word, 22, 1) ? 12 : 0);
	if (!instruction->sets_flags)
		instruction->writes = 1U << instruction->rd;
}

static void set_logical_operation(uint32_t word, struct arm64_instruction *instruction)
{
	static const uint8_t operations[] = { ARM64_AND, ARM64_OR, ARM64_XOR, ARM64_AND };

	instruction->operation = operations[bits(word, 29, 2)];
	instruction->sets_flags = bits(word, 29, 2) == 3;
}

/* DecodeBitMasks (J1.3): a run of ones, rotated to the right and repeated. False: reserved. */
static bool decode_bit_mask(uint32_t word, uint8_t bytes, uint64_t *mask)
{
	uint32_t turn = bits(word, 16, 6), last = bits(word, 10, 6);
	uint32_t pattern = bits(word, 22, 1) << 6 | (~last & 63);
	uint32_t size, ones;
	uint64_t element;

	if (pattern < 2)
		return false;
	size = 1U << (31 - (uint32_t)__builtin_clz(pattern));
	ones = (last & (size - 1)) + 1;
	turn &= size - 1;
	if (ones == size || size > bytes * 8U)
		return false;
	element = (UINT64_C(1) << ones) - 1;
	if (turn)
		element = (element >> turn | element << (size - turn)) &
			  (size < 64 ? (UINT64_C(1) << size) - 1 : UINT64_MAX);
	for (uint32_t at = size; at < 64; at *= 2)
		element |= element << at;
	*mask = bytes < 8 ? element & UINT32_MAX : element;
	return true;
}

static void decode_logical_immediate(uint32_t word, struct arm64_instruction *instruction)
{
	uint64_t mask;

	if (!decode_bit_mask(word, instruction->bytes, &mask))
		return;
	set_logical_operation(word, instruction);
	instruction->operand = ARM64_IMMEDIATE;
	instruction->immediate = (int64_t)mask;
	if (!instruction->sets_flags)
		instruction->writes = 1U << instruction->rd;
}

static void decode_move_wide(uint32_t word, struct arm64_instruction *instruction)
{
	static const uint8_t operations[] = { ARM64_MOVN, ARM64_DATA, ARM64_MOVZ, ARM64_MOVK };

	instruction->operation = operations[bits(word, 29, 2)];
	instruction->shift = bits(word, 21, 2) * MOVE_WIDE_BITS;
	instruction->immediate =
		(int64_t)((uint64_t)bits(word, 5, MOVE_WIDE_BITS) << instruction->shift);
}

static void decode_immediates(uint32_t word, uint64_t address,
			      struct arm64_instruction *instruction)
{
	instruction->operation = ARM64_DATA;
	instruction->writes = register_bit(instruction->rd);
	switch (bits(word, 23, 3)) {
	case 0:
	case 1:
		decode_address(word, address, instruction);
		break;
	case 2:
		decode_add_immediate(word, instruction);
		break;
	case 4:
		decode_logical_immediate(word, instruction);
		break;
	case 5:
		decode_move_wide(word, instruction);
		break;
	case 6:
		if (bits(word, 29, 2) != 2)
			break;
		instruction->operation = ARM64_UBFM;
		instruction->shift = bits(word, 16, 6);
		instruction->immediate = bits(word, 10, 6);
		break;
	/* addg, subg, smax and its like; extr */
	default:
		break;
	}
}

/* --- data processing of registers, C4.1.95 --- */

static void set_shift(uint32_t word, struct arm64_instruction *instruction)
{
	instruction->operand = ARM64_SHIFTED;
	instruction->shift_kind = bits(word, 22, 2);
	instruction->shift = bits(word, 10, 6);
}

static void decode_registers(uint32_t word, struct arm64_instruction *instruction)
{
	bool is_add = bits(word, 24, 5) == 0x0b, is_extended = is_add && bits(word, 21, 1);

	instruction->operation = ARM64_DATA;
	instruction->writes = register_bit(instruction->rd);
	if (bits(word, 24, 5) == 0x0a && !bits(word, 21, 1)) {
		set_logical_operation(word, instruction);
		set_shift(word, instruction);
		return;
	}
	if (!is_add || (is_extended && bits(word, 22, 2)))
		return;
	instruction->operation = bits(word, 30, 1) ? ARM64_SUBTRACT : ARM64_ADD;
	instruction->sets_flags = bits(word, 29, 1);
	if (!is_extended) {
		set_shift(word, instruction);
		return;
	}
	instruction->operand = ARM64_EXTENDED;
	instruction->extend = bits(word, 13, 3);
	instruction->shift = bits(word, 10, 3);
	if (!instruction->sets_flags)
		instruction->writes = 1U << instruction->rd;
}

/* --- loads and stores, C4.1.94 --- */

static void decode_pair(uint32_t word, struct arm64_instruction *instruction)
{
	/* With bit 23 alone the base changes after the access, with bits 23 and 24 before it. */
	static const uint8_t modes[] = { ARM64_OFFSET, ARM64_POST_INDEX, ARM64_OFFSET,
					 ARM64_PRE_INDEX };
	uint32_t size = bits(word, 30, 2);
	bool is_load = bits(word, 22, 1);

	instruction->operation = is_load ? ARM64_LOAD_PAIR : ARM64_STORE_PAIR;
	instruction->is_vector = bits(word, 26, 1);
	instruction->bytes = instruction->is_vector ? 4U << size : size == 2 ? 8 : 4;
	instruction->is_signed = is_load && !instruction->is_vector && size == 1;
	instruction->mode = modes[bits(word, 23, 2)];
	instruction->immediate = signed_bits(word, 15, 7) * instruction->bytes;
	if (is_load && !instruction->is_vector)
		instruction->writes = register_bit(instruction->rd) |
				      register_bit(instruction->second);
	if (instruction->mode != ARM64_OFFSET)
		instruction->writes |= 1U << instruction->rn;
}

/* The instruction and the size of loads and stores of one register, by size, V and opc. */
static void set_access(uint32_t word, struct arm64_instruction *instruction)
{
	uint32_t size = bits(word, 30, 2), opc = bits(word, 22, 2);
	bool is_vector = bits(word, 26, 1), is_load = is_vector ? opc & 1 : opc;

	instruction->operation = !is_vector && size == 3 && opc == 2 ? ARM64_PREFETCH :
				 is_load			     ? ARM64_LOAD :
								       ARM64_STORE;
	instruction->is_vector = is_vector;
	instruction->is_signed = !is_vector && opc > 1;
	instruction->bytes = 1U << (is_vector && opc & 2 ? MAX_SCALE : size);
	if (instruction->operation == ARM64_LOAD && !is_vector)
		instruction->writes = register_bit(instruction->rd);
}

/* Offsets that are immediates: scaled, or unscaled, in which case the base may change. */
static void decode_offset(uint32_t word, struct arm64_instruction *instruction)
{
	/* Bits 11 and 10: 0 is ldur and its like, 2 ldtr and its like. */
	static const uint8_t modes[] = { ARM64_OFFSET, ARM64_POST_INDEX, ARM64_OFFSET,
					 ARM64_PRE_INDEX };

	set_access(word, instruction);
	if (bits(word, 24, 1)) {
		instruction->immediate = (int64_t)bits(word, 10, 12) * instruction->bytes;
		return;
	}
	instruction->mode = modes[bits(word, 10, 2)];
	instruction->immediate = signed_bits(word, 12, 9);
	if (instruction->mode != ARM64_OFFSET)
		instruction->writes |= 1U << instruction->rn;
}

static void decode_index(uint32_t word, struct arm64_instruction *instruction)
{
	set_access(word, instruction);
	instruction->mode = ARM64_INDEX;
	instruction->extend = bits(word, 13, 3);
	if (bits(word, 12, 1))
		instruction->shift = (uint8_t)__builtin_ctz(instruction->bytes);
}

static void decode_memory(uint32_t word, struct arm64_instruction *instruction)
{
	if ((word & 0x3a000000) == 0x28000000) {
		decode_pair(word, instruction);
	} else if ((word & 0x3b000000) == 0x39000000 || (word & 0x3b200000) == 0x38000000) {
		decode_offset(word, instruction);
	} else if ((word & 0x3b200c00) == 0x38200800) {
		decode_index(word, instruction);
	} else if (bits(word, 26, 1)) {
		/* Loads and stores of vector structures change the base afterwards; literals have no base. */
		if ((word & 0x3e800000) == 0x0c800000)
			instruction->writes = 1U << instruction->rn;
	} else {
		/* Instructions that only store are treated as if they wrote the register too. */
		instruction->writes = register_bit(instruction->rd);
		/* ldxp, casp and stxr's status */
		if ((word & 0x3f000000) == 0x08000000) {
			instruction->writes |= register_bit(instruction->rm);
			if (bits(word, 21, 1))
				instruction->writes |= register_bit(instruction->second);
		}
	}
}

/* --- vectors --- */

/* SVE instructions that write a general register, C4.1.66 to 82. */
static uint32_t scalable_writes(uint32_t word)
{
	uint32_t number = bits(word, 0, 5);

	/* addvl, addpl: how far they move the stack pointer depends on the machine */
	if ((word & 0xffa0f000) == 0x04205000)
		return 1U << number;
	/* rdvl; cntb, incb, sqdecd, ...; lasta, lastb; clasta, clastb; cntp; incp, sqdecp, ... */
	if ((word & 0xffa0f000) == 0x04a05000 || (word & 0xff20e000) == 0x0420e000 ||
	    (word & 0xff2ee000) == 0x0520a000 || (word & 0xff3fc000) == 0x25208000 ||
	    (word & 0xff38f800) == 0x25288800)
		return register_bit(number);
	return 0;
}

/* C4.1.96: fmov, fcvt*, umov, smov to a general register; some other instructions match too. */
static uint32_t vector_writes(uint32_t word)
{
	bool is_conversion = (word & 0x5f200000) == 0x1e200000 && !bits(word, 10, 6);
	bool is_element = (word & 0xbfe0fc00) == 0x0e003c00 || (word & 0xbfe0fc00) == 0x0e002c00;

	return is_conversion || is_element ? register_bit(bits(word, 0, 5)) : 0;
}

/* --- branches, exceptions and system instructions, C4.1.93 --- */

/* br, blr, ret, and those that authenticate */
static void decode_register_branch(uint32_t word, struct arm64_instruction *instruction)
{
	instruction->is_authenticated = bits(word, 24, 1) || bits(word, 11, 1);
	switch (bits(word, 21, 4)) {
	case 0:
	case 8:
		instruction->operation = ARM64_JUMP_REGISTER;
		break;
	case 1:
	case 9:
		instruction->operation = ARM64_CALL_REGISTER;
		break;
	case 2:
		instruction->operation = ARM64_RETURN;
		/* retaa, retab */
		if (instruction->is_authenticated)
			instruction->rn = ARM64_LR;
		break;
	default:
		instruction->operation = ARM64_STOP;
		break;
	}
}

static void decode_system(uint32_t word, struct arm64_instruction *instruction)
{
	instruction->operation = ARM64_SYSTEM;
	if (word == 0xd503201f) {
		instruction->operation = ARM64_NOP;
	} else if ((word & 0xfffff01f) == 0xd503201f || (word & 0xfffff000) == 0xd5033000) {
		instruction->operation = ARM64_HINT;
	} else if ((word & 0xffe00000) == 0xd5200000) {
		instruction->operation = ARM64_READ_SYSTEM;
		instruction->immediate = bits(word, 5, 16);
		instruction->writes = register_bit(instruction->rd);
	}
}

static uint64_t branch_target(uint32_t word, uint64_t address, unsigned int low, unsigned int count)
{
	return address + (uint64_t)(signed_bits(word, low, count) * ARM64_INSTRUCTION_BYTES);
}

static void decode_branch(uint32_t word, uint64_t address, struct arm64_instruction *instruction)
{
	if ((word & 0x7c000000) == 0x14000000) {
		instruction->operation = bits(word, 31, 1) ? ARM64_CALL : ARM64_JUMP;
		instruction->target = branch_target(word, address, 0, 26);
	} else if ((word & 0xff000000) == 0x54000000) {
		/* b.cond, bc.cond */
		instruction->operation = ARM64_BRANCH;
		instruction->condition = bits(word, 0, 4);
		instruction->target = branch_target(word, address, 5, 19);
	} else if ((word & 0x7e000000) == 0x34000000) {
		instruction->operation = ARM64_BRANCH_ZERO;
		instruction->is_opposite = bits(word, 24, 1);
		instruction->target = branch_target(word, address, 5, 19);
	} else if ((word & 0x7e000000) == 0x36000000) {
		instruction->operation = ARM64_BRANCH_BIT;
		instruction->is_opposite = bits(word, 24, 1);
		instruction->immediate = bits(word, 31, 1) << 5 | bits(word, 19, 5);
		instruction->target = branch_target(word, address, 5, 14);
	} else if ((word & 0xfe000000) == 0xd6000000) {
		decode_register_branch(word, instruction);
	} else if ((word & 0xff000000) == 0xd4000000) {
		/* svc; brk, hlt, hvc, smc, dcps */
		instruction->operation = (word & 0xffe0001f) == 0xd4000001 ? ARM64_SYSCALL :
									     ARM64_STOP;
	} else if ((word & 0xff000000) == 0xd5000000) {
		decode_system(word, instruction);
	}
}

void arm64_decode(uint32_t word, uint64_t address, struct arm64_instruction *instruction)
{
	*instruction = (struct arm64_instruction){
		.operation = ARM64_OTHER,
		.bytes = bits(word, 31, 1) ? 8 : 4,
		.rd = bits(word, 0, 5),
		.rn = bits(word, 5, 5),
		.rm = bits(word, 16, 5),
		.second = bits(word, 10, 5),
	};
	switch (bits(word, 25, 4)) {
	/* udf; not allocated; SME */
	case 0:
		instruction->operation = word >> 16 ? ARM64_UNALLOCATED : ARM64_STOP;
		break;
	case 1:
	case 3:
		instruction->operation = ARM64_UNALLOCATED;
		break;
	case 2:
		instruction->writes = scalable_writes(word);
		break;
	case 8:
	case 9:
		decode_immediates(word, address, instruction);
		break;
	case 10:
	case 11:
		instruction->operation = ARM64_UNALLOCATED;
		decode_branch(word, address, instruction);
		break;
	case 5:
	case 13:
		decode_registers(word, instruction);
		break;
	case 7:
	case 15:
		instruction->writes = vector_writes(word);
		break;
	default:
		decode_memory(word, instruction);
		break;
	}
}
