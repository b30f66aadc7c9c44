/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/** State of an unwind for CPython's threads and their frames (python_step.bpf.h). */
#ifndef EBPF_PYTHON_STATE_BPF_H
#define EBPF_PYTHON_STATE_BPF_H

#include "ebpf/abi/python.h"
#include "ebpf/helpers.bpf.h"
#include "ebpf/read_window.bpf.h"

enum {
	/** Limit of the thread states of a thread, a power of two. */
	PYTHON_CHAINS_MAX = 8,
	/** Fingerprints cached during an unwind, a power of two. */
	PYTHON_KNOWN_CODES = 16,
};

_Static_assert((int)PYTHON_READ_MAX_BYTES <= (int)WINDOW_EXACT_BYTES, "frames fit the window");

/** Position of an unwind in the frames of one thread state. */
struct python_chain_position {
	__u64 frame;
	__u64 cframe;
};

/** A cached code object, which a frame of this unwind keeps alive; address 0: none. */
struct python_known_code {
	__u64 address;
	__u64 fingerprint;
};

/** Position of an unwind in the frames of CPython's functions. */
struct python_unwind {
	/** First cell of the struct python_process that `process` is a copy of; 0: none yet. */
	__u32 cell;
	/** The chain is not followed any more in this unwind. */
	__u32 is_lost;
	/** The frames of the pending native frame are being added. */
	__u32 in_frames;
	/** record.word_count and `frame` when that began, to be restored if the frames are another native frame's. */
	__u32 first_word_count;
	__u64 first_frame;
	/** The next frame and cframe, addresses in the process. */
	__u64 frame;
	__u64 cframe;
	/** The first frame that does not belong to the current cframe; the next cframe. */
	__u64 stop_frame;
	__u64 next_cframe;
	/** Distance of the next pending frame's cframe below its caller's sp; 0: it is at `cframe`. */
	__u64 cframe_depth;
	/**
	 * The thread's states, one for each interpreter that it runs, its own one first. For all but the current one
	 * the position at which it was left.
	 */
	struct python_chain_position chains[PYTHON_CHAINS_MAX];
	__u32 chain_count;
	/** Index of the current thread state, whose position is in frame and cframe. */
	__u32 chain;
	/** Number of thread states that have no frames for the pending frame. */
	__u32 tried;
	/** enum python_search; number of steps left; 1 if the search did not reach its end. */
	__u32 search;
	__u32 search_left;
	__u32 has_more;
	/** The process has other interpreters than the thread's own. */
	__u32 has_others;
	/**
	 * Search of the pending frame's stack for pointers to frames: enum python_look; a bit for each index in `chains`
	 * whose frame was found; the rest of the stack range.
	 */
	__u32 looking;
	__u32 met;
	__u64 look;
	__u64 look_end;
	/** Start of the next pending frame's stack range; 1 if no range has been searched yet. */
	__u64 stack_low;
	__u32 is_first;
	__u32 reserved;
	/** The thread's own state, its id and interpreter; the next interpreter and thread state of the search. */
	__u64 thread;
	__u64 thread_id;
	__u64 interpreter;
	__u64 next_interpreter;
	__u64 next_thread;
	struct python_process process;
	/** Frames are adjacent from 3.11 on, callers at lower addresses. */
	struct read_window frames;
	/** The part of a code object that was read last. */
	__u64 code[PYTHON_READ_MAX_BYTES / 8];
	struct python_known_code known_codes[PYTHON_KNOWN_CODES];
};

/** Resets the state for a new sample. */
static __always_inline void python_state_begin(struct python_unwind *unwind)
{
	unwind->cell = 0;
}

/** Clears what is cached between unwinds. */
static __always_inline void python_state_forget(struct python_unwind *unwind)
{
	/* Nothing is cached. */
	(void)unwind;
}

#endif
