/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The machine behind DW_CFA instructions (DWARF 5, 6.4.2; GNU and AArch64 additions: LSB Core 5.0
 * 10.5, "DWARF for the Arm 64-bit Architecture" 4.5). It runs the initial instructions of a CIE
 * once, and then the program of each FDE row by row.
 *
 * Only these things of a row are kept: the CFA and where the return address, the frame pointer, the
 * stack pointer and, on x86-64, rbx of the caller are. What other registers do is read and dropped.
 */
#ifndef STACKDELTAS_CFA_PROGRAM_H
#define STACKDELTAS_CFA_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/byte_reader.h"
#include "lib/base/vector.h"

enum {
	/** Compilers nest once: these need no memory of their own. */
	CFA_PROGRAM_NEAR_REMEMBERED = 8,
	/** Some 9 MiB while one program runs; for hostile ones. */
	CFA_PROGRAM_MAX_REMEMBERED = 1 << 16,
	/** A number that no register has; one that is too large becomes UINT32_MAX. */
	CFA_NO_REGISTER = INT32_MAX,
};

/** How a value is found, for the CFA (only the first four kinds) or a register of the caller. */
enum cfa_value_kind {
	/** The program says nothing. */
	CFA_VALUE_UNSPECIFIED = 0,
	/** CFA: registers[number] + offset. Register: it is in registers[number], offset is 0. */
	CFA_VALUE_REGISTER,
	/** CFA: the result of an expression. Register: stored at its result. */
	CFA_VALUE_EXPRESSION,
	/** An offset, factor included, that overflows 64 bits. */
	CFA_VALUE_OUT_OF_RANGE,
	/** Stored at CFA + offset. */
	CFA_VALUE_AT_CFA,
	/** Is CFA + offset. */
	CFA_VALUE_IS_CFA,
	/** Is the result of an expression. */
	CFA_VALUE_IS_EXPRESSION,
	CFA_VALUE_UNDEFINED,
	CFA_VALUE_SAME,
};

struct cfa_value {
	uint8_t kind;
	uint32_t number;
	union {
		int64_t offset;
		/** Place of an expression, counted from the start of the section. */
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
	 * The CFA's offset when it last was register + offset: what a new register is taken with
	 * after an expression, as by the unwinder of GCC, for which assembly is written.
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
	/** AArch64, where 0x2d is no window save but a change of the return address's signature. */
	bool is_aarch64;
};

/** What a CIE gives to every program of its FDEs. */
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
	/** The present row: its state and the first address at which it holds. */
	struct cfa_state state;
	uint64_t row_start;
	/** Where the next row starts, and the end of the function. */
	uint64_t location;
	uint64_t end;
	bool is_finished;
	uint32_t remembered_count;
	struct cfa_state near_remembered[CFA_PROGRAM_NEAR_REMEMBERED];
	/** Those beyond; owned. */
	struct cfa_state_vector far_remembered;
};

/**
 * Runs the initial instructions [start, end) of @section and stores the state in
 * defaults->initial; the other fields of @defaults are set. -EBADMSG as cfa_program_next().
 */
int cfa_program_run_initial(const uint8_t *section, size_t start, size_t end,
			    struct cfa_defaults *defaults);

/** Starts the program [start, end) of @section for the function at [address, address_end). */
void cfa_program_init(struct cfa_program *program, const struct cfa_defaults *defaults,
		      const uint8_t *section, size_t start, size_t end, uint64_t address,
		      uint64_t address_end);

/** Frees what was remembered. Not while cfa_program_next() may be called again. */
static inline void cfa_program_deinit(struct cfa_program *program)
{
	cfa_state_vector_deinit(&program->far_remembered);
}

/**
 * Makes the next row the present one. Rows come in ascending order and lie in the function; a row
 * of no length is left out. 1, or 0 behind the last; -EBADMSG for an unknown or cut instruction,
 * for going back, for restoring what was never remembered, and over the bound of nesting; -ENOMEM.
 */
int cfa_program_next(struct cfa_program *program);

#endif
