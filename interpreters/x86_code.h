/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Code of a file, read and gone through instruction by instruction: how runtimes are found whose functions and variables
 * have no symbols. x86-64.
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
	/** The instruction at hand, and the next one. */
	uint64_t address;
	uint64_t next;
	struct x86_instruction x86;
};

/** Reads the code in @range. -E2BIG if it is larger than @limit, -EBADMSG, -ENOENT, -ENOMEM. */
int x86_code_init(struct x86_code *code, const struct elf_image *image, struct code_range range,
		  uint64_t limit);
/** The same of @bytes at @address, or as many as there are: the beginning of a function, which may be shorter. */
int x86_code_init_head(struct x86_code *code, const struct elf_image *image, uint64_t address,
		       uint64_t bytes);
void x86_code_deinit(struct x86_code *code);

/** The bytes of the instruction at hand. */
const uint8_t *x86_code_bytes(const struct x86_code *code);
bool x86_code_has(const struct x86_code *code, uint64_t address);

/** Goes to the next instruction; false where there is none that is known. */
bool x86_code_next(struct x86_code *code);
/** The same, but steps over what is not known. */
bool x86_code_next_known(struct x86_code *code);

/** Where a direct call, jump or branch goes. */
uint64_t x86_code_target(const struct x86_code *code);
bool x86_code_is_jump(const struct x86_code *code);

/**
 * The address that the instruction at hand refers to, relative to the next one. 0: its opcode is not @opcode, or it refers
 * to nothing in that way. @is_wide: its operands have 64 bits; else it may do without a REX prefix.
 */
uint64_t x86_code_relative(const struct x86_code *code, bool is_wide, uint8_t opcode);

#endif
