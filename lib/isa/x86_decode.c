/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoder reads prefixes, opcode by table, ModRM, SIB, displacement and immediate; then it handles the few
 * instructions that matter. Near the end of the bytes it works on a padded copy, so that reads need no check
 * for the end.
 */
#include "lib/isa/x86_decode.h"

#include <endian.h>
#include <string.h>

#include "lib/isa/x86_opcode.h"

enum {
	MODE_REGISTER = 3,
	EXTENDED = 8,
	RM_SIB = 4,
	RM_DISPLACEMENT = 5,

	/*
	 * More than is ever read: 15 bytes of prefixes and REX behind them, VEX or opcodes, ModRM,
	 * SIB, displacement and immediate.
	 */
	READ_AHEAD = 48,
};

/* The parts of the instruction that is being decoded. */
struct parts {
	const uint8_t *position;
	const uint8_t *start;
	struct x86_opcode code;
	bool has_67;
	bool is_of_fs;
	bool has_rex;
	bool is_wide;
	/* Bit 3 of each register number, at its bit position. */
	uint8_t reg_bit;
	uint8_t index_bit;
	uint8_t base_bit;
	/* Register number in VEX and EVEX. */
	uint8_t vvvv;
	uint16_t properties;
	bool has_modrm;
	uint8_t mode;
	uint8_t reg;
	/* The register, or memory's base; X86_NO_REGISTER as in the struct of the header. */
	uint8_t rm;
	/* The memory operand. */
	bool is_pc_relative;
	uint8_t base;
	uint8_t index;
	uint8_t scale;
	int64_t displacement;
	int64_t immediate;
};

static uint8_t next_u8(struct parts *parts)
{
	return *parts->position++;
}

static uint16_t next_u16(struct parts *parts)
{
	uint16_t value;

	memcpy(&value, parts->position, sizeof(value));
	parts->position += sizeof(value);
	return le16toh(value);
}

static uint32_t next_u32(struct parts *parts)
{
	uint32_t value;

	memcpy(&value, parts->position, sizeof(value));
	parts->position += sizeof(value);
	return le32toh(value);
}

static bool read_prefixes(struct parts *parts, uint8_t *opcode)
{
	while (parts->position - parts->start < X86_MAX_INSTRUCTION_BYTES) {
		uint8_t byte = next_u8(parts);

		switch (byte) {
		case 0x66:
			parts->code.has_66 = true;
			continue;
		case 0x67:
			parts->has_67 = true;
			continue;
		case 0xf2:
		case 0xf3:
			parts->code.repeat = byte;
			continue;
		case 0x64:
			parts->is_of_fs = true;
			continue;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x65:
		case 0xf0:
			continue;
		default:
			break;
		}
		if (byte >> 4 == 4) {
			parts->has_rex = true;
			parts->is_wide = byte & 8;
			parts->reg_bit = (byte & 4) << 1;
			parts->index_bit = (byte & 2) << 2;
			parts->base_bit = (byte & 1) << 3;
			byte = next_u8(parts);
		}
		*opcode = byte;
		return true;
	}
	return false;
}

/* The prefix that pp stands for. */
static void set_vector_prefix(struct parts *parts, uint8_t pp)
{
	static const uint8_t repeats[] = { 0, 0, 0xf3, 0xf2 };

	parts->code.is_vector = true;
	parts->code.has_66 = pp == 1;
	parts->code.repeat = repeats[pp];
}

static void read_vex(struct parts *parts, uint8_t first)
{
	uint8_t bits = next_u8(parts);

	parts->reg_bit = bits & 0x80 ? 0 : EXTENDED;
	parts->code.map = MAP_0F;
	if (first == 0xc4) {
		parts->index_bit = bits & 0x40 ? 0 : EXTENDED;
		parts->base_bit = bits & 0x20 ? 0 : EXTENDED;
		parts->code.map = bits & 0x1f;
		bits = next_u8(parts);
		parts->is_wide = bits & 0x80;
	}
	parts->vvvv = ~bits >> 3 & 15;
	set_vector_prefix(parts, bits & 3);
	parts->code.opcode = next_u8(parts);
}

