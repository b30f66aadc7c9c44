/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Operand bytes that follow the opcodes of x86-64, and the general registers that the opcodes write (Intel SDM
 * volume 2, appendix A). Opcode groups, which depend on the ModRM byte, are decoded by x86_decode.
 */
#ifndef LIB_ISA_X86_OPCODE_H
#define LIB_ISA_X86_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

/** Properties of an opcode. */
enum x86_property {
	MODRM = 1 << 0,
	/* An immediate of one byte, and one of 4 bytes (2 with the prefix 66). */
	IMM8 = 1 << 1,
	IMM32 = 1 << 2,
	/* Registers that are written: ModRM.rm, unless it is memory; ModRM.reg; the opcode's low bits. */
	W_RM = 1 << 3,
	W_REG = 1 << 4,
	W_OPCODE = 1 << 5,
	W_RAX = 1 << 6,
	W_RDX = 1 << 7,
	/* Operands of one byte. */
	BYTE = 1 << 8,
	/* String instructions, which write rcx, rsi and rdi. */
	W_STRING = 1 << 9,
	INVALID = 1 << 10,
	STOP = 1 << 11,
};

/** Opcode maps, numbered as in VEX and EVEX. */
enum x86_opcode_map { MAP_ONE_BYTE, MAP_0F, MAP_0F38, MAP_0F3A, MAP_5 = 5, MAP_6 = 6 };

struct x86_opcode {
	/** enum x86_opcode_map */
	uint8_t map;
	uint8_t opcode;
	/** Prefixes: 66, and the last of f2 and f3 or 0; for VEX and EVEX, the field that encodes them. */
	bool has_66;
	uint8_t repeat;
	/** The instruction has a VEX or EVEX prefix. */
	bool is_vector;
};

/** Returns a set of enum x86_property. */
uint16_t x86_opcode_properties(const struct x86_opcode *code);

#endif
