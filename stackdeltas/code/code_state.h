/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the analysis of code knows before an instruction: where the registers that matter point, and
 * where the caller's values of them are kept. The same for x86-64 and arm64.
 *
 * Places on the stack count from the CFA; once the stack pointer was aligned, from its value then
 * (the base), whose distance from the CFA nobody knows.
 */
#ifndef STACKDELTAS_CODE_CODE_STATE_H
#define STACKDELTAS_CODE_CODE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "ebpf/abi/slab.h"

enum code_value_kind {
	CODE_UNKNOWN = 0,
	/** The caller's value of the very register. */
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
	/** Frames above this are not believed; keeps sums of offsets far from overflow. */
	CODE_MAX_OFFSET = 1 << 28,
};

/** Of HotSpot's stubs: how far the CFA is known where that is the stack of a continuation's entry. */
enum code_continuation {
	CODE_NO_CONTINUATION = 0,
	/** There is no return address: it is above, in the entry's frame. */
	CODE_AT_ENTRY,
	/** So it is, and the base is rbx bytes below the CFA. */
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
	 * Of one more register (DWARF number): the last that was given a place on the stack, or the one that
	 * alone leads to the CFA.
	 */
	struct code_value other;
	/** Where the caller's fp is stored; CODE_UNKNOWN: nowhere. */
	struct code_value fp_slot;
	/** Where CFA + stored_offset is stored; CODE_UNKNOWN: nowhere. */
	struct code_value stored_at;
	int32_t stored_offset;
	/** Where the frame's own fp, CFA + own_fp_offset, is stored; CODE_UNKNOWN: nowhere. */
	int32_t own_fp_offset;
	struct code_value own_fp_at;
	/** The return address and the caller's rbx are stored at CFA + this; 0: nowhere. */
	int32_t ra_slot;
	int32_t rbx_slot;
	/** The return address is so far behind the beginning of HotSpot's thread; 0: it is not there. */
	int32_t ra_in_thread;
	uint8_t other_register;
	/** The return address is in this register, too or only. */
	uint8_t ra_register;
	uint8_t rbx_is_callers;
	/** This thread began here: there is no caller. */
	uint8_t is_outermost;
	/** enum code_continuation */
	uint32_t continuation;
};

_Static_assert(sizeof(struct code_state) == 76, "no padding in struct code_state");

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

/** At the first instruction of a function. */
void code_state_init(struct code_state *state, uint16_t machine);

/** The caller finds all as the psABI promises: true at a return and at a tail call. */
bool code_state_is_entry(const struct code_state *state, uint16_t machine);

/** @number is the DWARF number of a general register. */
struct code_value code_state_get(const struct code_state *state, uint16_t machine, uint8_t number);

/** Register @number becomes @value: CODE_CALLERS only if it is again what the caller had. */
void code_state_set(struct code_state *state, uint16_t machine, uint8_t number,
		    struct code_value value);

/** The stack pointer goes up or down; what was stored in words given back is gone. */
void code_state_move_sp(struct code_state *state, struct code_value sp);

/** The stack pointer is aligned: a new base. */
void code_state_align_sp(struct code_state *state);

/** A whole register is stored at @place, or loaded from it. */
void code_state_store(struct code_state *state, uint16_t machine, uint8_t number,
		      struct code_value place);
void code_state_load(struct code_state *state, uint16_t machine, uint8_t number,
		     struct code_value place);

/** A call came back. */
void code_state_call(struct code_state *state, uint16_t machine);

/**
 * Lowers @into to what is true of @from, too. 0: it was already; 1: it was lowered; -1: they
 * contradict each other, and @into is as it was.
 */
int code_state_merge(struct code_state *into, const struct code_state *from);

/** CFA_NONE where the state says too little. */
void code_state_rule(const struct code_state *state, uint16_t machine, struct unwind_rule *rule);

#endif
