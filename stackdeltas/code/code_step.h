/* SPDX-License-Identifier: Apache-2.0 */
/**
 * One instruction as the analysis of code sees it: how it goes on, and what becomes of the state.
 * Each architecture has such a function (x86_step.h, arm64_step.h); the decoders behind them read no byte past @size.
 */
#ifndef STACKDELTAS_CODE_CODE_STEP_H
#define STACKDELTAS_CODE_CODE_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stackdeltas/code/code_state.h"

enum code_step_flow {
	/** Not decoded. */
	CODE_FLOW_BAD,
	CODE_FLOW_NEXT,
	/** The next, and nothing was done: padding. */
	CODE_FLOW_NOP,
	CODE_FLOW_CALL,
	CODE_FLOW_CALL_INDIRECT,
	CODE_FLOW_JUMP,
	CODE_FLOW_JUMP_INDIRECT,
	/** The next or the target. */
	CODE_FLOW_BRANCH,
	CODE_FLOW_RETURN,
	CODE_FLOW_SYSCALL,
	CODE_FLOW_STOP,
};

struct code_step {
	/** enum code_step_flow */
	uint8_t flow;
	/** Bytes; where nothing was decoded, of what may be passed over. */
	uint8_t length;
	/** Compares the stack pointer with state->other, which is known. */
	bool compares_sp;
	/** A branch whose fall-through means that what was compared is equal. */
	bool is_not_equal;
	/** Of calls, jumps and branches that are direct: counted from this instruction. */
	int64_t target;
};

/**
 * Decodes the instruction at @bytes (@size > 0) to @step, and lets it change @state, which may be
 * NULL. What a callee does is code_state_call()'s.
 */
typedef void code_step_function(const uint8_t *bytes, size_t size, struct code_state *state,
				struct code_step *step);

#endif
