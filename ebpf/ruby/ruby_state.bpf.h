/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/** State of an unwind for Ruby's control frames (ruby_step.bpf.h). */
#ifndef EBPF_RUBY_STATE_BPF_H
#define EBPF_RUBY_STATE_BPF_H

#include "ebpf/abi/ruby.h"
#include "ebpf/helpers.bpf.h"
#include "ebpf/read_window.bpf.h"

enum {
	/** Fingerprints cached during an unwind, a power of two. */
	RUBY_KNOWN_OBJECTS = 32,
};

/** A cached instruction sequence or method entry, which a frame of this unwind keeps alive; address 0: none. */
struct ruby_known_object {
	__u64 address;
	__u64 fingerprint;
	/** For a sequence: the address of its instructions; its kind. */
	__u64 instructions;
	__u64 kind;
};

/** The last three words of an environment, which identify it. */
struct ruby_environment {
	/** A method entry, special variables with one, or something else; a C method has a method entry. */
	__u64 method;
	/** Two bits; in an environment that is not local also the address of the enclosing one. */
	__u64 outer;
	__u64 flags;
};

/** A copy of a control frame. */
struct ruby_frame {
	__u64 pc;
	__u64 sequence;
	struct ruby_environment environment;
};

struct ruby_unwind {
	/** First cell of the struct ruby_process that `process` is a copy of; 0: none yet. */
	__u32 cell;
	/** The frames are not followed any more in this unwind. */
	__u32 is_lost;
	/** The frames of the pending native frame are being added. */
	__u32 in_frames;
	/** No native frame of the loop has been reached yet. */
	__u32 is_first;
	/** The last rescue or ensure belongs to the next frame of a sequence. */
	__u32 is_hidden;
	/** Generated code was left, and no control frame has been read since; the frame that was read may be the one it runs. */
	__u32 is_in_code;
	__u32 is_approximate;
	/** The pc of the leaf, which is in generated code; 0: it is elsewhere. */
	__u64 code_pc;
	/** During the search for the method entry of `frame`: the number of environments without one; the next one. */
	__u32 outer_count;
	struct ruby_environment environment;
	/** Addresses of the next control frame and of the end of the thread's stack of control frames. */
	__u64 next;
	__u64 end;
	/** The execution context, and its innermost tag. */
	__u64 context;
	__u64 tag;
	struct ruby_process process;
	struct ruby_frame frame;
	/** Control frames are adjacent, callers at higher addresses. */
	struct read_window frames;
	/** The part of a body or a method entry that was read last. */
	__u64 words[RUBY_BODY_WORDS + 4];
	struct ruby_known_object known[RUBY_KNOWN_OBJECTS];
};

/** Resets the state for a new sample. */
static __always_inline void ruby_state_begin(struct ruby_unwind *unwind)
{
	unwind->cell = 0;
	unwind->is_in_code = 0;
	unwind->code_pc = 0;
}

/** Clears what is cached between unwinds. */
static __always_inline void ruby_state_forget(struct ruby_unwind *unwind)
{
	/* Nothing is cached. */
	(void)unwind;
}

#endif
