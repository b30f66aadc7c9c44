/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What is otherwise in code that HotSpot makes for itself (stubs) than in a compiler's functions. Source:
 * cpu/x86/{stubGenerator_x86_64,sharedRuntime_x86_64,c1_Runtime1_x86}.cpp of OpenJDK 8 to 27.
 *
 * Its calls come back, or what stands behind them stops. No register but the frame pointer is kept for a
 * caller. Stubs that find where an exception goes on pop their return address and jump there; some make
 * the stack anew, of which nothing is known from there on; those that bring a continuation's frames to the stack
 * know them by rbx, until they go there. Behind a poll, which calls nothing, the thread has the return address,
 * until it is stored into the frame.
 */
#ifndef STACKDELTAS_CODE_CODE_HOTSPOT_H
#define STACKDELTAS_CODE_CODE_HOTSPOT_H

#include "stackdeltas/code/code_sweep.h"

/** As code_state_is_entry(), by the rules of the code that @piece is. */
bool code_hotspot_is_entry(const struct code_piece *piece, const struct code_state *state);

/** True if a path of a stub may end with @state, which is not that of the entry; false for other code. */
bool code_hotspot_is_exit(const struct code_piece *piece, const struct code_state *state);

/** The same at a jump to a register, if the way to @state is right by that: with the return address popped. */
bool code_hotspot_is_good_exit(const struct code_piece *piece, const struct code_state *state);

/**
 * False if what was given as a start cannot be one, since a path comes to it from above with @state:
 * another entry of the same stub, behind the making of its frame.
 */
bool code_hotspot_starts(const struct code_piece *piece, const struct code_state *state);

/** What is known at the first instruction of the function at @offset, if it is entered otherwise. */
void code_hotspot_enter(const struct code_piece *piece, uint32_t offset, struct code_state *state);

/** True if what stands at @offset, @length bytes of a path, is no code: a function starts within it. */
bool code_hotspot_is_data(const struct code_piece *piece, const struct code_marks *marks,
			  uint32_t offset, uint32_t length);

/** As code_state_merge(); where a path comes with a stack made anew, nothing is known. */
int code_hotspot_merge(const struct code_piece *piece, struct code_state *into,
		       const struct code_state *from);

/**
 * True if a path that comes to @state, of a function that @is_known or not, is right by that: all ways
 * out of some stubs are to a stack made anew.
 */
bool code_hotspot_proves(const struct code_piece *piece, bool is_known,
			 const struct code_state *state);

/** Adds to @state what is known behind the instruction at @offset; before it that was @last. */
void code_hotspot_amend(const struct code_piece *piece, uint32_t offset,
			const struct code_state *last, struct code_state *state);

#endif
