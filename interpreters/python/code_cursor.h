/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Steps through the machine code of CPython's eval loop. Instructions of x86-64 and arm64 are described in the same
 * terms, as far as needed to follow a few values through the code. Code is decoded from its beginning, which works
 * because compilers put no data between instructions. Unknown bytes are skipped.
 *
 * The bytes are hostile; any are accepted.
 */
#ifndef INTERPRETERS_PYTHON_CODE_CURSOR_H
#define INTERPRETERS_PYTHON_CODE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/elf/elf_image.h"
#include "lib/model/flag_ranges.h"

enum {
	/** Limit of the code; no version has a larger eval loop. */
	CODE_CURSOR_MAX_BYTES = 4 << 20,
	CODE_REGISTERS = 32,
	CODE_NO_REGISTER = 255,
};

enum code_kind {
	/** Any other instruction: it may write the registers in `writes` and memory. */
	CODE_OTHER,
	/** reg = base; 64 bits wide, as the next three. */
	CODE_MOVE,
	/** reg = *(base + displacement); second = the next word. */
	CODE_LOAD,
	/** *(base + displacement) = reg, and second to the next word; `stored_bytes` in total. */
	CODE_STORE,
	/** reg = base + displacement. */
	CODE_ADD,
	/** Restores saved registers or pops the whole frame. */
	CODE_RESTORE,
	CODE_CALL,
	CODE_CALL_INDIRECT,
	/** A direct jump. */
	CODE_JUMP,
	CODE_BRANCH,
	CODE_RETURN,
	/** Does not continue, or its target is unknown. */
	CODE_STOP,
};

struct code_instruction {
	/** enum code_kind. */
	uint8_t kind;
	/** CODE_NO_REGISTER if there is none, or it is no general register. */
	uint8_t reg;
	uint8_t second;
	uint8_t base;
	uint8_t stored_bytes;
	/** One bit for each general register. */
	uint32_t writes;
	/** For CODE_JUMP and CODE_BRANCH: distance from the next instruction to the target. */
	int64_t displacement;
};

/** Registers by the hardware's numbers; 31 is arm64's stack pointer. */
struct code_registers {
	uint8_t stack_pointer;
	uint8_t frame_pointer;
	/** The first two arguments of a function. */
	uint8_t arguments[2];
	/** One bit for each register that functions must preserve. */
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

/** Copies the code of @range from @image; -EBADMSG if it is too large or missing, -ENOMEM. */
int code_cursor_init(struct code_cursor *cursor, const struct elf_image *image,
		     struct code_range range);
void code_cursor_deinit(struct code_cursor *cursor);

/** Moves to the next instruction, at first to the first one; false after the last one. */
bool code_cursor_next(struct code_cursor *cursor);

/** Makes code_cursor_next() continue at @address, which must be in the code. */
void code_cursor_go(struct code_cursor *cursor, uint64_t address);

bool code_cursor_has(const struct code_cursor *cursor, uint64_t address);

/** The target of the last instruction, if it is a direct jump or branch. */
bool code_cursor_target(const struct code_cursor *cursor, uint64_t *target);

#endif
