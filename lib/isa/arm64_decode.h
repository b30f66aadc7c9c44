/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Decoder for instructions of arm64: their effects on general registers, on memory through them, and on control
 * flow (Arm Architecture Reference Manual, DDI 0487: encodings in C4.1, base instructions in C6.2, conditions
 * in C1.2.4).
 *
 * Registers are numbered as in the encoding. Number 31 is the stack pointer as the base of an access
 * and in those cases that the comments name, and the zero register elsewhere.
 *
 * Any word can be decoded. An unallocated encoding may be taken for a similar one.
 */
#ifndef LIB_ISA_ARM64_DECODE_H
#define LIB_ISA_ARM64_DECODE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	ARM64_INSTRUCTION_BYTES = 4,
	ARM64_FP = 29,
	ARM64_LR = 30,
	/** The stack pointer or the zero register. */
	ARM64_SP = 31,
	ARM64_ZERO = 31,
	/** TPIDR_EL0 as the `immediate` of ARM64_READ_SYSTEM: the thread pointer of user space. */
	ARM64_TPIDR_EL0 = 0xde82,
};

enum arm64_operation {
	/** Not allocated, or for streaming SVE (SME). */
	ARM64_UNALLOCATED,
	/** Vectors, SVE, exclusive and atomic accesses, literals: only `writes` is set. */
	ARM64_OTHER,
	/** Data processing other than the next ones: rd gets a value. */
	ARM64_DATA,
	/** rd = target: the address of a byte, and of a page */
	ARM64_ADR,
	ARM64_ADRP,
	/**
	 * rd = rn + operand, rn - operand. Number 31 is the stack pointer as rn unless the operand is
	 * a shifted register, and as rd too unless flags are set.
	 */
	ARM64_ADD,
	ARM64_SUBTRACT,
	/** rd = rn & operand, |, ^. With an immediate and without flags, 31 as rd is the stack pointer. */
	ARM64_AND,
	ARM64_OR,
	ARM64_XOR,
	/** rd = immediate; ~immediate; immediate in the 16 bits from `shift` on, the others stay. */
	ARM64_MOVZ,
	ARM64_MOVN,
	ARM64_MOVK,
	/** ubfm: rd = bits of rn up to bit `immediate`, rotated to the right by `shift`. */
	ARM64_UBFM,
	/** Memory at rn plus the immediate or an index; `bytes` bytes for each of rd and second. */
	ARM64_LOAD,
	ARM64_STORE,
	ARM64_LOAD_PAIR,
	ARM64_STORE_PAIR,
	/** Loads nothing. */
	ARM64_PREFETCH,
	/** b and bl to `target`. */
	ARM64_JUMP,
	ARM64_CALL,
	/** Branches to `target` if `condition` holds; if rd is 0; if bit `immediate` of rd is 0. */
	ARM64_BRANCH,
	ARM64_BRANCH_ZERO,
	ARM64_BRANCH_BIT,
	/** br, blr and ret to rn. */
	ARM64_JUMP_REGISTER,
	ARM64_CALL_REGISTER,
	ARM64_RETURN,
	ARM64_SYSCALL,
	/** Control goes to an unknown address: udf, brk, hlt, hvc, smc, eret. */
	ARM64_STOP,
	ARM64_NOP,
	/** Other hints, such as bti and paciasp, and barriers. */
	ARM64_HINT,
	/** mrs, sysl: rd = the system register whose op0, op1, CRn, CRm and op2 are `immediate` */
	ARM64_READ_SYSTEM,
	/** Writes system registers, and others. */
	ARM64_SYSTEM,
};

/** The last operand of ARM64_ADD to ARM64_XOR. */
enum arm64_operand {
	ARM64_IMMEDIATE,
	/** rm, shifted by `shift`. */
	ARM64_SHIFTED,
	/** rm, of which `extend` keeps a part, shifted to the left by `shift`. */
	ARM64_EXTENDED,
};

enum arm64_shift_kind { ARM64_LSL, ARM64_LSR, ARM64_ASR, ARM64_ROR };

enum arm64_mode {
	/** The address is rn + immediate. */
	ARM64_OFFSET,
	/** The address is rn; then rn becomes rn + immediate. */
	ARM64_POST_INDEX,
	/** The address is rn + immediate, and rn becomes that. */
	ARM64_PRE_INDEX,
	/** The address is rn + rm, of which `extend` keeps a part, shifted to the left by `shift`. */
	ARM64_INDEX,
};

struct arm64_instruction {
	/** enum arm64_operation */
	uint8_t operation;
	/** Size of the operands: 4 or 8; for loads and stores 1 to 16 (32 is not allocated). */
	uint8_t bytes;
	/** The lowest five bits, whatever they mean. */
	uint8_t rd;
	uint8_t rn;
	uint8_t rm;
	/** The other register of a pair. */
	uint8_t second;
	/** enum arm64_operand */
	uint8_t operand;
	/** enum arm64_mode */
	uint8_t mode;
	/** enum arm64_shift_kind */
	uint8_t shift_kind;
	/** 0 to 3: 1, 2, 4 or 8 bytes, unsigned; 4 to 7: the same, signed. */
	uint8_t extend;
	uint8_t shift;
	/** eq, ne, cs, cc, mi, pl, vs, vc, hi, ls, ge, lt, gt, le, al, nv */
	uint8_t condition;
	/** Loads and stores of vector registers. */
	bool is_vector;
	/** Loads that extend the sign. */
	bool is_signed;
	bool sets_flags;
	/** cbnz, tbnz: branches if the register or bit is not 0. */
	bool is_opposite;
	/** Branches to a register that check its signature (PAC). */
	bool is_authenticated;
	/** A bit for each general register that is written, bit 31 for the stack pointer. Not set for calls. */
	uint32_t writes;
	/** The immediate after scaling, sign extension and shifting. */
	int64_t immediate;
	/** The target of direct branches, the result of ARM64_ADR and ARM64_ADRP. */
	uint64_t target;
};

/** Decodes @word, which is at @address. */
void arm64_decode(uint32_t word, uint64_t address, struct arm64_instruction *instruction);

#endif
