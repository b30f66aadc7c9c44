/* SPDX-License-Identifier: Apache-2.0 */
/* States of the analysis, and their rules. */
#include "stackdeltas/code/code_state.h"

#include <elf.h>
#include <string.h>

#include "lib/elf/dwarf_constants.h"

enum {
	WORD_BYTES = 8,
	/* Limit of unwind_rule.rbx_slot. */
	RBX_SLOT_MAX = RBX_LOST - 1,
	/* Alignment of the stack on which a continuation is entered. */
	ENTRY_ALIGNMENT = 16,
};

static const struct code_value unknown = { CODE_UNKNOWN, 0 };
static const struct code_value callers = { CODE_CALLERS, 0 };

static bool is_x86(uint16_t machine)
{
	return machine == EM_X86_64;
}

static uint8_t sp_number(uint16_t machine)
{
	return is_x86(machine) ? DWARF_X86_RSP : DWARF_ARM64_SP;
}

static uint8_t fp_number(uint16_t machine)
{
	return is_x86(machine) ? DWARF_X86_RBP : DWARF_ARM64_FP;
}

/* Registers that a call may change (x86-64 psABI 3.2.1, AAPCS64 6.1.1). */
static bool is_call_clobbered(uint16_t machine, uint8_t number)
{
	if (!is_x86(machine))
		return number <= 18 || number == DWARF_ARM64_LR;
	return number <= 2 || number == 4 || number == 5 || (number >= 8 && number <= 11);
}

void code_state_init(struct code_state *state, uint16_t machine)
{
	memset(state, 0, sizeof(*state));
	state->sp.kind = CODE_FROM_CFA;
	state->sp.offset = is_x86(machine) ? -WORD_BYTES : 0;
	state->fp = callers;
	state->other_register = CODE_NO_REGISTER;
	state->ra_slot = is_x86(machine) ? -WORD_BYTES : 0;
	state->ra_register = is_x86(machine) ? CODE_NO_REGISTER : DWARF_ARM64_LR;
	state->rbx_is_callers = 1;
}

bool code_state_is_entry(const struct code_state *state, uint16_t machine)
{
	struct code_state entry;

	code_state_init(&entry, machine);
	return code_value_equal(state->sp, entry.sp) && state->fp.kind == CODE_CALLERS &&
	       state->rbx_is_callers &&
	       (is_x86(machine) ? state->ra_slot == entry.ra_slot :
				  state->ra_register == entry.ra_register);
}

struct code_value code_state_get(const struct code_state *state, uint16_t machine, uint8_t number)
{
	if (number == sp_number(machine))
		return state->sp;
	if (number == fp_number(machine))
		return state->fp;
	return number == state->other_register ? state->other : unknown;
}

static void forget_stored(struct code_state *state)
{
	state->stored_at = unknown;
	state->stored_offset = 0;
}

static void forget_own_fp(struct code_state *state)
{
	state->own_fp_at = unknown;
	state->own_fp_offset = 0;
}

void code_state_move_sp(struct code_state *state, struct code_value sp)
{
	struct code_value old = state->sp;

	if (sp.kind == CODE_CALLERS || sp.kind == CODE_CONSTANT)
		sp = unknown;
	state->sp = sp;
	if (sp.kind == CODE_UNKNOWN)
		return;
	/* If the frame has another base, everything below the new address is popped. */
	if (old.kind != sp.kind)
		old = (struct code_value){ sp.kind, -CODE_MAX_OFFSET };
	if (state->fp_slot.kind == sp.kind && state->fp_slot.offset >= old.offset &&
	    state->fp_slot.offset < sp.offset)
		state->fp_slot = unknown;
	if (state->stored_at.kind == sp.kind && state->stored_at.offset >= old.offset &&
	    state->stored_at.offset < sp.offset)
		forget_stored(state);
	if (state->own_fp_at.kind == sp.kind && state->own_fp_at.offset >= old.offset &&
	    state->own_fp_at.offset < sp.offset)
		forget_own_fp(state);
	if (state->rbx_slot.kind == sp.kind && state->rbx_slot.offset >= old.offset &&
	    state->rbx_slot.offset < sp.offset)
		state->rbx_slot = unknown;
	if (sp.kind != CODE_FROM_CFA)
		return;
	if (state->ra_slot >= old.offset && state->ra_slot < sp.offset)
		state->ra_slot = 0;
}

