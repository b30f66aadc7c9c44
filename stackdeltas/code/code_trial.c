/* SPDX-License-Identifier: Apache-2.0 */
/* One way through code, of limited length. */
#include "stackdeltas/code/code_trial.h"

#include <elf.h>

enum {
	/* Most ways come to a return or a tail call before. */
	MAX_INSTRUCTIONS = 256,
	/* Compilers may move so many instructions before the first that saves a register. */
	PROLOGUE_INSTRUCTIONS = 4,
	/* At a call the stack is aligned to this (x86-64 psABI 3.2.2, AAPCS64 6.4.5). */
	STACK_ALIGNMENT = 16,
};

struct trial {
	const struct code_chunk *chunk;
	const struct code_marks *marks;
	struct code_state entry;
	struct code_state state;
	uint32_t offset;
	/* A call found the stack not aligned, or the return address not saved. */
	bool is_misaligned;
	/* A frame was made only behind a call, which may not return. */
	bool has_late_frame;
	bool has_called;
	bool had_frame;
	/* The way has come to an exit. */
	bool has_exit;
};

static enum code_trial at_exit(struct trial *trial)
{
	trial->has_exit = true;
	if (!code_state_is_entry(&trial->state, trial->chunk->machine))
		return CODE_TRIAL_FAILS;
	return trial->is_misaligned || trial->has_late_frame ? CODE_TRIAL_OPEN : CODE_TRIAL_FITS;
}

/* Goes on at @target, which the last instruction jumps to. True if the way ends there. */
static bool jump_ends(struct trial *trial, int64_t target, enum code_trial *result)
{
	if (target < 0 || target >= trial->chunk->size) {
		/* It may be a jump to a part of the function that is elsewhere, unless a frame was removed before. */
		*result = trial->had_frame && at_exit(trial) == CODE_TRIAL_FITS ? CODE_TRIAL_FITS :
										  CODE_TRIAL_OPEN;
		return true;
	}
	if (trial->marks->marks[target] & CODE_MARK_START) {
		*result = at_exit(trial);
		return true;
	}
	trial->offset = target;
	return false;
}

static bool is_misaligned(const struct trial *trial)
{
	if (trial->chunk->machine == EM_AARCH64)
		return !trial->state.ra_slot;
	return trial->state.sp.kind == CODE_FROM_CFA && trial->state.sp.offset % STACK_ALIGNMENT;
}

/* Passes a call; true if the way ends with it. */
static bool call_ends(struct trial *trial, const struct code_step *step, enum code_trial *result)
{
	uint32_t next = trial->offset + step->length;

	*result = CODE_TRIAL_OPEN;
	if (next >= trial->chunk->size || step->target == step->length ||
	    trial->marks->marks[next] & CODE_MARK_START ||
	    code_start_follows(trial->chunk, trial->marks, next))
		return true;
	trial->is_misaligned |= is_misaligned(trial);
	trial->has_called = true;
	code_state_call(&trial->state, trial->chunk->machine);
	trial->offset = next;
	return false;
}

/* Makes one step; true if the way ends with it. */
static bool step_ends(struct trial *trial, enum code_trial *result)
{
	const struct code_chunk *chunk = trial->chunk;
	bool was_at_entry = code_value_equal(trial->state.sp, trial->entry.sp);
	struct code_step step;

	chunk->step(chunk->bytes + trial->offset, chunk->size - trial->offset, &trial->state,
		    &step);
	*result = CODE_TRIAL_OPEN;
	/* The frame of a function has nothing above its return address to pop. */
	if (trial->state.sp.kind == CODE_FROM_CFA &&
	    trial->state.sp.offset > trial->entry.sp.offset && step.flow != CODE_FLOW_RETURN) {
		*result = CODE_TRIAL_FAILS;
		return true;
	}
	if (was_at_entry && trial->state.sp.kind == CODE_FROM_CFA &&
	    trial->state.sp.offset < trial->entry.sp.offset) {
		trial->had_frame = true;
		trial->has_late_frame |= trial->has_called;
	}
	switch (step.flow) {
	case CODE_FLOW_RETURN:
		*result = at_exit(trial);
		return true;
	case CODE_FLOW_JUMP:
		return jump_ends(trial, trial->offset + step.target, result);
	case CODE_FLOW_CALL:
	case CODE_FLOW_CALL_INDIRECT:
		return call_ends(trial, &step, result);
	case CODE_FLOW_NOP:
	case CODE_FLOW_NEXT:
	case CODE_FLOW_BRANCH:
		trial->offset += step.length;
		return trial->offset >= chunk->size;
	case CODE_FLOW_BAD:
		*result = CODE_TRIAL_FAILS;
		return true;
	/* An indirect jump leads to the targets of a table, unless it is a tail call. */
	default:
		return true;
	}
}

