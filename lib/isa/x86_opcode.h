/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What follows the opcodes of x86-64, and which general registers they write (Intel SDM volume 2,
 * appendix A). Groups, whose ModRM byte decides, are x86_decode's to tell apart.
 */
#ifndef LIB_ISA_X86_OPCODE_H
#define LIB_ISA_X86_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

/** Properties of an opcode. */
enum x86_property {
	MODRM = 1 << 0,
	/* An immediate of one byte, and of 4 (2 with the prefix 66). */
	IMM8 = 1 << 1,
	IMM32 = 1 << 2,
	/* Written: what ModRM.rm names, unless it is memory; ModRM.reg; the opcode's low bits. */
	W_RM = 1 << 3,
	W_REG = 1 << 4,
	W_OPCODE = 1 << 5,
	W_RAX = 1 << 6,
	W_RDX = 1 << 7,
	/* Operands of one byte. */
	BYTE = 1 << 8,
	/* String instructions: rcx, rsi and rdi. */
	W_STRING = 1 << 9,
	INVALID = 1 << 10,
	STOP = 1 << 11,
};

/** Of VEX and EVEX by their numbers. */
enum x86_opcode_map { MAP_ONE_BYTE, MAP_0F, MAP_0F38, MAP_0F3A, MAP_5 = 5, MAP_6 = 6 };

struct x86_opcode {
	/** enum x86_opcode_map */
	uint8_t map;
	uint8_t opcode;
	/** Prefixes: 66, and the last of f2 and f3 or 0; of VEX and EVEX what stands for them. */
	bool has_66;
	uint8_t repeat;
	/** VEX or EVEX. */
	bool is_vector;
};

/** A set of enum x86_property. */
uint16_t x86_opcode_properties(const struct x86_opcode *code);

#endif
