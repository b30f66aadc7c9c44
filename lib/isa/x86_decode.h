/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Decoder for instructions of x86-64: their lengths, their effects on the stack and on control flow, and the
 * general registers that all others write (Intel SDM volume 2: legacy, REX, VEX and EVEX maps).
 *
 * Register numbers are the hardware's: rax rcx rdx rbx rsp rbp rsi rdi r8 ... r15.
 */
#ifndef LIB_ISA_X86_DECODE_H
#define LIB_ISA_X86_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	X86_MAX_INSTRUCTION_BYTES = 15,
	X86_NO_REGISTER = 255,
	/** General registers, by the hardware's numbers. */
	X86_RAX = 0,
	X86_RCX = 1,
	X86_RDX = 2,
	X86_RBX = 3,
	X86_RSP = 4,
	X86_RBP = 5,
	X86_RSI = 6,
	X86_RDI = 7,
	X86_R11 = 11,
	X86_R12 = 12,
	X86_R15 = 15,
};

enum x86_kind {
	/** Writes the registers in `writes`, and perhaps memory. */
	X86_OTHER,
	/** Does nothing: padding. */
	X86_NOP,
	/** Pushes or pops 8 bytes: `reg`, or X86_NO_REGISTER if the operand is not a whole register. */
	X86_PUSH,
	X86_POP,
	/** reg = base. This and the next four operate on 64 bits. */
	X86_MOVE,
	/** reg = *(base + displacement) */
	X86_LOAD,
	/** *(base + displacement) = reg */
	X86_STORE,
	/** reg = base + displacement; `add $n,%reg` too, with reg as the base */
	X86_ADD,
	/** reg &= immediate */
	X86_AND,
	/** compares reg with base */
	X86_COMPARE,
	X86_LEAVE,
	/** Direct call. The target is the address of the next instruction + displacement. */
	X86_CALL,
	/** If it is relative to the pc, the pointer to the target is at the address of the next instruction + displacement. */
	X86_CALL_INDIRECT,
	X86_JUMP,
	X86_JUMP_INDIRECT,
	X86_BRANCH,
	/** Drops `displacement` bytes of the caller's stack. */
	X86_RETURN,
	X86_SYSCALL,
	/** Control does not go on: ud2, hlt, int3, zeroes. */
	X86_STOP,
};

struct x86_instruction {
	uint8_t length;
	/** enum x86_kind */
	uint8_t kind;
	uint8_t reg;
	/** X86_NO_REGISTER: relative to the pc, absolute, or with an index. */
	uint8_t base;
	/** The operand in memory is relative to the pc. */
	bool is_pc_relative;
	/** A bit for each general register. */
	uint16_t writes;
	/** An X86_BRANCH is jne. */
	bool is_not_equal;
	int64_t displacement;
};

/** An instruction's encoding, for callers that follow its computation. */
struct x86_operands {
	uint8_t length;
	/** enum x86_opcode_map (x86_opcode.h) */
	uint8_t map;
	uint8_t opcode;
	/** The last of the prefixes f2 and f3, or 0; for VEX and EVEX, the field that encodes them. */
	uint8_t repeat;
	/** The prefixes 66, 67 and 64; REX; VEX or EVEX instead of REX. */
	bool has_66;
	bool has_67;
	bool is_of_fs;
	bool has_rex;
	bool is_vector;
	/** Operand size: 8, 4 or 2. The opcode determines whether it is 1. */
	uint8_t bytes;
	/** The register in the low bits of an opcode. */
	uint8_t low;
	/** ModRM.reg, a register or a part of the opcode. Without ModRM, this and the following fields are 0. */
	uint8_t reg;
	/** The other operand: in memory, or the register rm, which is 0 then. */
	bool is_memory;
	uint8_t rm;
	/**
	 * The address: base + index << scale + displacement, with X86_NO_REGISTER for a missing register; or
	 * the address of the next instruction + displacement.
	 */
	bool is_pc_relative;
	uint8_t base;
	uint8_t index;
	uint8_t scale;
	int64_t displacement;
	/** Sign-extended. The 8-byte immediate of `mov $n,%reg` is left out. */
	int64_t immediate;
};

/**
 * Decodes the instruction at @bytes, of which there are @size. False if it is cut, not valid in 64-bit mode, or
 * not known.
 */
bool x86_decode(const uint8_t *bytes, size_t size, struct x86_instruction *instruction);
bool x86_decode_operands(const uint8_t *bytes, size_t size, struct x86_operands *operands);

#endif
