/* SPDX-License-Identifier: Apache-2.0 */
/* The opcode maps as tables, and what prefixes change in them. */
#include "lib/isa/x86_opcode.h"

#define ALU(opcode)                                                                                \
	[(opcode)] = MODRM | W_RM | BYTE, [(opcode) + 1] = MODRM | W_RM,                           \
	[(opcode) + 2] = MODRM | W_REG | BYTE, [(opcode) + 3] = MODRM | W_REG,                     \
	[(opcode) + 4] = IMM8 | W_RAX, [(opcode) + 5] = IMM32 | W_RAX,                             \
	[(opcode) + 6 ...(opcode) + 7] = INVALID

static const uint16_t one_byte[256] = {
	ALU(0x00),
	ALU(0x08),
	ALU(0x10),
	ALU(0x18),
	ALU(0x20),
	ALU(0x28),
	ALU(0x30),
	[0x38 ... 0x3b] = MODRM,
	[0x3c] = IMM8,
	[0x3d] = IMM32,
	[0x3e ... 0x3f] = INVALID,
	[0x60 ... 0x62] = INVALID,
	[0x63] = MODRM | W_REG,
	[0x64 ... 0x67] = INVALID,
	[0x68] = IMM32,
	[0x69] = MODRM | IMM32 | W_REG,
	[0x6a] = IMM8,
	[0x6b] = MODRM | IMM8 | W_REG,
	[0x6c ... 0x6f] = W_STRING,
	[0x70 ... 0x7f] = IMM8,
	[0x80] = MODRM | IMM8 | W_RM | BYTE,
	[0x81] = MODRM | IMM32 | W_RM,
	[0x82] = INVALID,
	[0x83] = MODRM | IMM8 | W_RM,
	[0x84 ... 0x85] = MODRM,
	[0x86] = MODRM | W_RM | W_REG | BYTE,
	[0x87] = MODRM | W_RM | W_REG,
	[0x88] = MODRM | W_RM | BYTE,
	[0x89] = MODRM | W_RM,
	[0x8a] = MODRM | W_REG | BYTE,
	[0x8b] = MODRM | W_REG,
	[0x8c] = MODRM | W_RM,
	[0x8d] = MODRM | W_REG,
	[0x8e ... 0x8f] = MODRM,
	[0x91 ... 0x97] = W_OPCODE | W_RAX,
	[0x98] = W_RAX,
	[0x99] = W_RDX,
	[0x9a] = INVALID,
	[0x9f] = W_RAX,
	[0xa0 ... 0xa3] = W_RAX,
	[0xa4 ... 0xa7] = W_STRING,
	[0xa8] = IMM8,
	[0xa9] = IMM32,
	[0xaa ... 0xaf] = W_STRING | W_RAX,
	[0xb0 ... 0xb7] = IMM8 | W_OPCODE | BYTE,
	[0xb8 ... 0xbf] = IMM32 | W_OPCODE,
	[0xc0] = MODRM | IMM8 | W_RM | BYTE,
	[0xc1] = MODRM | IMM8 | W_RM,
	[0xc4 ... 0xc5] = INVALID,
	[0xc6] = MODRM | IMM8 | W_RM | BYTE,
	[0xc7] = MODRM | IMM32 | W_RM,
	[0xca ... 0xcb] = INVALID,
	[0xcc] = STOP,
	[0xcd] = IMM8 | W_RAX,
	[0xce ... 0xcf] = INVALID,
	[0xd0] = MODRM | W_RM | BYTE,
	[0xd1] = MODRM | W_RM,
	[0xd2] = MODRM | W_RM | BYTE,
	[0xd3] = MODRM | W_RM,
	[0xd4 ... 0xd6] = INVALID,
	[0xd7] = W_RAX,
	[0xd8 ... 0xdf] = MODRM,
	[0xe0 ... 0xe2] = IMM8 | W_STRING,
	[0xe3] = IMM8,
	[0xe4 ... 0xe5] = IMM8 | W_RAX,
	[0xe6 ... 0xe7] = IMM8,
	[0xe8 ... 0xe9] = IMM32,
	[0xea] = INVALID,
	[0xeb] = IMM8,
	[0xec ... 0xed] = W_RAX,
	[0xf0] = INVALID,
	[0xf1] = STOP,
	[0xf2 ... 0xf3] = INVALID,
	[0xf4] = STOP,
	[0xf6] = MODRM | BYTE,
	[0xf7] = MODRM,
	[0xfe] = MODRM | W_RM | BYTE,
	[0xff] = MODRM,
};