void code_state_align_sp(struct code_state *state)
{
	if (state->fp.kind == CODE_FROM_BASE)
		state->fp = unknown;
	if (state->other.kind == CODE_FROM_BASE) {
		state->other = unknown;
		state->other_register = CODE_NO_REGISTER;
	}
	if (state->fp_slot.kind == CODE_FROM_BASE)
		state->fp_slot = unknown;
	if (state->own_fp_at.kind == CODE_FROM_BASE)
		forget_own_fp(state);
	if (state->rbx_slot.kind == CODE_FROM_BASE)
		state->rbx_slot = unknown;
	forget_stored(state);
	state->sp = (struct code_value){ CODE_FROM_BASE, 0 };
}

/*
 * True if @value must not replace the one more register, from which alone the CFA can be computed.
 * OpenBLAS's kernels keep rsp in rbx, align rsp, and load addresses on the stack into other registers.
 */
static bool is_other_needed(const struct code_state *state, uint8_t number, struct code_value value)
{
	return state->other.kind == CODE_FROM_CFA && number != state->other_register &&
	       value.kind != CODE_FROM_CFA && state->sp.kind != CODE_FROM_CFA;
}

void code_state_set(struct code_state *state, uint16_t machine, uint8_t number,
		    struct code_value value)
{
	if (number == sp_number(machine)) {
		code_state_move_sp(state, value);
		return;
	}
	if (state->ra_register == number)
		state->ra_register = CODE_NO_REGISTER;
	if (number == fp_number(machine)) {
		state->fp = value;
		return;
	}
	if (is_x86(machine) && number == DWARF_X86_RBX)
		state->rbx_is_callers = value.kind == CODE_CALLERS;
	if (value.kind >= CODE_FROM_CFA && !is_other_needed(state, number, value)) {
		state->other = value;
		state->other_register = number;
	} else if (number == state->other_register) {
		state->other = unknown;
		state->other_register = CODE_NO_REGISTER;
	}
}

/* Forgets the value that was stored in @slot. */
static void overwrite(struct code_state *state, struct code_value slot)
{
	if (code_value_equal(state->fp_slot, slot))
		state->fp_slot = unknown;
	if (code_value_equal(state->stored_at, slot))
		forget_stored(state);
	if (code_value_equal(state->own_fp_at, slot))
		forget_own_fp(state);
	if (code_value_equal(state->rbx_slot, slot))
		state->rbx_slot = unknown;
	if (slot.kind == CODE_FROM_CFA && state->ra_slot == slot.offset)
		state->ra_slot = 0;
}

void code_state_store(struct code_state *state, uint16_t machine, uint8_t number,
		      struct code_value slot)
{
	bool is_from_cfa = slot.kind == CODE_FROM_CFA;
	struct code_value value = code_state_get(state, machine, number);

	if (!is_from_cfa && slot.kind != CODE_FROM_BASE)
		return;
	/* The frame is below the CFA; above it are the caller's arguments, which may have any value. */
	if (is_from_cfa && slot.offset >= 0)
		return;
	overwrite(state, slot);
	if (number == fp_number(machine) && state->fp.kind == CODE_CALLERS &&
	    state->fp_slot.kind == CODE_UNKNOWN)
		state->fp_slot = slot;
	if (value.kind == CODE_FROM_CFA && !is_from_cfa && state->stored_at.kind == CODE_UNKNOWN) {
		state->stored_at = slot;
		state->stored_offset = value.offset;
	}
	if (number == fp_number(machine) && value.kind == CODE_FROM_CFA &&
	    state->own_fp_at.kind == CODE_UNKNOWN) {
		state->own_fp_at = slot;
		state->own_fp_offset = value.offset;
	}
	if (is_x86(machine) && number == DWARF_X86_RBX && state->rbx_is_callers &&
	    state->rbx_slot.kind == CODE_UNKNOWN && (!is_from_cfa || slot.offset % WORD_BYTES == 0))
		state->rbx_slot = slot;
	if (is_from_cfa && number == state->ra_register && !state->ra_slot)
		state->ra_slot = slot.offset;
}

void code_state_load(struct code_state *state, uint16_t machine, uint8_t number,
		     struct code_value slot)
{
	bool is_from_cfa = slot.kind == CODE_FROM_CFA;