/* Tries @state before the instruction at @offset. */
static enum code_trial try_state(const struct code_chunk *chunk, const struct code_marks *marks,
				 uint32_t offset, const struct code_state *state)
{
	struct trial trial = {
		.chunk = chunk,
		.marks = marks,
		.state = *state,
		.offset = offset,
	};
	enum code_trial result = CODE_TRIAL_OPEN;

	code_state_init(&trial.entry, chunk->machine);
	for (int i = 0; i < MAX_INSTRUCTIONS; i++)
		if (step_ends(&trial, &result))
			break;
	return result == CODE_TRIAL_OPEN && trial.is_misaligned && !trial.has_exit ?
		       CODE_TRIAL_UNLIKELY :
		       result;
}

/* Tries the state at the first instruction of a function. */
static enum code_trial try_start(const struct code_chunk *chunk, const struct code_marks *marks,
				 uint32_t offset)
{
	struct code_state entry;

	code_state_init(&entry, chunk->machine);
	return try_state(chunk, marks, offset, &entry);
}

/* True if one of the next instructions pushes a register of the caller, as functions begin, aligned or not. */
static bool saves_registers(const struct code_chunk *chunk, uint32_t offset)
{
	struct code_state state;

	code_state_init(&state, chunk->machine);
	for (int i = 0; i < PROLOGUE_INSTRUCTIONS && offset < chunk->size; i++) {
		struct code_step step;

		chunk->step(chunk->bytes + offset, chunk->size - offset, &state, &step);
		if (step.flow == CODE_FLOW_JUMP) {
			if ((uint64_t)(offset + step.target) >= chunk->size)
				return false;
			offset += step.target;
			continue;
		}
		if (step.flow != CODE_FLOW_NEXT && step.flow != CODE_FLOW_NOP)
			return false;
		if (step.pushes_preserved || (chunk->machine == EM_AARCH64 && state.sp.offset < 0))
			return true;
		offset += step.length;
	}
	return false;
}

bool code_trial_is_taken_start(const struct code_chunk *chunk, const struct code_marks *marks,
			       uint32_t offset)
{
	enum code_trial result;

	if (code_start_is_likely(chunk, offset))
		return true;
	result = try_start(chunk, marks, offset);
	return result == CODE_TRIAL_FITS ||
	       (result != CODE_TRIAL_FAILS && saves_registers(chunk, offset));
}

bool code_trial_is_start(const struct code_chunk *chunk, const struct code_marks *marks,
			 uint32_t offset, const struct code_state *state)
{
	if (code_start_is_likely(chunk, offset))
		return true;
	if (chunk->is_hotspot || code_state_is_entry(state, chunk->machine))
		return false;
	if (marks->marks[offset] & CODE_MARK_TAKEN)
		return true;
	return try_state(chunk, marks, offset, state) == CODE_TRIAL_FAILS &&
	       try_start(chunk, marks, offset) == CODE_TRIAL_FITS;
}

bool code_trial_ends_function(const struct code_chunk *chunk, const struct code_marks *marks,
			      uint32_t next, const struct code_state *state)
{
	return !(marks->marks[next] & CODE_MARK_START) && code_marks_is_leader(marks, next) &&
	       saves_registers(chunk, next) &&
	       try_state(chunk, marks, next, state) == CODE_TRIAL_FAILS &&
	       try_start(chunk, marks, next) == CODE_TRIAL_FITS;
}

bool code_trial_returns(const struct code_chunk *chunk, const struct code_marks *marks,
			uint32_t next, const struct code_state *state)
{
	const uint8_t other_ways = CODE_MARK_START | CODE_MARK_TAKEN | CODE_MARK_AFTER_END |
				   CODE_MARK_JUMPED;

	return !(marks->marks[next] & other_ways) &&
	       try_start(chunk, marks, next) >= CODE_TRIAL_UNLIKELY &&
	       try_state(chunk, marks, next, state) != CODE_TRIAL_FAILS;
}