static void read_evex(struct parts *parts)
{
	uint8_t bits = next_u8(parts);

	parts->reg_bit = bits & 0x80 ? 0 : EXTENDED;
	parts->index_bit = bits & 0x40 ? 0 : EXTENDED;
	parts->base_bit = bits & 0x20 ? 0 : EXTENDED;
	parts->code.map = bits & 7;
	bits = next_u8(parts);
	parts->is_wide = bits & 0x80;
	parts->vvvv = ~bits >> 3 & 15;
	set_vector_prefix(parts, bits & 3);
	next_u8(parts);
	parts->code.opcode = next_u8(parts);
}

static void read_opcode(struct parts *parts, uint8_t first)
{
	struct x86_opcode *code = &parts->code;

	code->opcode = first;
	if (first == 0xc4 || first == 0xc5) {
		read_vex(parts, first);
	} else if (first == 0x62) {
		read_evex(parts);
	} else if (first == 0x0f) {
		code->map = MAP_0F;
		code->opcode = next_u8(parts);
		if (code->opcode == 0x38 || code->opcode == 0x3a) {
			code->map = code->opcode == 0x38 ? MAP_0F38 : MAP_0F3A;
			code->opcode = next_u8(parts);
		}
	}
	parts->properties = x86_opcode_properties(code);
}

static void read_modrm(struct parts *parts)
{
	uint8_t modrm = next_u8(parts);
	uint8_t rm = modrm & 7;
	uint8_t base = rm;

	parts->has_modrm = true;
	parts->mode = modrm >> 6;
	parts->reg = (modrm >> 3 & 7) | parts->reg_bit;
	parts->rm = rm | parts->base_bit;
	if (parts->mode == MODE_REGISTER)
		return;
	if (rm == RM_SIB) {
		uint8_t sib = next_u8(parts);
		uint8_t index = (sib >> 3 & 7) | parts->index_bit;

		base = sib & 7;
		parts->index = index == RM_SIB ? X86_NO_REGISTER : index;
		parts->scale = sib >> 6;
	}
	parts->base = base | parts->base_bit;
	if (parts->mode == 0 && base == RM_DISPLACEMENT) {
		parts->base = X86_NO_REGISTER;
		parts->is_pc_relative = rm != RM_SIB;
	}
	parts->rm = parts->index == X86_NO_REGISTER ? parts->base : X86_NO_REGISTER;
	if (parts->mode == 1)
		parts->displacement = (int8_t)next_u8(parts);
	else if (parts->mode == 2 || base == RM_DISPLACEMENT)
		parts->displacement = (int32_t)next_u32(parts);
	if (parts->has_67)
		parts->rm = X86_NO_REGISTER;
}

/* Adjusts opcode groups, in which ModRM.reg selects the instruction. */
static void refine_group(struct parts *parts)
{
	uint8_t member = parts->reg & 7;

	if (parts->code.is_vector || parts->code.map > MAP_0F)
		return;
	if (parts->code.map == MAP_0F) {
		/* bt only looks; cmpxchg8b and its like write no register but rdx:rax. */
		if (parts->code.opcode == 0xba && member == 4)
			parts->properties &= ~W_RM;
		return;
	}
	switch (parts->code.opcode) {
	/* cmp */
	case 0x80:
	case 0x81:
	case 0x83:
		if (member == 7)
			parts->properties &= ~W_RM;
		break;
	/* XOP, which AMD gave up */
	case 0x8f:
		if (member)
			parts->properties = INVALID;
		break;
	case 0xdf:
		parts->properties |= W_RAX;
		break;
	/* test, not, neg, mul, imul, div, idiv */
	case 0xf6:
	case 0xf7:
		if (member < 2)
			parts->properties |= parts->code.opcode == 0xf6 ? IMM8 : IMM32;
		else
			parts->properties |= member < 4 ? W_RM : W_RAX | W_RDX;
		break;
	case 0xff:
		if (member < 2)
			parts->properties |= W_RM;
		else if (member == 3 || member == 5 || member == 7)
			parts->properties = INVALID;
		break;
	default:
		break;
	}
}

