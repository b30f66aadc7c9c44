/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * native_step(): from one native frame to its caller, by stack deltas. Inlined into every unwinder
 * program, so that native frames between interpreted ones cost no tail call; the same source runs
 * in user space over emulated helpers (ebpf/host).
 *
 * It trusts the tables that user space wrote as far as memory safety needs no trust (the verifier
 * sees to that), and nothing that it reads from the process: each step goes up the stack, or
 * through a signal frame, or ends the walk.
 */
#ifndef EBPF_NATIVE_STEP_BPF_H
#define EBPF_NATIVE_STEP_BPF_H

#include "ebpf/architecture.bpf.h"
#include "ebpf/process_mappings.bpf.h"
#include "ebpf/safe_reads.bpf.h"
#include "ebpf/state.bpf.h"
#include "ebpf/uprobes.bpf.h"

enum {
	/** Steps of a search among the rows of one page, of which there are UNWIND_PAGE_BYTES. */
	ROW_SEARCH_STEPS = UNWIND_PAGE_SHIFT + 1,
};

/*
 * The row of the address @offset bytes into the text of @mapping: the last one of its page at or
 * below it, else the last one before the page.
 */
static __always_inline enum unwind_error find_row(const struct cached_mapping *mapping,
						  __u64 offset, __u32 *row)
{
	__u32 page = offset >> UNWIND_PAGE_SHIFT, in_page = offset & (UNWIND_PAGE_BYTES - 1);
	__u32 low, high, value = 0, index = mapping->page_index_cell + (page >> 2);
	const struct cell *cell = cell_at(index);
	bool found = false;

	if (!cell)
		return UNWIND_BAD_TABLE;
	low = ((const __u32 *)cell)[page & 3];
	page++;
	if ((page & 3) == 0) {
		cell = cell_at(index + 1);
		if (!cell)
			return UNWIND_BAD_TABLE;
	}
	high = ((const __u32 *)cell)[page & 3];
	if (high > mapping->row_count || low > high)
		return UNWIND_BAD_TABLE;
	index = low;
	for (int i = 0; i < ROW_SEARCH_STEPS && low < high; i++) {
		__u32 middle = (low + high) / 2;

		forget_range(middle, offset);
		if (table_entry(mapping->row_cell, middle, &value))
			return UNWIND_BAD_TABLE;
		if ((value & (UNWIND_PAGE_BYTES - 1)) <= in_page) {
			*row = value;
			found = true;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	if (found)
		return UNWIND_OK;
	if (index == 0)
		return UNWIND_NO_INFO;
	return table_entry(mapping->row_cell, index - 1, row);
}

/* The rule of the address @offset bytes into the text of @mapping, from its tables. */
static __always_inline enum unwind_error search_rule(const struct cached_mapping *mapping,
						     __u64 offset, struct unwind_rule *rule)
{
	const struct cell *cell;
	enum unwind_error error;
	__u32 row = 0, number;

	error = find_row(mapping, offset, &row);
	if (error)
		return error;
	number = row >> UNWIND_ROW_RULE_SHIFT;
	if (number >= mapping->rule_count)
		return UNWIND_BAD_TABLE;
	cell = cell_at(mapping->rule_cell + number);
	if (!cell)
		return UNWIND_BAD_TABLE;
	__builtin_memcpy(rule, cell, sizeof(*cell));
	return UNWIND_OK;
}

/* Where the rule of @address is kept; neighbouring addresses are not neighbours there. */
static __always_inline __u32 rule_index(__u64 executable_id, __u64 address)
{
	return (__u32)((address + executable_id) * 0x9e3779b97f4a7c15ULL >> 32) >>
	       (32 - RULE_CACHE_SHIFT);
}

/* Finds the rule of @address, which lies in @mapping, and keeps it. */
static __always_inline enum unwind_error find_rule(struct walk_state *state,
						   const struct cached_mapping *mapping,
						   __u64 address, const struct unwind_rule **rule)
{
	__u64 offset = address - mapping->text_start, executable_id = mapping->executable_id;
	struct cached_rule *kept;
	enum unwind_error error;

	address -= mapping->bias;
	kept = &state->rules[rule_index(executable_id, address) % RULE_CACHE_COUNT];
	*rule = &kept->rule;
	if (offset >> UNWIND_PAGE_SHIFT >= mapping->page_count)
		return mapping->error;
	if (kept->executable_id == executable_id && kept->address == address)
		return UNWIND_OK;
	error = search_rule(mapping, offset, &kept->rule);
	if (error)
		return error;
	kept->executable_id = executable_id;
	kept->address = address;
	return UNWIND_OK;
}

/* The value of DWARF register @number in this frame. */
static __always_inline enum unwind_error known_register(struct walk_state *state, __u32 number,
							__u64 *value)
{
	if (!state->registers_known || number >= REGISTER_COUNT_MAX)
		return UNWIND_REGISTER_UNKNOWN;
	*value = state->registers[number];
	return UNWIND_OK;
}

/* The canonical frame address of this frame, which is the caller's sp. */
static __always_inline enum unwind_error frame_cfa(struct walk_state *state,
						   const struct unwind_rule *rule, __u64 *cfa)
{
	enum unwind_error error;
	__u64 base = 0;

	switch (rule->cfa) {
	case CFA_SP:
	case CFA_DEREF_SP:
	case CFA_PLT:
		base = state->sp;
		break;
	case CFA_FP:
	case CFA_DEREF_FP:
		if (!state->fp_known)
			return UNWIND_REGISTER_UNKNOWN;
		base = state->fp;
		break;
	case CFA_REGISTER:
	case CFA_DEREF_REGISTER:
		error = known_register(state, rule->cfa_register, &base);
		if (error)
			return error;
		break;
	default:
		return UNWIND_UNSUPPORTED_RULE;
	}
	base += rule->cfa_offset;
	if (rule->cfa == CFA_PLT && (state->pc & 15) >= (__u32)rule->cfa_addend)
		base += 8;
	if (rule->cfa >= CFA_DEREF_SP && rule->cfa <= CFA_DEREF_REGISTER) {
		error = read_word(base, &base);
		if (error)
			return error;
		base += rule->cfa_addend;
	}
	*cfa = base;
	return UNWIND_OK;
}

/* The caller's value of a register that this frame saved as @kind and @offset say. */
static __always_inline enum unwind_error saved_value(struct walk_state *state, __u32 kind,
						     __s32 offset, __u64 cfa, __u64 *value)
{
	switch (kind) {
	case SAVED_AT_CFA:
		return read_word(cfa + offset, value);
	case SAVED_AT_FP:
		if (!state->fp_known)
			return UNWIND_REGISTER_UNKNOWN;
		return read_word(state->fp + offset, value);
	case SAVED_IN_REGISTER:
		return known_register(state, offset, value);
	default:
		return UNWIND_UNSUPPORTED_RULE;
	}
}

static __always_inline bool is_saved_in_memory(__u32 kind)
{
	return kind == SAVED_AT_CFA || kind == SAVED_AT_FP;
}

/* To the caller, whose sp is @cfa. */
static __always_inline enum unwind_error restore_caller(struct walk_state *state,
							const struct unwind_rule *rule, __u64 cfa)
{
	__u64 return_address = 0, fp = state->fp;
	__u32 fp_known = state->fp_known;
	enum unwind_error error;

	if (rule->ra == SAVED_AT_CFA && rule->fp == SAVED_AT_CFA &&
	    rule->ra_offset == rule->fp_offset + 8) {
		error = read_word_pair(cfa + rule->fp_offset, &fp, &return_address);
		fp_known = 1;
	} else {
		if (rule->ra == SAVED_SAME)
			error = known_register(state, LINK_REGISTER, &return_address);
		else
			error = saved_value(state, rule->ra, rule->ra_offset, cfa, &return_address);
		if (error)
			return error;
		if (rule->fp == SAVED_UNDEFINED) {
			fp_known = 0;
		} else if (rule->fp != SAVED_SAME) {
			error = saved_value(state, rule->fp, rule->fp_offset, cfa, &fp);
			fp_known = 1;
		}
	}
	if (error)
		return error;
	/* Without a word on the stack, the caller's sp may be this frame's: in a leaf, so once. */
	if (cfa < state->sp || (cfa == state->sp && is_saved_in_memory(rule->ra)))
		return UNWIND_NO_PROGRESS;
	state->pc = code_address(return_address);
	state->sp = cfa;
	state->fp = fp;
	state->fp_known = fp_known;
	state->is_return_address = 1;
	state->registers_known = 0;
	return UNWIND_OK;
}

/*
 * Out of a signal trampoline: the kernel saved all registers on the stack. The trampoline's own
 * frame, which was added last, has no return address: the handler was never called from there.
 */
static __always_inline enum unwind_error restore_interrupted(struct walk_state *state)
{
	enum unwind_error error;

	unflag_last_frame(state);
	error = read_signal_frame(state->sp, state->registers);
	if (error)
		return error;
	state_start_at_registers(state);
	return UNWIND_OK;
}

/*
 * A leaf where nothing is mapped for good: a call through a null pointer, or the vsyscall page, of
 * which the kernel emulates the calls. Both have just been called and have no frame yet.
 */
static __always_inline bool is_unmapped_call(const struct walk_state *state)
{
	return !state->is_return_address && (state->pc == 0 || is_vsyscall(state->pc));
}

static __always_inline enum unwind_error step_unmapped_call(struct walk_state *state)
{
	enum unwind_error error;

	error = push_frame(state, frame_word(FRAME_NATIVE, 0, state->pc), EXECUTABLE_ID_UNMAPPED);
	if (error)
		return error;
	return restore_caller(state, &rule_at_call, state->sp + RETURN_ADDRESS_BYTES);
}

/**
 * Appends the frame of state->pc, and goes to its caller: state then is the caller's, or
 * state->at_end is set. On errors the walk has to end; the frame is there if its file is known.
 */
static __always_inline enum unwind_error native_step(struct walk_state *state)
{
	__u64 address = state->pc - state->is_return_address, cfa = 0;
	const struct unwind_rule *rule;
	struct cached_mapping *mapping;
	enum unwind_error error;

	error = find_mapping(state, address);
	/* The index has to come from memory: the verifier would follow each of its values apart. */
	barrier();
	mapping = &state->mappings[state->last_mapping % MAPPING_CACHE_COUNT];
	if (error || mapping->executable_id == EXECUTABLE_ID_UPROBES) {
		if (see_through_uprobe(state))
			return UNWIND_OK;
		if (error && is_unmapped_call(state))
			return step_unmapped_call(state);
		if (error == UNWIND_NO_MAPPING)
			state->unknown_address = address;
		if (error)
			return error;
	}
	error = push_frame(state,
			   frame_word(FRAME_NATIVE,
				      state->is_return_address ? FRAME_RETURN_ADDRESS : 0,
				      state->pc - mapping->bias),
			   mapping->executable_id);
	if (error)
		return error;
	error = find_rule(state, mapping, address, &rule);
	if (!error && rule->cfa == CFA_NONE)
		error = UNWIND_NO_INFO;
	if (error == UNWIND_NO_INFO && is_signal_return(state->pc))
		return restore_interrupted(state);
	if (error)
		return error;
	if (rule->cfa == CFA_END) {
		state->at_end = 1;
		return UNWIND_OK;
	}
	if (rule->cfa == CFA_SIGNAL)
		return restore_interrupted(state);
	error = frame_cfa(state, rule, &cfa);
	if (error)
		return error;
	return restore_caller(state, rule, cfa);
}

#endif