/* Opcodes after 0f. two_byte_properties() corrects those that depend on a prefix. */
static const uint16_t two_byte[256] = {
	[0x00] = MODRM | W_RM,
	[0x01] = MODRM | W_RAX | W_RDX | W_STRING,
	[0x02 ... 0x03] = MODRM | W_REG,
	[0x04] = INVALID,
	[0x05] = W_RAX | W_STRING,
	[0x07] = STOP,
	[0x0a] = INVALID,
	[0x0b] = STOP,
	[0x0c] = INVALID,
	[0x0d] = MODRM,
	[0x0f] = MODRM | IMM8,
	[0x10 ... 0x1f] = MODRM,
	[0x20 ... 0x21] = MODRM | W_RM,
	[0x22 ... 0x23] = MODRM,
	[0x24 ... 0x27] = INVALID,
	[0x28 ... 0x2b] = MODRM,
	[0x2c ... 0x2d] = MODRM | W_REG,
	[0x2e ... 0x2f] = MODRM,
	[0x31 ... 0x33] = W_RAX | W_RDX,
	[0x35] = STOP,
	[0x36] = INVALID,
	[0x37] = W_RAX,
	[0x38] = INVALID,
	[0x39 ... 0x3f] = INVALID,
	[0x40 ... 0x4f] = MODRM | W_REG,
	[0x50] = MODRM | W_REG,
	[0x51 ... 0x6f] = MODRM,
	[0x70 ... 0x73] = MODRM | IMM8,
	[0x74 ... 0x76] = MODRM,
	[0x78] = MODRM | W_RM,
	[0x79 ... 0x7d] = MODRM,
	[0x7e] = MODRM | W_RM,
	[0x7f] = MODRM,
	[0x80 ... 0x8f] = IMM32,
	[0x90 ... 0x9f] = MODRM | W_RM | BYTE,
	[0xa2] = W_RAX | W_RDX | W_STRING,
	[0xa3] = MODRM,
	[0xa4] = MODRM | IMM8 | W_RM,
	[0xa5] = MODRM | W_RM,
	[0xa6 ... 0xa7] = INVALID,
	[0xaa] = STOP,
	[0xab] = MODRM | W_RM,
	[0xac] = MODRM | IMM8 | W_RM,
	[0xad] = MODRM | W_RM,
	[0xae] = MODRM,
	[0xaf] = MODRM | W_REG,
	[0xb0] = MODRM | W_RM | W_RAX | BYTE,
	[0xb1] = MODRM | W_RM | W_RAX,
	[0xb2] = MODRM | W_REG,
	[0xb3] = MODRM | W_RM,
	[0xb4 ... 0xb8] = MODRM | W_REG,
	[0xb9] = MODRM | STOP,
	[0xba] = MODRM | IMM8 | W_RM,
	[0xbb] = MODRM | W_RM,
	[0xbc ... 0xbf] = MODRM | W_REG,
	[0xc0] = MODRM | W_RM | W_REG | BYTE,
	[0xc1] = MODRM | W_RM | W_REG,
	[0xc2] = MODRM | IMM8,
	[0xc3] = MODRM,
	[0xc4] = MODRM | IMM8,
	[0xc5] = MODRM | IMM8 | W_REG,
	[0xc6] = MODRM | IMM8,
	[0xc7] = MODRM | W_RAX | W_RDX | W_RM,
	[0xc8 ... 0xcf] = W_OPCODE,
	[0xd0 ... 0xd6] = MODRM,
	[0xd7] = MODRM | W_REG,
	[0xd8 ... 0xfe] = MODRM,
	[0xff] = MODRM | STOP,
};

