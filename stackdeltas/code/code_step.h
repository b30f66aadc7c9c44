/* SPDX-License-Identifier: Apache-2.0 */
/**
 * One instruction for the analysis of code: its control flow and its effect on the state. Each architecture has such
 * a function (x86_step.h, arm64_step.h); their decoders read no byte past @size.
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
	/** The next instruction, without any effect: padding. */
	CODE_FLOW_NOP,
	CODE_FLOW_CALL,
	CODE_FLOW_CALL_INDIRECT,
	CODE_FLOW_JUMP,
	CODE_FLOW_JUMP_INDIRECT,
	/** The next instruction or the target. */
	CODE_FLOW_BRANCH,
	CODE_FLOW_RETURN,
	CODE_FLOW_SYSCALL,
	CODE_FLOW_STOP,
};

struct code_step {
	/** enum code_step_flow */
	uint8_t flow;
	/** Size in bytes; if the instruction was not decoded, of the part that may be skipped. */
	uint8_t length;
	/** Stores the stack pointer in memory. */
	bool stores_sp;
	/** Compares the stack pointer with state->other, which is known. */
	bool compares_sp;
	/** Pushes a register that callees preserve. */
	bool pushes_preserved;
	/** A branch that falls through if the compared values are equal. */
	bool is_not_equal;
	/** An indirect call by a pointer at a fixed address, such as a slot of the GOT: `target` is that address. */
	bool has_slot;
	/** Target of a direct call, jump or branch, relative to this instruction. */
	int64_t target;
};

/**
 * Decodes the instruction at @bytes (@size > 0) to @step, and applies its effect to @state, which may be
 * NULL. The effect of a callee is applied by code_state_call().
 */
typedef void code_step_function(const uint8_t *bytes, size_t size, struct code_state *state,
				struct code_step *step);

#endif