	if (!is_from_cfa && slot.kind != CODE_FROM_BASE) {
		code_state_set(state, machine, number, unknown);
		return;
	}
	if (number == fp_number(machine) && code_value_equal(state->fp_slot, slot)) {
		state->fp_slot = unknown;
		state->fp = callers;
		return;
	}
	if (is_x86(machine) && number == DWARF_X86_RBX && code_value_equal(state->rbx_slot, slot)) {
		state->rbx_slot = unknown;
		code_state_set(state, machine, number, callers);
		return;
	}
	if (code_value_equal(state->stored_at, slot)) {
		code_state_set(state, machine, number,
			       (struct code_value){ CODE_FROM_CFA, state->stored_offset });
		return;
	}
	if (code_value_equal(state->own_fp_at, slot)) {
		code_state_set(state, machine, number,
			       (struct code_value){ CODE_FROM_CFA, state->own_fp_offset });
		return;
	}
	code_state_set(state, machine, number, unknown);
	if (is_from_cfa && state->ra_slot && state->ra_slot == slot.offset &&
	    number != sp_number(machine)) {
		state->ra_register = number;
		/* As in compilers' tables: a link register that was restored has the caller's value. */
		if (!is_x86(machine))
			state->ra_slot = 0;
	}
}

void code_state_call(struct code_state *state, uint16_t machine)
{
	if (state->other_register != CODE_NO_REGISTER &&
	    is_call_clobbered(machine, state->other_register)) {
		state->other = unknown;
		state->other_register = CODE_NO_REGISTER;
	}
	if (state->ra_register != CODE_NO_REGISTER &&
	    is_call_clobbered(machine, state->ra_register))
		state->ra_register = CODE_NO_REGISTER;
}

static void merge_value(struct code_value *into, struct code_value from)
{
	if (!code_value_equal(*into, from))
		*into = unknown;
}

static bool has_cfa(const struct code_state *state)
{
	return state->is_outermost || state->continuation || state->sp.kind == CODE_FROM_CFA ||
	       state->fp.kind == CODE_FROM_CFA || state->other.kind == CODE_FROM_CFA ||
	       (state->stored_at.kind == CODE_FROM_BASE &&
		(state->sp.kind == CODE_FROM_BASE || state->fp.kind == CODE_FROM_BASE));
}

int code_state_merge(struct code_state *into, const struct code_state *from)
{
	struct code_state merged = *into;

	if (!memcmp(into, from, sizeof(*into)))
		return 0;
	if (into->is_outermost != from->is_outermost || into->continuation != from->continuation)
		return -1;
	merge_value(&merged.sp, from->sp);
	merge_value(&merged.fp, from->fp);
	merge_value(&merged.fp_slot, from->fp_slot);
	if (merged.other_register != from->other_register ||
	    !code_value_equal(merged.other, from->other)) {
		merged.other = unknown;
		merged.other_register = CODE_NO_REGISTER;
	}
	if (!code_value_equal(merged.stored_at, from->stored_at) ||
	    merged.stored_offset != from->stored_offset)
		forget_stored(&merged);
	if (!code_value_equal(merged.own_fp_at, from->own_fp_at) ||
	    merged.own_fp_offset != from->own_fp_offset)
		forget_own_fp(&merged);
	if (merged.ra_slot != from->ra_slot)
		merged.ra_slot = 0;
	merge_value(&merged.rbx_slot, from->rbx_slot);
	if (merged.ra_in_thread != from->ra_in_thread)
		merged.ra_in_thread = 0;
	if (merged.ra_register != from->ra_register)
		merged.ra_register = CODE_NO_REGISTER;
	merged.rbx_is_callers &= from->rbx_is_callers;
	if ((has_cfa(into) || has_cfa(from)) && !has_cfa(&merged))
		return -1;
	if (!memcmp(into, &merged, sizeof(*into)))
		return 0;
	*into = merged;
	return 1;
}

