/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The first pass over a chunk of code: it decodes all instructions in sequence, without following paths,
 * to find where blocks may begin. The second pass then needs memory only for blocks.
 *
 * It also finds likely starts of functions, by the code there and before: for functions that are called
 * only by pointer, and for code behind calls that do not return.
 */
#ifndef STACKDELTAS_CODE_CODE_SWEEP_H
#define STACKDELTAS_CODE_CODE_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stackdeltas/code/code_step.h"

enum {
	/** Position-independent files begin at 0, so that smaller numbers are hardly ever addresses. */
	CODE_FIXED_ADDRESS = 0x200000,
};

/** Known addresses in a chunk. */
struct code_hints {
	/** Starts of functions. All addresses are sorted and in the chunk. */
	const uint64_t *starts;
	size_t start_count;
	/** Addresses that data contains. */
	const uint64_t *pointers;
	size_t pointer_count;
	/** Targets of calls and of jumps in other chunks. */
	const uint64_t *called;
	size_t called_count;
	const uint64_t *jumped;
	size_t jumped_count;
	/** The outermost frame's code, in the chunk or not. */
	uint64_t entry;
};

/** Consecutive bytes that are analysed together. */
struct code_chunk {
	uint16_t machine;
	code_step_function *step;
	/** ELF virtual address of the first byte. */
	uint64_t address;
	const uint8_t *bytes;
	uint32_t size;
	/** As in code_analysis_input. */
	bool needs_exits;
	bool is_hotspot;
	bool is_thrown_to;
	uint32_t frame_bytes;
};

enum code_mark {
	/** A function starts here: it was given, is called, or was found. */
	CODE_MARK_START = 1 << 0,
	/**
	 * The byte follows an instruction that has no next one, and its padding; or is likely to, since it is
	 * the start of a function that is called by pointer.
	 */
	CODE_MARK_AFTER_END = 1 << 1,
	CODE_MARK_PADDING = 1 << 2,
	/** Set by code_flow: the first byte of an instruction on a path; any byte of one. */
	CODE_MARK_INSTRUCTION = 1 << 3,
	CODE_MARK_VISITED = 1 << 4,
	/** An instruction takes the address or data contains it, and a function is likely to start there. */
	CODE_MARK_TAKEN = 1 << 5,
	/** A start that was given. */
	CODE_MARK_GIVEN = 1 << 6,
	/** A jump or a branch leads here. */
	CODE_MARK_JUMPED = 1 << 7,
};

/** Marks of the bytes of a chunk, and the leaders: the bytes that may begin a block. */
struct code_marks {
	/** enum code_mark of each byte. */
	uint8_t *marks;
	/** A bit for each leader, and the number of leaders before each word. */
	uint64_t *leader_bits;
	uint32_t *leader_ranks;
	uint32_t leader_count;
	/**
	 * x86-64: a bit for each byte of code at which stacks begin that the program makes by hand
	 * (stack_switch.h); NULL: there is none.
	 */
	uint64_t *stack_start_bits;
	/** Size of the chunk. */
	uint32_t size;
};

/** Sweeps @chunk. -ENOMEM. The caller deinits in any case. */
int code_marks_init(struct code_marks *marks, const struct code_chunk *chunk,
		    const struct code_hints *hints);
/** Removes all leaders, so that nothing is analysed. */
void code_marks_clear_leaders(struct code_marks *marks, const struct code_chunk *chunk);
void code_marks_deinit(struct code_marks *marks);

/** Returns the first leader at or behind @offset; the size of the chunk if there is none. */
uint32_t code_marks_next_leader(const struct code_marks *marks, uint32_t offset);

static inline bool code_marks_is_leader(const struct code_marks *marks, uint32_t offset)
{
	return marks->leader_bits[offset / 64] >> offset % 64 & 1;
}

static inline bool code_marks_begins_stack(const struct code_marks *marks, uint32_t offset)
{
	return marks->stack_start_bits && marks->stack_start_bits[offset / 64] >> offset % 64 & 1;
}

/** Returns the number of leaders before @offset, which is the index of a leader at @offset. */
static inline uint32_t code_marks_rank(const struct code_marks *marks, uint32_t offset)
{
	uint64_t below = ((uint64_t)1 << offset % 64) - 1;

	return marks->leader_ranks[offset / 64] +
	       __builtin_popcountll(marks->leader_bits[offset / 64] & below);
}

/**
 * True if a function is likely to start at @offset, and not a block of the function before: the code makes a
 * frame, or returns at once. A block would first have to leave the frame that was made before it.
 */
bool code_start_is_likely(const struct code_chunk *chunk, uint32_t offset);

/** True if only padding is between the call before @next and the start of another function. */
bool code_start_follows(const struct code_chunk *chunk, const struct code_marks *marks,
			uint32_t next);

/**
 * Finds the address that the instruction of @length bytes at @address takes, as for functions that are called by
 * pointer: x86-64's `lea n(%rip),%reg`, and, in programs at fixed addresses, `mov $n,%reg`, `movq $n,...` and `push $n`.
 */
bool code_takes_address(uint16_t machine, const uint8_t *bytes, uint32_t length, uint64_t address,
			uint64_t *taken);

#endif