static void read_immediate(struct parts *parts)
{
	bool is_one_byte = parts->code.map == MAP_ONE_BYTE && !parts->code.is_vector;
	uint8_t opcode = parts->code.opcode;

	if (is_one_byte && opcode >= 0xa0 && opcode <= 0xa3) {
		parts->position += parts->has_67 ? 4 : 8;
	} else if (is_one_byte && opcode >= 0xb8 && opcode <= 0xbf && parts->is_wide) {
		parts->position += 8;
	} else if (is_one_byte && opcode == 0xc2) {
		parts->immediate = next_u16(parts);
	} else if (is_one_byte && opcode == 0xc8) {
		parts->position += 3;
	} else if (parts->properties & IMM8) {
		parts->immediate = (int8_t)next_u8(parts);
	} else if (parts->properties & IMM32) {
		bool is_branch = (is_one_byte && (opcode == 0xe8 || opcode == 0xe9)) ||
				 (!is_one_byte && opcode >> 4 == 8);

		/* Branches keep 4 bytes on Intel's processors, and no compiler has others. */
		if (parts->code.has_66 && !is_branch && !parts->is_wide)
			parts->immediate = (int16_t)next_u16(parts);
		else
			parts->immediate = (int32_t)next_u32(parts);
	}
}

/* One bit for register @number; without REX, the second byte of rax, rcx, rdx, rbx. */
static uint16_t register_bit(const struct parts *parts, uint8_t number)
{
	if (parts->properties & BYTE && !parts->has_rex && !parts->code.is_vector)
		number &= 3;
	return 1 << (number & 15);
}

static uint16_t written_registers(const struct parts *parts)
{
	uint16_t properties = parts->properties, written = 0;

	if (properties & W_RM && parts->has_modrm && parts->mode == MODE_REGISTER)
		written |= register_bit(parts, parts->rm);
	if (properties & W_REG)
		written |= register_bit(parts, parts->reg);
	if (properties & W_OPCODE)
		written |= register_bit(parts, (parts->code.opcode & 7) | parts->base_bit);
	if (properties & W_RAX)
		written |= 1 << X86_RAX;
	if (properties & W_RDX)
		written |= 1 << X86_RDX;
	if (properties & W_STRING)
		written |= 1 << X86_RCX | 1 << X86_RSI | 1 << X86_RDI | 1 << X86_R11;
	if (parts->code.map == MAP_0F && !parts->code.is_vector && parts->code.opcode == 0xa2)
		written |= 1 << X86_RBX;
	/* bls* and mulx name a second register that they write. */
	if (parts->code.is_vector && parts->code.map == MAP_0F38 &&
	    (parts->code.opcode == 0xf3 || parts->code.opcode == 0xf6))
		written |= 1 << parts->vvvv;
	return written;
}

static void set_operands(struct x86_instruction *instruction, enum x86_kind kind, uint8_t reg,
			 uint8_t base, int64_t displacement)
{
	instruction->kind = kind;
	instruction->reg = reg;
	instruction->base = base;
	instruction->displacement = displacement;
}

static void classify_ff(const struct parts *parts, struct x86_instruction *instruction)
{
	switch (parts->reg & 7) {
	case 2:
		instruction->kind = X86_CALL_INDIRECT;
		instruction->displacement = parts->is_pc_relative ? parts->displacement : 0;
		break;
	case 4:
		instruction->kind = X86_JUMP_INDIRECT;
		break;
	case 6:
		instruction->kind = X86_PUSH;
		break;
	default:
		break;
	}
}

/* add, and, sub by an immediate */
static void classify_group1(const struct parts *parts, struct x86_instruction *instruction)
{
	uint8_t member = parts->reg & 7;

	if (!parts->is_wide || parts->mode != MODE_REGISTER)
		return;
	if (member == 0)
		set_operands(instruction, X86_ADD, parts->rm, parts->rm, parts->immediate);
	else if (member == 5)
		set_operands(instruction, X86_ADD, parts->rm, parts->rm, -parts->immediate);
	else if (member == 4)
		set_operands(instruction, X86_AND, parts->rm, X86_NO_REGISTER, parts->immediate);
}

