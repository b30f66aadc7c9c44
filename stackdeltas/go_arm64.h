/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The parts of functions of Go's runtime for arm64 that the sizes of frames do not describe: where the
 * stack has been switched, and where a return address is in a register. They are found by the
 * instructions that change the stack pointer, which are the same in the runtime from 1.16 on.
 * Source: runtime/asm_arm64.s, runtime/cgo/asm_arm64.s of Go 1.16 to 1.27.
 */
#ifndef STACKDELTAS_GO_ARM64_H
#define STACKDELTAS_GO_ARM64_H

#include <stddef.h>
#include <stdint.h>

enum go_arm64_kind {
	/** The rule of the function's role is valid. */
	GO_ARM64_SWITCHED,
	/** x2 has the stack pointer of its frame, on either stack (go_rule_make_calling()). */
	GO_ARM64_CALLING,
	/** Called at the beginning of a function, whose return address is in x3. */
	GO_ARM64_GROWING,
	/** C's frame pointer and return address are at `offset` from the stack pointer. */
	GO_ARM64_SAVED,
	/** The frame has been popped, though the table still has its size. */
	GO_ARM64_POPPED,
};

/** A part of a function with another rule than the rest. */
struct go_arm64_part {
	uint64_t start;
	uint64_t end;
	enum go_arm64_kind kind;
	int16_t offset;
};

enum {
	GO_ARM64_PARTS_MAX = 4,
	/** Limit of the bytes of a function that are read; the longest has 320. */
	GO_ARM64_MAX_BYTES = 512,
};

/**
 * Finds the parts of the function with @role (go_rules.h) at ELF virtual addresses [@address, @end), whose
 * first @bytes bytes are @code. They are sorted. Returns their number, 0 for wrappers.
 */
uint32_t go_arm64_find_parts(uint32_t role, uint64_t address, uint64_t end, const uint8_t *code,
			     size_t bytes, struct go_arm64_part parts[GO_ARM64_PARTS_MAX]);

#endif
