/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Trials: could a state be that before an instruction? A trial follows one way through the code, without branching off,
 * up to an end that confirms or refutes the state. It decides where the paths of a function do not: whether a
 * function starts behind a call, at an address that is stored in data, or among the targets of a jump table.
 */
#ifndef STACKDELTAS_CODE_CODE_TRIAL_H
#define STACKDELTAS_CODE_CODE_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "stackdeltas/code/code_state.h"
#include "stackdeltas/code/code_sweep.h"

enum code_trial {
	/** The way ends without showing it, or is long. */
	CODE_TRIAL_OPEN,
	/** A return or a tail call finds the stack as at the entry. */
	CODE_TRIAL_FITS,
	/** The way ends without showing it, but a call finds the stack not aligned, or the return address not saved. */
	CODE_TRIAL_UNLIKELY,
	/** A return or a tail call does not find it so, or more is popped than the frame has. */
	CODE_TRIAL_FAILS,
};

/**
 * True if a function starts at @offset, whose address was taken or is in data. A jump table has addresses of
 * blocks, too.
 */
bool code_trial_is_taken_start(const struct code_chunk *chunk, const struct code_marks *marks,
			       uint32_t offset);

/** True if a function starts at @offset, and no block of a function whose jump tables have @state. */
bool code_trial_is_start(const struct code_chunk *chunk, const struct code_marks *marks,
			 uint32_t offset, const struct code_state *state);

/**
 * True if the call before @next, behind which the state would be @state, does not return, and another function
 * starts at @next, without padding.
 */
bool code_trial_ends_function(const struct code_chunk *chunk, const struct code_marks *marks,
			      uint32_t next, const struct code_state *state);

/** True if the call before @next, behind which the state is @state, returns: nothing else can lead to @next. */
bool code_trial_returns(const struct code_chunk *chunk, const struct code_marks *marks,
			uint32_t next, const struct code_state *state);

#endif
