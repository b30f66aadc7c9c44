/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Finds the thread state whose frame object the pending native frame runs, in processes with several
 * interpreters. Up to 3.9 the only link between the two is the eval loop's own variable, which points
 * to the frame object. It is in use as long as the frame object is in the chain, so it is in the native
 * frame's stack range, or in a register that a callee has saved or that still has it. A frame object
 * that is not found there is not the one; if several are found, the frame cannot be decided.
 *
 * Registers that the eval loop has saved are its caller's, and are searched with the caller.
 */
#ifndef EBPF_PYTHON_LOOK_BPF_H
#define EBPF_PYTHON_LOOK_BPF_H

#include "ebpf/architecture.bpf.h"
#include "ebpf/languages.bpf.h"
#include "ebpf/python/python_threads.bpf.h"

enum {
	/** Number of words that one step reads. */
	PYTHON_LOOK_WORDS = 16,
	/** Limit of the stack range between two eval loops. */
	PYTHON_LOOK_MAX_BYTES = 16384,
};

/** Values of python_unwind.looking. */
enum python_look {
	PYTHON_LOOK_NOT = 0,
	PYTHON_LOOK_BEGINS,
	PYTHON_LOOK_RUNS,
};

/*
 * Returns a bit for each index in unwind->chains whose frame is not @word. It has no branch, since the
 * verifier would follow both paths of each comparison.
 */
static __always_inline __u32 python_chains_without(const struct python_unwind *unwind, __u64 word)
{
	__u32 chains = 0;

	for (int i = 0; i < PYTHON_CHAINS_MAX; i++) {
		__u64 differs = word ^ unwind->chains[i].frame;

		differs |= -differs;
		barrier_var(differs);
		chains |= (__u32)(differs >> 63) << i;
	}
	return chains;
}

/** Begins the search of the pending frame's stack range. */
static __always_inline void python_look_begin(struct unwind_state *state)
{
	struct python_unwind *unwind = &state->python;

	unwind->chains[unwind->chain % PYTHON_CHAINS_MAX].frame = unwind->frame;
	unwind->chains[unwind->chain % PYTHON_CHAINS_MAX].cframe = unwind->cframe;
	unwind->met = 0;
	unwind->looking = PYTHON_LOOK_RUNS;
	if (unwind->is_first || !(frame_flags(state->pending_words[0]) & FRAME_RETURN_ADDRESS)) {
		unwind->stack_low = state->registers[SP_REGISTER];
		for (int i = 0; i < REGISTER_COUNT; i++)
			if (CALLEE_SAVED_REGISTERS & 1ULL << i)
				unwind->met |= ~python_chains_without(unwind, state->registers[i]);
	}
	unwind->look = unwind->stack_low;
	unwind->look_end = state->sp - unwind->process.saved_bytes;
}

/** Searches the next words. False: the search has ended, or they cannot be read, and then nothing is found. */
static __always_inline bool python_look_step(struct python_unwind *unwind)
{
	__u64 words[PYTHON_LOOK_WORDS] = { 0 };
	__u64 left = unwind->look_end - unwind->look;
	__u32 bytes = left < sizeof(words) ? left : sizeof(words);

	if (!left)
		return false;
	if (left > PYTHON_LOOK_MAX_BYTES || bytes < 1 || bytes > sizeof(words) ||
	    bpf_probe_read_user(words, bytes, (const void *)unwind->look)) {
		unwind->met = 0;
		return false;
	}
	unwind->look += bytes;
	for (int i = 0; i < PYTHON_LOOK_WORDS; i++)
		unwind->met |= ~python_chains_without(unwind, words[i]);
	return true;
}

_Static_assert(PYTHON_CHAINS_MAX <= 8, "the index of a chain has 3 bits");

/** Makes the thread state whose frame was found the current one, if it is the only one. */
static __always_inline bool python_look_end(struct unwind_state *state)
{
	struct python_unwind *unwind = &state->python;
	/* Unused entries have the frame 0. */
	__u32 met = unwind->met & python_chains_without(unwind, 0), index;

	unwind->looking = PYTHON_LOOK_NOT;
	if (!met || met & (met - 1))
		return false;
	index = !!(met & 0xaa) + 2 * !!(met & 0xcc) + 4 * !!(met & 0xf0);
	index %= PYTHON_CHAINS_MAX;
	unwind->chain = index;
	unwind->frame = unwind->chains[index].frame;
	unwind->cframe = unwind->chains[index].cframe;
	unwind->stack_low = unwind->process.saved_bytes ? unwind->look_end : state->pending_sp;
	unwind->is_first = 0;
	return true;
}

#endif
