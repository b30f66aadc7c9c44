/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Which thread state's frame object the held native frame runs, in processes with several
 * interpreters: up to 3.9 nothing on the stack points from one to the other but the loop's own
 * variable. It is in use as long as the frame is in the chain, so it stands in the native frame's part
 * of the stack, or in a register that functions called from there have saved, or that still has it. A
 * frame object that is met nowhere there is not the one; if several are, nothing tells.
 *
 * What the loop has saved of its caller's registers is the caller's, and looked at with that.
 */
#ifndef EBPF_PYTHON_HELD_BPF_H
#define EBPF_PYTHON_HELD_BPF_H

#include "ebpf/architecture.bpf.h"
#include "ebpf/interpreters.bpf.h"
#include "ebpf/python_threads.bpf.h"

enum {
	/** Read in one step. */
	PYTHON_LOOK_WORDS = 16,
	/** Between two loops: more is not looked through. */
	PYTHON_LOOK_MAX_BYTES = 16384,
};

static __always_inline void python_meet_word(struct python_walk *walk, __u64 word)
{
	for (__u32 i = 0; i < PYTHON_PLACES_MAX; i++)
		if (word && i < walk->place_count && word == walk->places[i].frame)
			walk->met |= 1U << i;
}

/** Begins to look through the held frame's part of the stack. */
static __always_inline void python_look_begin(struct walk_state *state)
{
	struct python_walk *walk = &state->python;

	walk->places[walk->place % PYTHON_PLACES_MAX].frame = walk->frame;
	walk->places[walk->place % PYTHON_PLACES_MAX].cframe = walk->cframe;
	walk->met = 0;
	if (walk->is_first || !(frame_flags(state->held_words[0]) & FRAME_RETURN_ADDRESS)) {
		walk->stack_low = state->registers[SP_REGISTER];
		for (int i = 0; i < REGISTER_COUNT; i++)
			if (KEPT_REGISTERS & 1ULL << i)
				python_meet_word(walk, state->registers[i]);
	}
	walk->look = walk->stack_low;
	walk->look_end = state->sp - walk->process.saved_bytes;
	walk->is_looking = 1;
}

/** Looks at the next words. False: that was the last, or they cannot be read, and nothing is met. */
static __always_inline bool python_look_step(struct python_walk *walk)
{
	__u64 words[PYTHON_LOOK_WORDS] = { 0 };
	__u64 left = walk->look_end - walk->look;
	__u32 bytes = left < sizeof(words) ? left : sizeof(words);

	if (!left)
		return false;
	if (left > PYTHON_LOOK_MAX_BYTES || bytes < 1 || bytes > sizeof(words) ||
	    bpf_probe_read_user(words, bytes, (const void *)walk->look)) {
		walk->met = 0;
		return false;
	}
	walk->look += bytes;
	for (int i = 0; i < PYTHON_LOOK_WORDS; i++)
		python_meet_word(walk, words[i]);
	return true;
}

/** Turns to the place that was met, if it is the only one. */
static __always_inline bool python_look_end(struct walk_state *state)
{
	struct python_walk *walk = &state->python;
	__u32 place = 0;

	walk->is_looking = 0;
	for (__u32 i = 0; i < PYTHON_PLACES_MAX; i++)
		if (walk->met == 1U << i)
			place = i + 1;
	if (!place)
		return false;
	walk->place = place - 1;
	walk->frame = walk->places[walk->place % PYTHON_PLACES_MAX].frame;
	walk->cframe = walk->places[walk->place % PYTHON_PLACES_MAX].cframe;
	walk->stack_low = walk->process.saved_bytes ? walk->look_end : state->held_sp;
	walk->is_first = 0;
	return true;
}

#endif
