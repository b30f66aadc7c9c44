/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Rows for code that no unwind table describes, from its instructions: hand-written assembly, start
 * files, programs built with -fno-asynchronous-unwind-tables.
 *
 * Each function is followed over its control flow, and where the stack pointer, the frame pointer,
 * rbx and the return address stand is kept for every path. A function is believed if all its paths
 * agree where they meet and each return finds the stack as it was at the entry, but for paths behind
 * calls that nothing shows to come back. Their rules and those of others carry RULE_GUESS; addresses
 * that no path reaches get CFA_NONE.
 *
 * Pure functions of bytes, which are hostile: time is linear, memory is bounded, and nothing that
 * the bytes say leads outside of them.
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
	/** Where the program starts: the outermost frame; 0 if there is none. */
	uint64_t entry;
	/** Sorted by address, not overlapping. Those of size 0 are passed over. */
	const struct code_bytes *ranges;
	size_t range_count;
	/**
	 * Sorted: functions known to start here (symbols, DT_INIT, DT_FINI, ...), in a range or not.
	 * More are found by themselves, so there may be none; one that is wrong costs the belief in
	 * the function that it lies in.
	 */
	const uint64_t *starts;
	size_t start_count;
	/**
	 * Code that HotSpot has made: every call comes back, or to an instruction that stops, and rbx is
	 * nobody's to keep.
	 */
	bool is_hotspot;
	/**
	 * Of such code: nothing calls its first byte; where it goes back to is in rdx there, or in what the JVM has
	 * of the thread, if it begins with push rbx.
	 */
	bool is_thrown_to;
	/** Its first byte is jumped to from within a frame of this size, kept by rbp; 0: it is called. */
	uint32_t frame_bytes;
};

struct code_analysis_statistics {
	/** Functions that were given or are called, and those found otherwise that are believed. */
	uint32_t function_count;
	uint32_t believed_count;
	/** Bytes of code whose rule is known, is a guess, or is not known (padding among them). */
	uint64_t believed_bytes;
	uint64_t guessed_bytes;
	uint64_t unknown_bytes;
};

/** Told of every row. */
struct code_row_handler {
	void *context;
	/**
	 * From @address on @rule holds, until the next row or the end of the range. Each range starts
	 * with a row; addresses ascend over all ranges. @rule is borrowed for the call; CFA_NONE: not
	 * known. Equal meanings have equal bytes. A negative result ends the analysis.
	 */
	int (*row)(void *context, uint64_t address, const struct unwind_rule *rule);
};

/**
 * Analyses all ranges of @input. 0, -ENOMEM, -EOPNOTSUPP for another machine, or what the handler
 * returned. @statistics may be NULL.
 */
int code_analysis_run(const struct code_analysis_input *input,
		      const struct code_row_handler *handler,
		      struct code_analysis_statistics *statistics);

#endif
