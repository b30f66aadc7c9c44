/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the functions of Go's runtime for arm64 do between their instructions that the sizes of frames do
 * not tell: where they have another stack, and where a return address is in a register. Found by
 * the instructions that move the stack pointer, which the runtime has the same from 1.16 on.
 * Source: runtime/asm_arm64.s, runtime/cgo/asm_arm64.s of Go 1.16 to 1.27.
 */
#ifndef STACKDELTAS_GO_ARM64_H
#define STACKDELTAS_GO_ARM64_H

#include <stddef.h>
#include <stdint.h>

enum go_arm64_kind {
	/** The rule of the function's role holds. */
	GO_ARM64_SWITCHED,
	/** x2 has the stack pointer of its frame, on whichever stack (go_rule_make_calling()). */
	GO_ARM64_CALLING,
	/** Called at the beginning of a function, whose return address is in x3. */
	GO_ARM64_GROWING,
	/** C's frame pointer and return address are at `offset` from the stack pointer. */
	GO_ARM64_SAVED,
	/** The frame is gone, though the sizes say that it is there. */
	GO_ARM64_POPPED,
};

/** Addresses of a function that are not as the rest of it. */
struct go_arm64_part {
	uint64_t start;
	uint64_t end;
	enum go_arm64_kind kind;
	int16_t offset;
};

enum {
	GO_ARM64_PARTS_MAX = 4,
	/** More of a function is not looked at; the longest has 320. */
	GO_ARM64_MAX_BYTES = 512,
};

/**
 * The parts of the function with @role (go_rules.h) whose code, @bytes bytes at ELF virtual address
 * @address, is @code; @end: of the function. Sorted; their number, 0 for wrappers.
 */
uint32_t go_arm64_find_parts(uint32_t role, uint64_t address, uint64_t end, const uint8_t *code,
			     size_t bytes, struct go_arm64_part parts[GO_ARM64_PARTS_MAX]);

#endif
