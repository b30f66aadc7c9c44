/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * A thread that runs several interpreters of CPython has a thread state in each, and each of those a
 * chain of frames of its own; the native frames of all stand on one stack. The slot of the thread
 * tells one of them, the others are in the lists of their interpreters. They are looked for when a
 * native frame of the loop has nothing in the chain at hand, one step of the list in each step of the
 * walk, so that processes with one interpreter pay a few reads for that.
 *
 * Where the slot is empty the thread's own state is looked for there as well, by its id: a fork makes
 * its slot anew, which with musl is another one than its parent's.
 */
#ifndef EBPF_PYTHON_THREADS_BPF_H
#define EBPF_PYTHON_THREADS_BPF_H

#include "ebpf/abi/python.h"
#include "ebpf/architecture.bpf.h"
#include "ebpf/safe_reads.bpf.h"
#include "ebpf/state.bpf.h"

enum {
	/** Interpreters and thread states that a search looks at. */
	PYTHON_SEARCH_STEPS = 64,
	/** How far from the leaf a cframe is looked for that no id says to be the thread's. */
	PYTHON_NEAR_BYTES = 1 << 20,
};

enum python_search {
	PYTHON_SEARCH_NOT_YET = 0,
	PYTHON_SEARCH_RUNS,
	PYTHON_SEARCH_DONE,
};

/** Leaves the chain at hand where it stands, and goes on with the next one, behind the last the first. */
static __always_inline void python_next_place(struct python_walk *walk)
{
	__u32 from = walk->place % PYTHON_PLACES_MAX, to;

	walk->places[from].frame = walk->frame;
	walk->places[from].cframe = walk->cframe;
	to = from + 1 < walk->place_count ? (from + 1) % PYTHON_PLACES_MAX : 0;
	walk->frame = walk->places[to].frame;
	walk->cframe = walk->places[to].cframe;
	walk->place = to;
}

/** Where the chain of @thread begins. False if that cannot be read. */
static __always_inline bool python_thread_place(const struct python_process *process, __u64 thread,
						__u64 *frame, __u64 *cframe)
{
	if (process->chain != PYTHON_CFRAME && read_word(thread + process->thread_frame, frame))
		return false;
	return (process->chain != PYTHON_CFRAME && process->chain != PYTHON_FRAME_OBJECTS_CFRAME) ||
	       !read_word(thread + process->thread_cframe, cframe);
}

/** Looks for other thread states of the thread. */
static __always_inline void python_search_begin(struct python_walk *walk)
{
	const struct python_process *process = &walk->process;

	walk->search = PYTHON_SEARCH_DONE;
	if (!process->interpreters || read_word(process->interpreters, &walk->next_interpreter) ||
	    read_word(walk->thread + process->thread_interpreter, &walk->interpreter) ||
	    read_word(walk->thread + process->thread_id, &walk->thread_id) || !walk->thread_id)
		return;
	walk->search = PYTHON_SEARCH_RUNS;
	walk->search_left = PYTHON_SEARCH_STEPS;
	walk->next_thread = 0;
}

/** Begins with the chain of @thread, the thread's own state. False if that cannot be read. */
static __always_inline bool python_take_thread(struct python_walk *walk, __u64 thread)
{
	walk->thread = thread;
	walk->search = PYTHON_SEARCH_NOT_YET;
	walk->has_others = 0;
	if (!python_thread_place(&walk->process, thread, &walk->frame, &walk->cframe))
		return false;
	/* It must be known whether there are others before a frame object is taken. */
	if (walk->process.chain == PYTHON_FRAME_OBJECTS)
		python_search_begin(walk);
	return true;
}

/** Looks for the thread's own state. False if there is nowhere to look. */
static __always_inline bool python_search_own(struct python_walk *walk, __u64 thread_pointer)
{
	const struct python_process *process = &walk->process;

	if (!THREAD_POINTER_IS_ID || !process->interpreters ||
	    read_word(process->interpreters, &walk->next_interpreter))
		return false;
	walk->thread = 0;
	walk->thread_id = thread_pointer;
	walk->interpreter = 0;
	walk->search = PYTHON_SEARCH_RUNS;
	walk->search_left = PYTHON_SEARCH_STEPS;
	walk->next_thread = 0;
	return true;
}

/*
 * True if the chain of a thread state with another thread's id may be of this one. Up to 3.12 a thread
 * that runs an interpreter which another one made takes that one's thread state.
 */
static __always_inline bool python_may_be_lent(const struct python_walk *walk, __u64 cframe)
{
	if (walk->process.chain == PYTHON_FRAME_OBJECTS)
		return true;
	return cframe && cframe - walk->stack_low < PYTHON_NEAR_BYTES;
}

/* Adds the chain of the thread state at hand if it is, or may be, of this thread. */
static __always_inline void python_search_thread(struct python_walk *walk)
{
	const struct python_process *process = &walk->process;
	__u64 thread = walk->next_thread, id, frame = 0, cframe = 0;
	__u32 place = walk->place_count, room = PYTHON_PLACES_MAX;

	if (read_word(thread + process->thread_next, &walk->next_thread))
		walk->next_thread = 0;
	if (read_word(thread + process->thread_id, &id))
		return;
	if (!walk->thread) {
		if (id == walk->thread_id && !python_take_thread(walk, thread))
			walk->thread = 0;
		return;
	}
	if (!python_thread_place(process, thread, &frame, &cframe) || (!frame && !cframe))
		return;
	if (id != walk->thread_id) {
		if (!python_may_be_lent(walk, cframe))
			return;
		/* One remains for the thread's own. */
		room--;
	}
	if (place >= room) {
		walk->has_more = 1;
		return;
	}
	walk->places[place % PYTHON_PLACES_MAX].frame = frame;
	walk->places[place % PYTHON_PLACES_MAX].cframe = cframe;
	walk->place_count = place + 1;
}

/** Looks at one thread state or interpreter. */
static __always_inline void python_search_step(struct python_walk *walk)
{
	const struct python_process *process = &walk->process;
	__u64 interpreter = walk->next_interpreter;

	if (!walk->next_thread && !interpreter) {
		walk->search = PYTHON_SEARCH_DONE;
		return;
	}
	if (!walk->search_left) {
		walk->has_more = 1;
		walk->search = PYTHON_SEARCH_DONE;
		return;
	}
	walk->search_left--;
	if (walk->next_thread) {
		python_search_thread(walk);
		return;
	}
	if (read_word(interpreter + process->interpreter_next, &walk->next_interpreter))
		walk->next_interpreter = 0;
	if (interpreter == walk->interpreter)
		return;
	walk->has_others = 1;
	if (read_word(interpreter + process->interpreter_threads, &walk->next_thread))
		walk->next_thread = 0;
}

#endif
