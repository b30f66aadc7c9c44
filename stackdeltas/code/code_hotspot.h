/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Differences between code that HotSpot generates for itself (stubs) and a compiler's functions. Source:
 * cpu/x86/{stubGenerator_x86_64,sharedRuntime_x86_64,c1_Runtime1_x86}.cpp of OpenJDK 8 to 27.
 *
 * A stub's calls return, or are followed by an instruction that stops. Only the frame pointer is callee-saved.
 * Stubs that look up an exception's handler pop their return address and jump to the handler. Some stubs build
 * the stack again, of which nothing is known from there on. Stubs that copy a continuation's frames to the stack
 * have the size of these in rbx, until they switch to them. Behind a poll, which calls nothing, the return address
 * is in the thread structure until it is stored into the frame.
 */
#ifndef STACKDELTAS_CODE_CODE_HOTSPOT_H
#define STACKDELTAS_CODE_CODE_HOTSPOT_H

#include "stackdeltas/code/code_sweep.h"

/** As code_state_is_entry(), by the rules for the kind of code in @chunk. */
bool code_hotspot_is_entry(const struct code_chunk *chunk, const struct code_state *state);

/** True if a path of a stub may end with @state, which is not that of the entry; false for other code. */
bool code_hotspot_is_exit(const struct code_chunk *chunk, const struct code_state *state);

/** As code_hotspot_is_exit() at a jump to a register, if it verifies the path to @state: the return address was popped. */
bool code_hotspot_is_good_exit(const struct code_chunk *chunk, const struct code_state *state);

/**
 * False if a given start cannot be one, since a path reaches it from above with @state: it is another entry of the
 * same stub, behind the code that makes its frame.
 */
bool code_hotspot_starts(const struct code_chunk *chunk, const struct code_state *state);

/** Sets @state to that at the first instruction of the function at @offset, if that is not entered by a call. */
void code_hotspot_enter(const struct code_chunk *chunk, uint32_t offset, struct code_state *state);

/** True if the @length bytes at @offset of a path are not code, since a function starts within them. */
bool code_hotspot_is_data(const struct code_chunk *chunk, const struct code_marks *marks,
			  uint32_t offset, uint32_t length);

/** As code_state_merge(), but the result is unknown where a path has built the stack again. */
int code_hotspot_merge(const struct code_chunk *chunk, struct code_state *into,
		       const struct code_state *from);

/**
 * True if a path that reaches @state, of a function that @is_known or not, is verified by that: some stubs
 * always exit to a stack that they have built again.
 */
bool code_hotspot_proves(const struct code_chunk *chunk, bool is_known,
			 const struct code_state *state);

/** Completes @state, that behind the instruction at @offset; @last is that before the instruction. */
void code_hotspot_amend(const struct code_chunk *chunk, uint32_t offset,
			const struct code_state *last, struct code_state *state);

#endif
