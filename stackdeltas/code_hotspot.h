/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What is otherwise in code that HotSpot makes for itself (stubs) than in a compiler's functions. Source:
 * cpu/x86/{stubGenerator_x86_64,sharedRuntime_x86_64,c1_Runtime1_x86}.cpp of OpenJDK 8 to 27.
 *
 * Its calls come back, or what stands behind them stops. No register but the frame pointer is kept for a
 * caller. Stubs that find where an exception goes on pop their return address and jump there; some make
 * the stack anew, of which nothing is known from there on.
 */
#ifndef STACKDELTAS_CODE_HOTSPOT_H
#define STACKDELTAS_CODE_HOTSPOT_H

#include "stackdeltas/code_sweep.h"

/** As code_state_is_entry(), by the rules of the code that @piece is. */
bool code_hotspot_is_entry(const struct code_piece *piece, const struct code_state *state);

/** True if a path of a stub may end with @state, which is not that of the entry; false for other code. */
bool code_hotspot_is_exit(const struct code_piece *piece, const struct code_state *state);

/**
 * False if what was given as a start cannot be one, since a path comes to it from above with @state:
 * another entry of the same stub, behind the making of its frame.
 */
bool code_hotspot_starts(const struct code_piece *piece, const struct code_state *state);

/**
 * Behind an instruction before which the return address was at @slot: what a stub stores there is where
 * its caller goes on.
 */
void code_hotspot_keep_return(const struct code_piece *piece, int32_t slot,
			      struct code_state *state);

#endif