/* General registers that vector instructions write. */
static uint16_t vector_properties(const struct x86_opcode *code)
{
	bool has_immediate = code->map == MAP_0F3A;
	uint16_t written = 0;
	uint8_t opcode = code->opcode;

	switch (code->map) {
	case MAP_0F:
		has_immediate = (opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 ||
				(opcode >= 0xc4 && opcode <= 0xc6);
		if (opcode == 0x77)
			return 0;
		if (((opcode & 0xfe) == 0x2c || (opcode & 0xfe) == 0x78) && code->repeat)
			written = W_REG;
		if (opcode == 0x50 || opcode == 0x93 || opcode == 0xc5 || opcode == 0xd7)
			written = W_REG;
		if (opcode == 0x7e && !code->repeat)
			written = W_RM;
		break;
	case MAP_0F38:
		/* andn, bls*, bzhi, pdep, pext, mulx, bextr, shifts; cmpccxadd. Here vvvv, too. */
		if (opcode >= 0xf2 && opcode <= 0xf7)
			written = W_REG;
		if (opcode >= 0xe0 && opcode <= 0xef)
			written = W_REG;
		break;
	case MAP_0F3A:
		if (opcode >= 0x14 && opcode <= 0x17)
			written = W_RM;
		if (opcode == 0xf0)
			written = W_REG;
		if (opcode >= 0x60 && opcode <= 0x63)
			written = W_STRING;
		break;
	case MAP_5:
		if ((opcode & 0xfe) == 0x2c || (opcode & 0xfe) == 0x78)
			written = W_REG;
		if (opcode == 0x7e)
			written = W_RM;
		break;
	case MAP_6:
		break;
	default:
		return INVALID;
	}
	return MODRM | written | (has_immediate ? IMM8 : 0);
}

/* Properties in the map 0f, where a prefix selects the instruction. */
static uint16_t two_byte_properties(const struct x86_opcode *code)
{
	uint16_t properties = two_byte[code->opcode];

	switch (code->opcode) {
	case 0x2c:
	case 0x2d:
		return code->repeat ? properties : MODRM;
	case 0x7e:
		return code->repeat ? MODRM : properties;
	/* rdsspq; endbr64 and all else are no-ops */
	case 0x1e:
		return code->repeat == 0xf3 ? MODRM | W_RM : MODRM;
	/* rdfsbase, rdgsbase */
	case 0xae:
		return code->repeat == 0xf3 ? MODRM | W_RM : MODRM;
	case 0x78:
		return code->has_66 || code->repeat ? MODRM | IMM8 : properties;
	default:
		return properties;
	}
}

static uint16_t three_byte_properties(const struct x86_opcode *code)
{
	uint8_t opcode = code->opcode;

	if (code->map == MAP_0F38) {
		bool writes = opcode == 0xf0 || opcode == 0xf6 ||
			      (opcode == 0xf1 && code->repeat == 0xf2);

		return MODRM | (writes ? W_REG : 0);
	}
	if (opcode >= 0x14 && opcode <= 0x17)
		return MODRM | IMM8 | W_RM;
	return MODRM | IMM8 | (opcode >= 0x60 && opcode <= 0x63 ? W_STRING : 0);
}

uint16_t x86_opcode_properties(const struct x86_opcode *code)
{
	if (code->is_vector)
		return vector_properties(code);
	if (code->map == MAP_ONE_BYTE)
		return one_byte[code->opcode];
	return code->map == MAP_0F ? two_byte_properties(code) : three_byte_properties(code);
}