static void classify_move(const struct parts *parts, struct x86_instruction *instruction)
{
	bool is_store = parts->code.opcode == 0x89;

	if (!parts->is_wide)
		return;
	if (parts->mode != MODE_REGISTER)
		set_operands(instruction, is_store ? X86_STORE : X86_LOAD, parts->reg, parts->rm,
			     parts->displacement);
	else if (is_store)
		set_operands(instruction, X86_MOVE, parts->rm, parts->reg, 0);
	else
		set_operands(instruction, X86_MOVE, parts->reg, parts->rm, 0);
}

static void classify_one_byte(const struct parts *parts, struct x86_instruction *instruction)
{
	uint8_t opcode = parts->code.opcode;
	uint8_t low = (opcode & 7) | parts->base_bit;

	switch (opcode) {
	case 0x39:
	case 0x3b:
		if (parts->is_wide && parts->mode == MODE_REGISTER)
			set_operands(instruction, X86_COMPARE, parts->reg, parts->rm, 0);
		break;
	case 0x50 ... 0x57:
		set_operands(instruction, X86_PUSH, low, X86_NO_REGISTER, 0);
		break;
	case 0x58 ... 0x5f:
		set_operands(instruction, X86_POP, low, X86_NO_REGISTER, 0);
		break;
	case 0x68:
	case 0x6a:
	case 0x9c:
		instruction->kind = X86_PUSH;
		break;
	case 0x8f:
	case 0x9d:
		instruction->kind = X86_POP;
		break;
	case 0x70 ... 0x7f:
	case 0xe0 ... 0xe3:
		instruction->kind = X86_BRANCH;
		instruction->is_not_equal = opcode == 0x75;
		instruction->displacement = parts->immediate;
		break;
	case 0x81:
	case 0x83:
		classify_group1(parts, instruction);
		break;
	case 0x05:
	case 0x2d:
		if (parts->is_wide)
			set_operands(instruction, X86_ADD, X86_RAX, X86_RAX,
				     opcode == 0x05 ? parts->immediate : -parts->immediate);
		break;
	case 0x89:
	case 0x8b:
		classify_move(parts, instruction);
		break;
	case 0x8d:
		if (parts->is_wide && parts->mode != MODE_REGISTER)
			set_operands(instruction, X86_ADD, parts->reg, parts->rm,
				     parts->displacement);
		break;
	case 0x90:
		/* pause does nothing either, but does not pad gaps between functions. */
		if (!parts->base_bit && parts->code.repeat != 0xf3)
			instruction->kind = X86_NOP;
		else if (parts->base_bit)
			instruction->writes = 1 << X86_RAX | 1 << EXTENDED;
		break;
	case 0xc2:
	case 0xc3:
		instruction->kind = X86_RETURN;
		instruction->displacement = parts->immediate;
		break;
	case 0xc7:
		/* xbegin: where the transaction goes on when it failed */
		if (parts->mode == MODE_REGISTER && (parts->reg & 7) == 7) {
			instruction->kind = X86_BRANCH;
			instruction->displacement = parts->immediate;
			instruction->writes = 1 << X86_RAX;
		}
		break;
	case 0xc8:
		instruction->writes = 1 << X86_RSP | 1 << X86_RBP;
		break;
	case 0xc9:
		instruction->kind = X86_LEAVE;
		break;
	case 0xe8:
		instruction->kind = X86_CALL;
		instruction->displacement = parts->immediate;
		break;
	case 0xe9:
	case 0xeb:
		instruction->kind = X86_JUMP;
		instruction->displacement = parts->immediate;
		break;
	case 0xff:
		classify_ff(parts, instruction);
		break;
	default:
		break;
	}
}

static void classify_two_byte(const struct parts *parts, struct x86_instruction *instruction)
{
	switch (parts->code.opcode) {
	case 0x05:
		instruction->kind = X86_SYSCALL;
		break;
	case 0x0d:
	case 0x1f:
		instruction->kind = X86_NOP;
		break;
	case 0x80 ... 0x8f:
		instruction->kind = X86_BRANCH;
		instruction->is_not_equal = parts->code.opcode == 0x85;
		instruction->displacement = parts->immediate;
		break;
	case 0xa0:
	case 0xa8:
		instruction->kind = X86_PUSH;
		break;
	case 0xa1:
	case 0xa9:
		instruction->kind = X86_POP;
		break;
	default:
		break;
	}
}

