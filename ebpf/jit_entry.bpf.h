/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Steps from JIT code to the frame of the interpreter's loop that entered it, where there are neither
 * rows nor a frame pointer: CPython 3.14 and 3.15 with a JIT, on x86-64. Its JIT code consists of
 * chunks that jump to each other and use a few words of the stack. A first chunk saves the loop's
 * registers and calls the others (CPython 3.14, Tools/jit/shim.c). So a few words above sp are the
 * return address into the first chunk, the saved registers, and the return address into the loop. A
 * chunk that needs rbp saves it first, next to the return address into the first chunk. A leaf in
 * the first chunk has at most the registers above its sp.
 *
 * The stack may contain any numbers, and stale ones. Of the words from sp upward the first return
 * address in a loop (RULE_LOOP) decides, and the return address into code outside of files must be
 * at the first chunk's distance from it. The result is a guess until the language's steps find a
 * structure of the runtime in the frame (prove_pending_frame()).
 */
#ifndef EBPF_JIT_ENTRY_BPF_H
#define EBPF_JIT_ENTRY_BPF_H

#include "ebpf/architecture.bpf.h"
#include "ebpf/process_mappings.bpf.h"
#include "ebpf/rule_lookup.bpf.h"
#include "ebpf/safe_reads.bpf.h"
#include "ebpf/state.bpf.h"

enum {
	/** Limit of the words from sp upward that are read, one in each step of the unwind. */
	JIT_ENTRY_MAX_WORDS = 64,
	/** Distance from the return address into the first chunk to that into the loop: 5 to 7 registers. */
	JIT_ENTRY_MIN_BYTES = 48,
	JIT_ENTRY_MAX_BYTES = 64,
	/** Limit of the distance from there to the address in the loop's frame pointer. */
	JIT_LOOP_MAX_BYTES = 4096,
};

/** Begins the search, if the frame whose caller is to be guessed can be in an interpreter's JIT code. */
static __always_inline void jit_entry_begin(struct unwind_state *state)
{
	if (state->guess_for != UNWIND_ANONYMOUS || !state->runtime_cell || !state->sp_known ||
	    !RETURN_ADDRESS_BYTES)
		return;
	state->jit_words_left = JIT_ENTRY_MAX_WORDS;
	state->jit_word = state->sp;
	state->jit_return = 0;
}

/* True if a call is in front of @pc, which is in a mapping. */
static __always_inline bool is_call_in_memory(struct unwind_state *state, __u64 pc)
{
	__u64 code = 0;

	if (read_word(pc - sizeof(code), &code))
		return false;
	check_call(code, &state->check);
	barrier();
	return state->check;
}

/* True if @pc is a return address in a loop. */
static __always_inline bool is_loop_return(struct unwind_state *state,
					   const struct cached_mapping *mapping, __u64 pc)
{
	const struct unwind_rule *rule;

	return !find_rule(state, mapping, pc - 1, &rule) && rule->flags & RULE_LOOP &&
	       is_call_in_memory(state, pc);
}

/* True if @fp can be the frame pointer of a frame that begins just above the word at @slot. */
static __always_inline bool is_loop_fp(__u64 fp, __u64 slot)
{
	return (fp & 7) == 0 && fp - slot - 8 < JIT_LOOP_MAX_BYTES;
}

/* Restores the loop's frame pointer. Chunks use the register for objects, whose addresses are not on the stack. */
static __always_inline void restore_loop_fp(struct unwind_state *state, __u64 slot)
{
	if (state->fp_known && is_loop_fp(state->fp, slot))
		return;
	state->fp_known = state->jit_return && !read_word(state->jit_return - 8, &state->fp) &&
			  is_loop_fp(state->fp, slot);
}

/* True if @slot can be the address of the return address into the loop, by the first chunk's layout. */
static __always_inline bool is_entry_slot(const struct unwind_state *state, __u64 slot)
{
	__u64 distance = slot - state->jit_return;

	if (!state->jit_return)
		return !(state->frame_flags & FRAME_RETURN_ADDRESS) &&
		       slot - state->sp < JIT_ENTRY_MIN_BYTES;
	return distance >= JIT_ENTRY_MIN_BYTES && distance <= JIT_ENTRY_MAX_BYTES;
}

/**
 * Reads one word of the search while state->jit_words_left is set. Sets the state to the loop's frame if
 * it is found. If the search ends without it, state->guess_for is still set, and guess_caller() must be
 * called.
 */
static __always_inline void jit_entry_step(struct unwind_state *state)
{
	__u64 slot = state->jit_word, word = 0;
	struct cached_mapping *mapping;

	state->jit_word = slot + sizeof(word);
	state->jit_words_left--;
	if (read_word(slot, &word)) {
		state->jit_words_left = 0;
		return;
	}
	if (find_mapping(state, word - 1))
		return;
	barrier();
	mapping = &state->mappings[state->last_mapping % MAPPING_CACHE_COUNT];
	if (mapping->executable_id == EXECUTABLE_ID_ANONYMOUS) {
		if (is_call_in_memory(state, word))
			state->jit_return = slot;
		return;
	}
	if (!is_loop_return(state, mapping, word))
		return;
	state->jit_words_left = 0;
	if (!is_entry_slot(state, slot))
		return;
	restore_loop_fp(state, slot);
	state->guess_for = UNWIND_OK;
	state->pc = word;
	state->sp = slot + RETURN_ADDRESS_BYTES;
	state->frame_flags = FRAME_RETURN_ADDRESS | FRAME_GUESS;
	state->registers_known = 0;
	state->rbx_location = RBX_NOWHERE;
}

#endif
