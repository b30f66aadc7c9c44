/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Rows for code that no unwind table describes, from its instructions: hand-written assembly, start
 * files, programs built with -fno-asynchronous-unwind-tables.
 *
 * The analysis follows the control flow of each function, and tracks the locations of the stack
 * pointer, the frame pointer, rbx and the return address on every path. A function is verified
 * ("believed") if all its paths agree where they meet and each return finds the stack as it was at the
 * entry. Paths behind calls that are not known to return are not considered: their rules, and those of
 * unverified functions, have RULE_GUESS. Addresses that no path reaches get CFA_NONE.
 *
 * The functions are pure, and the bytes are hostile: time is linear, memory is bounded, and no bytes
 * lead to an access outside of them.
 */
#ifndef STACKDELTAS_CODE_CODE_ANALYSIS_H
#define STACKDELTAS_CODE_CODE_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ebpf/abi/slab.h"

/** Code without a table: all of the bytes between two FDEs, padding included. Borrowed. */
struct code_bytes {
	/** ELF virtual address of the first byte. */
	uint64_t address;
	const uint8_t *bytes;
	size_t size;
};

struct code_analysis_input {
	/** EM_X86_64 or EM_AARCH64. */
	uint16_t machine;
	/** Address at which the program starts, in its outermost frame; 0 if there is none. */
	uint64_t entry;
	/** Sorted by address, not overlapping. Empty ranges are skipped. */
	const struct code_bytes *ranges;
	size_t range_count;
	/**
	 * Known starts of functions (symbols, DT_INIT, DT_FINI, ...), sorted, in a range or not. The
	 * analysis finds more, so there may be none. The function around a wrong one is not verified.
	 */
	const uint64_t *starts;
	size_t start_count;
	/**
	 * Addresses that data of the file has, sorted: they may be functions, targets of jumps, or other numbers.
	 */
	const uint64_t *pointers;
	size_t pointer_count;
	/**
	 * A function is verified only if an exit confirms it, even if its start is known: among the code may be other bytes,
	 * which look like calls. Evidence against a function counts wherever it is, and padding has no rules.
	 */
	bool needs_exits;
	/**
	 * Code that HotSpot has generated: every call returns, or is followed by an instruction that stops, and
	 * rbx is not callee-saved.
	 */
	bool is_hotspot;
	/**
	 * HotSpot's code whose first byte is not called. Its return address is in rdx there, or, if the code begins with
	 * push rbx, in the JVM's thread structure.
	 */
	bool is_thrown_to;
	/** HotSpot's code whose first byte is reached by a jump from a frame of this size, addressed by rbp; 0: by a call. */
	uint32_t frame_bytes;
};

struct code_analysis_statistics {
	/** Number of functions that were given or are called, or were found otherwise and verified; number verified. */
	uint32_t function_count;
	uint32_t believed_count;
	/** Bytes of code whose rule is verified, a guess, or not known (padding included). */
	uint64_t believed_bytes;
	uint64_t guessed_bytes;
	uint64_t unknown_bytes;
};

/** Receives every row. */
struct code_row_handler {
	void *context;
	/**
	 * @rule is valid from @address on, until the next row or the end of the range. Each range starts
	 * with a row; addresses ascend over all ranges. @rule is borrowed for the call; CFA_NONE: not
	 * known. Rules with equal meaning have equal bytes. A negative result ends the analysis.
	 */
	int (*row)(void *context, uint64_t address, const struct unwind_rule *rule);
	/**
	 * Optional. The rules in [@start, @end), which is not empty and part of one range, depend on the code in [@low, @high).
	 * Not called for code without a rule.
	 */
	void (*extent)(void *context, uint64_t start, uint64_t end, uint64_t low, uint64_t high);
};

/**
 * Analyses all ranges of @input. Returns 0, -ENOMEM, -EOPNOTSUPP for another machine, or the negative
 * result of the handler. @statistics may be NULL.
 */
int code_analysis_run(const struct code_analysis_input *input,
		      const struct code_row_handler *handler,
		      struct code_analysis_statistics *statistics);

#endif