static bool set_cfa(const struct code_state *state, uint16_t machine, struct unwind_rule *rule)
{
	bool sp_is_known = state->sp.kind == CODE_FROM_CFA;
	bool fp_is_known = state->fp.kind == CODE_FROM_CFA;

	/* Both are right; use the one that compilers for the machine use, so that rows are few. */
	if (fp_is_known && (is_x86(machine) || !sp_is_known)) {
		rule->cfa = CFA_FP;
		rule->cfa_offset = -state->fp.offset;
	} else if (sp_is_known) {
		rule->cfa = CFA_SP;
		rule->cfa_offset = -state->sp.offset;
		/* The code has taken more from the stack than its return address. */
		return rule->cfa_offset >= 0;
	} else if (state->other.kind == CODE_FROM_CFA) {
		rule->cfa = CFA_REGISTER;
		rule->cfa_register = state->other_register;
		rule->cfa_offset = -state->other.offset;
	} else if (state->stored_at.kind == CODE_FROM_BASE) {
		if (state->fp.kind == CODE_FROM_BASE) {
			rule->cfa = CFA_DEREF_FP;
			rule->cfa_offset = state->stored_at.offset - state->fp.offset;
		} else if (state->sp.kind == CODE_FROM_BASE) {
			rule->cfa = CFA_DEREF_SP;
			rule->cfa_offset = state->stored_at.offset - state->sp.offset;
		} else {
			return false;
		}
		rule->cfa_addend = -state->stored_offset;
		return rule->cfa_addend == -state->stored_offset;
	} else {
		return false;
	}
	return true;
}

static bool set_ra(const struct code_state *state, uint16_t machine, struct unwind_rule *rule)
{
	if (state->ra_slot) {
		rule->ra = SAVED_AT_CFA;
		rule->ra_offset = state->ra_slot;
		return rule->ra_offset == state->ra_slot;
	}
	if (state->ra_in_thread) {
		rule->ra = SAVED_IN_THREAD;
		rule->ra_offset = state->ra_in_thread;
		return rule->ra_offset == state->ra_in_thread;
	}
	if (state->ra_register == CODE_NO_REGISTER)
		return false;
	if (!is_x86(machine) && state->ra_register == DWARF_ARM64_LR)
		return true;
	rule->ra = SAVED_IN_REGISTER;
	rule->ra_offset = state->ra_register;
	return true;
}

static void set_fp(const struct code_state *state, struct unwind_rule *rule)
{
	int32_t offset = state->fp_slot.offset;

	if (state->fp_slot.kind == CODE_FROM_CFA && offset == (int16_t)offset) {
		rule->fp = SAVED_AT_CFA;
		rule->fp_offset = offset;
		return;
	}
	offset -= state->fp.offset;
	if (state->fp_slot.kind == CODE_FROM_BASE && state->fp.kind == CODE_FROM_BASE &&
	    offset == (int16_t)offset) {
		rule->fp = SAVED_AT_FP;
		rule->fp_offset = offset;
		return;
	}
	if (state->fp.kind != CODE_CALLERS)
		rule->fp = SAVED_UNDEFINED;
}

static void set_rbx(const struct code_state *state, struct unwind_rule *rule)
{
	int32_t slot = -state->rbx_slot.offset / WORD_BYTES;

	if (state->rbx_slot.kind == CODE_FROM_CFA && slot > 0 && slot <= RBX_SLOT_MAX)
		rule->rbx_slot = slot;
	else if (!state->rbx_is_callers)
		rule->rbx_slot = RBX_LOST;
}

/* False if the state is not that of a continuation's stack, or too little is known. */
static bool set_entry(const struct code_state *state, struct unwind_rule *rule)
{
	bool is_below = state->continuation == CODE_BELOW_ENTRY;

	if (!state->continuation || state->sp.kind != (is_below ? CODE_FROM_BASE : CODE_FROM_CFA))
		return false;
	rule->cfa = CFA_JAVA_ENTRY;
	rule->cfa_offset = -state->sp.offset;
	rule->cfa_addend = is_below ? ENTRY_ALIGNMENT : 0;
	return true;
}

void code_state_rule(const struct code_state *state, uint16_t machine, struct unwind_rule *rule)
{
	memset(rule, 0, sizeof(*rule));
	if (state->is_outermost) {
		rule->cfa = CFA_END;
		return;
	}
	if (set_entry(state, rule))
		return;
	if (!set_cfa(state, machine, rule) || !set_ra(state, machine, rule)) {
		*rule = (struct unwind_rule){ .cfa = CFA_NONE };
		return;
	}
	set_fp(state, rule);
	if (is_x86(machine))
		set_rbx(state, rule);
}
