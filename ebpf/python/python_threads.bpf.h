/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * A thread that runs several interpreters of CPython has a thread state in each of them. Each thread
 * state has its own chain of frames, but the native frames of all are on one stack. The thread's slot
 * has one of its states, the others are in the lists of their interpreters. The lists are searched when
 * a native frame of the eval loop has no frame in the current chain. One step of the unwind takes one
 * step in the lists, so that processes with one interpreter cost only a few reads.
 *
 * If the slot is empty the thread's own state is searched in the lists as well, by its id: a fork makes
 * its slot again, and with musl that is another slot than its parent's.
 */
#ifndef EBPF_PYTHON_THREADS_BPF_H
#define EBPF_PYTHON_THREADS_BPF_H

#include "ebpf/abi/python.h"
#include "ebpf/architecture.bpf.h"
#include "ebpf/safe_reads.bpf.h"
#include "ebpf/state.bpf.h"

enum {
	/** Limit of the interpreters and thread states that a search reads. */
	PYTHON_SEARCH_STEPS = 64,
	/** Limit of the distance from the leaf to the cframe of a thread state with another thread's id. */
	PYTHON_NEAR_BYTES = 1 << 20,
};

enum python_search {
	PYTHON_SEARCH_NOT_YET = 0,
	PYTHON_SEARCH_RUNS,
	PYTHON_SEARCH_DONE,
};

/** Saves the position in the current chain and switches to the next chain, from the last to the first. */
static __always_inline void python_next_chain(struct python_unwind *unwind)
{
	__u32 from = unwind->chain % PYTHON_CHAINS_MAX, to;

	unwind->chains[from].frame = unwind->frame;
	unwind->chains[from].cframe = unwind->cframe;
	to = from + 1 < unwind->chain_count ? (from + 1) % PYTHON_CHAINS_MAX : 0;
	unwind->frame = unwind->chains[to].frame;
	unwind->cframe = unwind->chains[to].cframe;
	unwind->chain = to;
}

/** Reads the beginning of the chain of @thread. False if it cannot be read. */
static __always_inline bool python_chain_start(const struct python_process *process, __u64 thread,
					       __u64 *frame, __u64 *cframe)
{
	if (process->chain != PYTHON_CFRAME && read_word(thread + process->thread_frame, frame))
		return false;
	return (process->chain != PYTHON_CFRAME && process->chain != PYTHON_FRAME_OBJECTS_CFRAME) ||
	       !read_word(thread + process->thread_cframe, cframe);
}

/** Begins the search for other thread states of the thread. */
static __always_inline void python_search_begin(struct python_unwind *unwind)
{
	const struct python_process *process = &unwind->process;

	unwind->search = PYTHON_SEARCH_DONE;
	if (!process->interpreters || read_word(process->interpreters, &unwind->next_interpreter) ||
	    read_word(unwind->thread + process->thread_interpreter, &unwind->interpreter) ||
	    read_word(unwind->thread + process->thread_id, &unwind->thread_id) ||
	    !unwind->thread_id)
		return;
	unwind->search = PYTHON_SEARCH_RUNS;
	unwind->search_left = PYTHON_SEARCH_STEPS;
	unwind->next_thread = 0;
}

/** Begins with the chain of @thread, the thread's own state. False if it cannot be read. */
static __always_inline bool python_take_thread(struct python_unwind *unwind, __u64 thread)
{
	unwind->thread = thread;
	unwind->search = PYTHON_SEARCH_NOT_YET;
	unwind->has_others = 0;
	if (!python_chain_start(&unwind->process, thread, &unwind->frame, &unwind->cframe))
		return false;
	/* Before a frame object is used, it must be known whether there are other thread states. */
	if (unwind->process.chain == PYTHON_FRAME_OBJECTS)
		python_search_begin(unwind);
	return true;
}

/** Begins the search for the thread's own state. False if there is no list to search. */
static __always_inline bool python_search_own(struct python_unwind *unwind, __u64 thread_pointer)
{
	const struct python_process *process = &unwind->process;

	if (!THREAD_POINTER_IS_ID || !process->interpreters ||
	    read_word(process->interpreters, &unwind->next_interpreter))
		return false;
	unwind->thread = 0;
	unwind->thread_id = thread_pointer;
	unwind->interpreter = 0;
	unwind->search = PYTHON_SEARCH_RUNS;
	unwind->search_left = PYTHON_SEARCH_STEPS;
	unwind->next_thread = 0;
	return true;
}

/*
 * True if the chain of a thread state with another thread's id may belong to this thread. Up to 3.12 a
 * thread that runs an interpreter which another thread has made uses the other thread's state.
 */
static __always_inline bool python_may_be_lent(const struct python_unwind *unwind, __u64 cframe)
{
	if (unwind->process.chain == PYTHON_FRAME_OBJECTS)
		return true;
	return cframe && cframe - unwind->stack_low < PYTHON_NEAR_BYTES;
}

/* Adds the chain of the next thread state of the search if it belongs, or may belong, to this thread. */
static __always_inline void python_search_thread(struct python_unwind *unwind)
{
	const struct python_process *process = &unwind->process;
	__u64 thread = unwind->next_thread, id, frame = 0, cframe = 0;
	__u32 index = unwind->chain_count, room = PYTHON_CHAINS_MAX;

	if (read_word(thread + process->thread_next, &unwind->next_thread))
		unwind->next_thread = 0;
	if (read_word(thread + process->thread_id, &id))
		return;
	if (!unwind->thread) {
		if (id == unwind->thread_id && !python_take_thread(unwind, thread))
			unwind->thread = 0;
		return;
	}
	if (!python_chain_start(process, thread, &frame, &cframe) || (!frame && !cframe))
		return;
	if (id != unwind->thread_id) {
		if (!python_may_be_lent(unwind, cframe))
			return;
		/* One entry is reserved for the thread's own state. */
		room--;
	}
	if (index >= room) {
		unwind->has_more = 1;
		return;
	}
	unwind->chains[index % PYTHON_CHAINS_MAX].frame = frame;
	unwind->chains[index % PYTHON_CHAINS_MAX].cframe = cframe;
	unwind->chain_count = index + 1;
}

/** Takes one step of the search: one thread state or interpreter. */
static __always_inline void python_search_step(struct python_unwind *unwind)
{
	const struct python_process *process = &unwind->process;
	__u64 interpreter = unwind->next_interpreter;

	if (!unwind->next_thread && !interpreter) {
		unwind->search = PYTHON_SEARCH_DONE;
		return;
	}
	if (!unwind->search_left) {
		unwind->has_more = 1;
		unwind->search = PYTHON_SEARCH_DONE;
		return;
	}
	unwind->search_left--;
	if (unwind->next_thread) {
		python_search_thread(unwind);
		return;
	}
	if (read_word(interpreter + process->interpreter_next, &unwind->next_interpreter))
		unwind->next_interpreter = 0;
	if (interpreter == unwind->interpreter)
		return;
	unwind->has_others = 1;
	if (read_word(interpreter + process->interpreter_threads, &unwind->next_thread))
		unwind->next_thread = 0;
}

#endif