/* Splits an instruction of at most @size bytes at @bytes into its parts. READ_AHEAD bytes can be read. */
static bool take_apart(struct parts *parts, const uint8_t *bytes, size_t size)
{
	uint8_t first;

	*parts = (struct parts){
		.position = bytes,
		.start = bytes,
		.base = X86_NO_REGISTER,
		.index = X86_NO_REGISTER,
	};
	if (!read_prefixes(parts, &first))
		return false;
	read_opcode(parts, first);
	if (parts->properties & MODRM)
		read_modrm(parts);
	refine_group(parts);
	if (parts->properties & INVALID)
		return false;
	read_immediate(parts);
	return (size_t)(parts->position - parts->start) <= size &&
	       parts->position - parts->start <= X86_MAX_INSTRUCTION_BYTES;
}

static bool is_filling(const struct parts *parts)
{
	return !parts->start[0] && !parts->start[1];
}

static bool classify(const struct parts *parts, struct x86_instruction *instruction)
{
	memset(instruction, 0, sizeof(*instruction));
	instruction->length = parts->position - parts->start;
	instruction->reg = X86_NO_REGISTER;
	instruction->base = X86_NO_REGISTER;
	instruction->is_pc_relative = parts->is_pc_relative;
	instruction->writes = written_registers(parts);
	/* The bytes 0, 0 would be an addition, but linkers use them for padding. */
	if (parts->properties & STOP || is_filling(parts))
		instruction->kind = X86_STOP;
	else if (parts->code.is_vector)
		instruction->kind = X86_OTHER;
	else if (parts->code.map == MAP_ONE_BYTE)
		classify_one_byte(parts, instruction);
	else if (parts->code.map == MAP_0F)
		classify_two_byte(parts, instruction);
	/* The operation has 2-byte operands on the stack, which no compiler generates. */
	if (parts->code.has_66 && !parts->is_wide &&
	    (instruction->kind == X86_PUSH || instruction->kind == X86_POP ||
	     instruction->kind == X86_LEAVE))
		return false;
	return true;
}

static bool decode(const uint8_t *bytes, size_t size, struct x86_instruction *instruction)
{
	struct parts parts;

	return take_apart(&parts, bytes, size) && classify(&parts, instruction);
}

bool x86_decode(const uint8_t *bytes, size_t size, struct x86_instruction *instruction)
{
	uint8_t padded[READ_AHEAD] = { 0 };

	if (size >= READ_AHEAD)
		return decode(bytes, X86_MAX_INSTRUCTION_BYTES, instruction);
	memcpy(padded, bytes, size);
	return decode(padded, size, instruction);
}

bool x86_decode_operands(const uint8_t *bytes, size_t size, struct x86_operands *operands)
{
	uint8_t padded[READ_AHEAD] = { 0 };
	struct parts parts;

	if (size > X86_MAX_INSTRUCTION_BYTES)
		size = X86_MAX_INSTRUCTION_BYTES;
	memcpy(padded, bytes, size);
	if (!take_apart(&parts, padded, size))
		return false;
	*operands = (struct x86_operands){
		.length = parts.position - parts.start,
		.map = parts.code.map,
		.opcode = parts.code.opcode,
		.repeat = parts.code.repeat,
		.has_66 = parts.code.has_66,
		.has_67 = parts.has_67,
		.is_of_fs = parts.is_of_fs,
		.has_rex = parts.has_rex,
		.is_vector = parts.code.is_vector,
		.bytes = parts.is_wide	   ? 8 :
			 parts.code.has_66 ? 2 :
					     4,
		.low = (parts.code.opcode & 7) | parts.base_bit,
		.reg = parts.reg,
		.is_memory = parts.has_modrm && parts.mode != MODE_REGISTER,
		.rm = parts.has_modrm && parts.mode == MODE_REGISTER ? parts.rm : 0,
		.is_pc_relative = parts.is_pc_relative,
		.base = parts.base,
		.index = parts.index,
		.scale = parts.scale,
		.displacement = parts.displacement,
		.immediate = parts.immediate,
	};
	return true;
}
