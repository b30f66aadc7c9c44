/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The state of the analysis of code before an instruction: the values of the registers that matter,
 * and the locations of the caller's values of them. The same for x86-64 and arm64.
 *
 * Offsets on the stack count from the CFA. Once the stack pointer was aligned, they count from its
 * value then (the base), whose distance from the CFA is not known.
 */
#ifndef STACKDELTAS_CODE_CODE_STATE_H
#define STACKDELTAS_CODE_CODE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "ebpf/abi/slab.h"

enum code_value_kind {
	CODE_UNKNOWN = 0,
	/** The caller's value of the same register. */
	CODE_CALLERS,
	/** CFA + offset */
	CODE_FROM_CFA,
	/** base + offset */
	CODE_FROM_BASE,
	/** offset itself */
	CODE_CONSTANT,
};

enum {
	CODE_NO_REGISTER = 255,
	/** Larger frames are not accepted, which keeps sums of offsets far from overflow. */
	CODE_MAX_OFFSET = 1 << 28,
};

/** State of the CFA in HotSpot's stubs that run on the stack of a continuation's entry. */
enum code_continuation {
	CODE_NO_CONTINUATION = 0,
	/** There is no return address: it is above, in the entry's frame. */
	CODE_AT_ENTRY,
	/** As CODE_AT_ENTRY, and the base is rbx bytes below the CFA. */
	CODE_BELOW_ENTRY,
};

struct code_value {
	uint32_t kind;
	int32_t offset;
};

/** Plain bytes without padding: equal states have equal bytes. */
struct code_state {
	struct code_value sp;
	struct code_value fp;
	/**
	 * The value of one more register, other_register (DWARF number): the last one that was set to an address on the
	 * stack, or the only one from which the CFA can be computed.
	 */
	struct code_value other;
	/** Location of the caller's fp; CODE_UNKNOWN: not stored. */
	struct code_value fp_slot;
	/** Location at which CFA + stored_offset is stored; CODE_UNKNOWN: not stored. */
	struct code_value stored_at;
	int32_t stored_offset;
	/** Location at which the frame's own fp, CFA + own_fp_offset, is stored; CODE_UNKNOWN: not stored. */
	int32_t own_fp_offset;
	struct code_value own_fp_at;
	/** Location of the caller's rbx; CODE_UNKNOWN: not stored. */
	struct code_value rbx_slot;
	/** Offset from the CFA at which the return address is stored; 0: not stored. */
	int32_t ra_slot;
	/** Offset of the return address in HotSpot's thread structure; 0: it is not there. */
	int32_t ra_in_thread;
	uint8_t other_register;
	/** Register with the return address, which may be on the stack as well. */
	uint8_t ra_register;
	uint8_t rbx_is_callers;
	/** The thread starts here: there is no caller. */
	uint8_t is_outermost;
	/** enum code_continuation */
	uint32_t continuation;
};

_Static_assert(sizeof(struct code_state) == 80, "no padding in struct code_state");

static inline struct code_value code_value_add(struct code_value value, int64_t offset)
{
	int64_t sum = value.offset + offset;

	if (value.kind < CODE_FROM_CFA || sum > CODE_MAX_OFFSET || sum < -CODE_MAX_OFFSET)
		return (struct code_value){ CODE_UNKNOWN, 0 };
	return (struct code_value){ value.kind, sum };
}

static inline bool code_value_equal(struct code_value a, struct code_value b)
{
	return a.kind == b.kind && a.offset == b.offset;
}

/** Sets @state to that at the first instruction of a function. */
void code_state_init(struct code_state *state, uint16_t machine);

/** True if a return or a tail call may happen here: stack and registers are as the psABI requires. */
bool code_state_is_entry(const struct code_state *state, uint16_t machine);

/** Returns the value of a general register; @number is its DWARF number. */
struct code_value code_state_get(const struct code_state *state, uint16_t machine, uint8_t number);

/** Sets register @number to @value; CODE_CALLERS only if it has the caller's value again. */
void code_state_set(struct code_state *state, uint16_t machine, uint8_t number,
		    struct code_value value);

/** Moves the stack pointer up or down; values stored in popped words are lost. */
void code_state_move_sp(struct code_state *state, struct code_value sp);

/** Aligns the stack pointer, which begins a new base. */
void code_state_align_sp(struct code_state *state);

/** Stores a whole register in @slot of the stack, or loads it from there. */
void code_state_store(struct code_state *state, uint16_t machine, uint8_t number,
		      struct code_value slot);
void code_state_load(struct code_state *state, uint16_t machine, uint8_t number,
		     struct code_value slot);

/** Applies the effect of a call that has returned. */
void code_state_call(struct code_state *state, uint16_t machine);

/**
 * Lowers @into to the part that is true of @from, too. Returns 0: @into is unchanged; 1: it was lowered;
 * -1: they contradict each other, and @into is unchanged.
 */
int code_state_merge(struct code_state *into, const struct code_state *from);

/** Makes the rule of @state; CFA_NONE if too little is known. */
void code_state_rule(const struct code_state *state, uint16_t machine, struct unwind_rule *rule);

#endif
