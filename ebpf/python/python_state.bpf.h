/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/** What a walk keeps of CPython's threads and their frames (python_step.bpf.h). */
#ifndef EBPF_PYTHON_STATE_BPF_H
#define EBPF_PYTHON_STATE_BPF_H

#include "ebpf/abi/python.h"
#include "ebpf/helpers.bpf.h"
#include "ebpf/read_window.bpf.h"

enum {
	/** Of a thread, a power of two. */
	PYTHON_PLACES_MAX = 8,
	/** Fingerprints kept during a walk, a power of two. */
	PYTHON_KNOWN_CODES = 16,
};

_Static_assert((int)PYTHON_READ_MAX_BYTES <= (int)WINDOW_EXACT_BYTES, "frames fit the window");

/** Where a walk stands in the frames of one thread state. */
struct python_chain_place {
	__u64 frame;
	__u64 cframe;
};

/** A code object that a frame of this walk runs, which it keeps alive; address 0: none. */
struct python_known_code {
	__u64 address;
	__u64 fingerprint;
};

/** Where a walk stands in the frames of CPython's functions (python_step.bpf.h). */
struct python_walk {
	/** First cell of the struct python_process that `process` is a copy of; 0: none yet. */
	__u32 cell;
	/** The chain is not followed any more in this walk. */
	__u32 is_lost;
	/** The frames of the held native frame are being added. */
	__u32 in_frames;
	/** record.word_count when that began, to go back to with first_frame. */
	__u32 first_word_count;
	__u64 first_frame;
	/** The next frame and cframe, addresses in the process. */
	__u64 frame;
	__u64 cframe;
	/** The first frame that is not of the cframe at hand, and the cframe behind that. */
	__u64 stop_frame;
	__u64 next_cframe;
	/** How far below its caller the next held frame's cframe lies; 0: it is at `cframe`. */
	__u64 cframe_depth;
	/**
	 * The thread's states, one for each interpreter that it runs: the first is its own one. Those that
	 * are not at hand stand where they were left.
	 */
	struct python_chain_place places[PYTHON_PLACES_MAX];
	__u32 place_count;
	/** The one at hand, whose place is above; and how many others have nothing for the held frame. */
	__u32 place;
	__u32 tried;
	/** enum python_search; what is left of its steps; it did not come to its end. */
	__u32 search;
	__u32 search_left;
	__u32 has_more;
	/** The process has other interpreters than the thread's own. */
	__u32 has_others;
	/**
	 * The held frame's part of the stack is looked through for frames (enum python_look): what is left
	 * of it, and a bit for each place whose frame was met.
	 */
	__u32 looking;
	__u32 met;
	__u64 look;
	__u64 look_end;
	/** Where the part of the next held frame begins, and that none was looked through yet. */
	__u64 stack_low;
	__u32 is_first;
	__u32 reserved;
	/** The thread's own state, its id and interpreter; where the search goes on. */
	__u64 thread;
	__u64 thread_id;
	__u64 interpreter;
	__u64 next_interpreter;
	__u64 next_thread;
	struct python_process process;
	/** Frames lie next to each other from 3.11 on, callers at lower addresses. */
	struct read_window frames;
	/** What was read last of a code object. */
	__u64 code[PYTHON_READ_MAX_BYTES / 8];
	/** Of this walk. */
	struct python_known_code known_codes[PYTHON_KNOWN_CODES];
};

/** Forgets the last sample. */
static __always_inline void python_state_begin(struct python_walk *walk)
{
	walk->cell = 0;
}

/** Forgets what is kept from walk to walk. */
static __always_inline void python_state_forget(struct python_walk *walk)
{
	/* Nothing is. */
	(void)walk;
}

#endif
