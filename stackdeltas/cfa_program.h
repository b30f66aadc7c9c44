/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The machine for DW_CFA instructions (DWARF 5, 6.4.2; GNU and AArch64 additions: LSB Core 5.0
 * 10.5, "DWARF for the Arm 64-bit Architecture" 4.5). It runs the initial instructions of a CIE
 * once, and then the program of each FDE row by row.
 *
 * A row has only the CFA and the locations of the caller's return address, frame pointer, stack
 * pointer and, on x86-64, rbx. Rules of other registers are read and dropped.
 */
#ifndef STACKDELTAS_CFA_PROGRAM_H
#define STACKDELTAS_CFA_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/byte_reader.h"
#include "lib/base/vector.h"

enum {
	/** Remembered states that need no allocation; compilers nest once. */
	CFA_PROGRAM_NEAR_REMEMBERED = 8,
	/** Limit of remembered states, for hostile programs: some 9 MiB while one program runs. */
	CFA_PROGRAM_MAX_REMEMBERED = 1 << 16,
	/** A number that no register has. A register number that is too large becomes UINT32_MAX. */
	CFA_NO_REGISTER = INT32_MAX,
};

/** Rule for a value: the CFA (only the first four kinds) or a register of the caller. */
enum cfa_value_kind {
	/** The program has no rule. */
	CFA_VALUE_UNSPECIFIED = 0,
	/** CFA: registers[number] + offset. Register: it is in registers[number], offset is 0. */
	CFA_VALUE_REGISTER,
	/** CFA: the result of an expression. Register: stored at its result. */
	CFA_VALUE_EXPRESSION,
	/** An offset, factor included, that overflows 64 bits. */
	CFA_VALUE_OUT_OF_RANGE,
	/** The value is stored at CFA + offset. */
	CFA_VALUE_AT_CFA,
	/** The value is CFA + offset. */
	CFA_VALUE_IS_CFA,
	/** The value is the result of an expression. */
	CFA_VALUE_IS_EXPRESSION,
	CFA_VALUE_UNDEFINED,
	CFA_VALUE_SAME,
};

struct cfa_value {
	uint8_t kind;
	uint32_t number;
	union {
		int64_t offset;
		/** Offset of an expression in the section, and its size. */
		struct {
			uint32_t start;
			uint32_t bytes;
		} expression;
	};
};

/** One row of the table that an FDE describes. */
struct cfa_state {
	struct cfa_value cfa;
	struct cfa_value return_address;
	struct cfa_value frame_pointer;
	struct cfa_value stack_pointer;
	struct cfa_value rbx;
	/**
	 * The CFA's offset when it last was register + offset. If a new register is set after an
	 * expression, it gets this offset, as in GCC's unwinder, for which assembly is written.
	 */
	int64_t last_offset;
};

VECTOR_DEFINE(cfa_state_vector, struct cfa_state)

/** DWARF numbers of the registers that are followed. */
struct cfa_registers {
	uint64_t return_address;
	uint32_t frame_pointer;
	uint32_t stack_pointer;
	/** CFA_NO_REGISTER where there is none. */
	uint32_t rbx;
	/** AArch64, where 0x2d changes the return address's signature, and is no window save. */
	bool is_aarch64;
};

/** Values of a CIE that all programs of its FDEs start with. */
struct cfa_defaults {
	struct cfa_registers registers;
	uint64_t code_alignment;
	int64_t data_alignment;
	uint8_t pointer_encoding;
	/** ELF virtual address of the section's first byte. */
	uint64_t section_address;
	/** The state after the initial instructions. */
	struct cfa_state initial;
};

/** A running program. Lives on the stack of its user, who deinits it. */
struct cfa_program {
	const struct cfa_defaults *defaults;
	struct byte_reader reader;
	/** The current row: its state and its first address. */
	struct cfa_state state;
	uint64_t row_start;
	/** Start of the next row; end of the function. */
	uint64_t location;
	uint64_t end;
	bool is_finished;
	uint32_t remembered_count;
	struct cfa_state near_remembered[CFA_PROGRAM_NEAR_REMEMBERED];
	/** Remembered states after the first CFA_PROGRAM_NEAR_REMEMBERED; owned. */
	struct cfa_state_vector far_remembered;
};

/**
 * Runs the initial instructions [start, end) of @section and stores the state in
 * defaults->initial; the caller has set the other fields of @defaults. -EBADMSG as cfa_program_next().
 */
int cfa_program_run_initial(const uint8_t *section, size_t start, size_t end,
			    struct cfa_defaults *defaults);

/** Starts the program [start, end) of @section for the function at [address, address_end). */
void cfa_program_init(struct cfa_program *program, const struct cfa_defaults *defaults,
		      const uint8_t *section, size_t start, size_t end, uint64_t address,
		      uint64_t address_end);

/** Frees the remembered states. cfa_program_next() must not be called afterwards. */
static inline void cfa_program_deinit(struct cfa_program *program)
{
	cfa_state_vector_deinit(&program->far_remembered);
}

/**
 * Advances to the next row. Rows are in ascending order and within the function; empty rows are
 * skipped. Returns 1, or 0 after the last row; -EBADMSG for an unknown or truncated instruction, an
 * address below the last one, a restore without a remembered state, and too many remembered states;
 * -ENOMEM.
 */
int cfa_program_next(struct cfa_program *program);

#endif
