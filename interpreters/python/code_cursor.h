/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Machine code of CPython's loop, instruction by instruction: what of x86-64 and arm64 is needed to
 * follow a few values through it, in the same terms. Code is decoded from its beginning on, which
 * the compilers' output allows: there is no data between. What cannot be decoded is stepped over.
 *
 * The bytes are hostile; any are fine.
 */
#ifndef INTERPRETERS_PYTHON_CODE_CURSOR_H
#define INTERPRETERS_PYTHON_CODE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/elf/elf_image.h"
#include "lib/model/flag_ranges.h"

enum {
	/** Larger functions are no loop of any version. */
	CODE_CURSOR_MAX_BYTES = 4 << 20,
	CODE_REGISTERS = 32,
	CODE_NO_REGISTER = 255,
};

enum code_kind {
	/** Writes the registers in `writes`, and memory perhaps; compares; does nothing. */
	CODE_OTHER,
	/** reg = base, all of 64 bits, as in the next three */
	CODE_MOVE,
	/** reg = *(base + displacement); second = the word behind it */
	CODE_LOAD,
	/** *(base + displacement) = reg, and second behind it; `stored_bytes` in all */
	CODE_STORE,
	/** reg = base + displacement */
	CODE_ADD,
	/** Takes saved registers, or all of the frame, from the stack. */
	CODE_RESTORE,
	CODE_CALL,
	CODE_CALL_INDIRECT,
	/** Direct. */
	CODE_JUMP,
	CODE_BRANCH,
	CODE_RETURN,
	/** Leads to what is not known, or nowhere. */
	CODE_STOP,
};

struct code_instruction {
	/** enum code_kind */
	uint8_t kind;
	/** CODE_NO_REGISTER where there is none, or it is none of the general ones. */
	uint8_t reg;
	uint8_t second;
	uint8_t base;
	uint8_t stored_bytes;
	/** A bit per general register. */
	uint32_t writes;
	/** CODE_JUMP, CODE_BRANCH: from the next instruction to the target. */
	int64_t displacement;
};

/** By the hardware's numbers; 31 is arm64's stack pointer. */
struct code_registers {
	uint8_t stack_pointer;
	uint8_t frame_pointer;
	/** The first two arguments of a function. */
	uint8_t arguments[2];
	/** A bit for each one that functions keep. */
	uint32_t saved;
};

struct code_cursor {
	struct elf_bytes code;
	uint16_t machine;
	const struct code_registers *registers;
	/** ELF virtual address of the code. */
	uint64_t start;
	size_t offset;
	/** The last instruction. */
	uint64_t address;
	uint32_t length;
	struct code_instruction instruction;
};

/** Copies the code of @range out of @image; -EBADMSG if it is too large or not there, -ENOMEM. */
int code_cursor_init(struct code_cursor *cursor, const struct elf_image *image,
		     struct code_range range);
void code_cursor_deinit(struct code_cursor *cursor);

/** To the next instruction, at first the first one; false behind the last. */
bool code_cursor_next(struct code_cursor *cursor);

/** The next one will be at @address, in the code. */
void code_cursor_go(struct code_cursor *cursor, uint64_t address);

bool code_cursor_has(const struct code_cursor *cursor, uint64_t address);

/** Where the last instruction jumps to, with or without a condition, if that stands in it. */
bool code_cursor_target(const struct code_cursor *cursor, uint64_t *target);

#endif
