/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reads code of a file and steps through its x86-64 instructions, to find the functions and variables of runtimes that
 * have no symbols.
 */
#ifndef INTERPRETERS_X86_CODE_H
#define INTERPRETERS_X86_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/elf/elf_image.h"
#include "lib/isa/x86_decode.h"
#include "lib/model/flag_ranges.h"

/** Addresses are ELF virtual addresses. Copies borrow the bytes. */
struct x86_code {
	struct elf_bytes bytes;
	uint64_t start;
	/** Addresses of the current instruction and of the next one. */
	uint64_t address;
	uint64_t next;
	struct x86_instruction x86;
};

/** Reads the code in @range. -E2BIG if it is larger than @limit, -EBADMSG, -ENOENT, -ENOMEM. */
int x86_code_init(struct x86_code *code, const struct elf_image *image, struct code_range range,
		  uint64_t limit);
/** The same for @bytes bytes at @address, or fewer if the segment ends: the start of a function of unknown size. */
int x86_code_init_head(struct x86_code *code, const struct elf_image *image, uint64_t address,
		       uint64_t bytes);
void x86_code_deinit(struct x86_code *code);

/** The bytes of the current instruction. */
const uint8_t *x86_code_bytes(const struct x86_code *code);
bool x86_code_has(const struct x86_code *code, uint64_t address);

/** Moves to the next instruction; false if there is none or it is unknown. */
bool x86_code_next(struct x86_code *code);
/** The same, but skips unknown bytes. */
bool x86_code_next_known(struct x86_code *code);

/** The target of a direct call, jump or branch. */
uint64_t x86_code_target(const struct x86_code *code);
bool x86_code_is_jump(const struct x86_code *code);

/**
 * The address of the current instruction's pc-relative operand. 0: its opcode is not @opcode, or there is no such one.
 * @is_wide: its operands must have 64 bits; else it may have no REX prefix.
 */
uint64_t x86_code_relative(const struct x86_code *code, bool is_wide, uint8_t opcode);

#endif
