/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/** What a walk keeps of Ruby's control frames (ruby_step.bpf.h). */
#ifndef EBPF_RUBY_STATE_BPF_H
#define EBPF_RUBY_STATE_BPF_H

#include "ebpf/abi/ruby.h"
#include "ebpf/helpers.bpf.h"
#include "ebpf/read_window.bpf.h"

enum {
	/** Fingerprints kept during a walk, a power of two. */
	RUBY_KNOWN_OBJECTS = 32,
};

/** An instruction sequence or method entry that a frame of this walk keeps alive; address 0: none. */
struct ruby_known_object {
	__u64 address;
	__u64 fingerprint;
	/** A sequence's instructions begin here, and it is of this kind. */
	__u64 instructions;
	__u64 kind;
};

/** The words of an environment that say what it is. */
struct ruby_environment {
	/** A method entry, special variables with one, or something else; a method in C has the first. */
	__u64 method;
	/** Two bits, and the environment around one that is not local. */
	__u64 outer;
	__u64 flags;
};

/** A control frame. */
struct ruby_frame {
	__u64 pc;
	__u64 sequence;
	struct ruby_environment environment;
};

struct ruby_walk {
	/** First cell of the struct ruby_process that `process` is a copy of; 0: none yet. */
	__u32 cell;
	/** The frames are not followed any more in this walk. */
	__u32 is_lost;
	/** The frames of the held native frame are being added. */
	__u32 in_frames;
	/** No native frame of the loop was met yet. */
	__u32 is_first;
	/** The next frame of a sequence has the rescue or ensure that came last. */
	__u32 is_hidden;
	/** While the method entry of `frame` is looked for: how many environments had none, and the next one. */
	__u32 outer_count;
	struct ruby_environment environment;
	/** The next control frame; the end of the thread's stack of them. */
	__u64 next;
	__u64 end;
	/** The execution context, its innermost tag, and its native stack [stack_low, stack_high]. */
	__u64 context;
	__u64 tag;
	__u64 stack_low;
	__u64 stack_high;
	struct ruby_process process;
	struct ruby_frame frame;
	/** Control frames lie next to each other, callers at higher addresses. */
	struct read_window frames;
	/** What was read last of a body, or of a method entry. */
	__u64 words[RUBY_BODY_WORDS + 4];
	struct ruby_known_object known[RUBY_KNOWN_OBJECTS];
};

/** Forgets the last sample. */
static __always_inline void ruby_state_begin(struct ruby_walk *walk)
{
	walk->cell = 0;
}

/** Forgets what is kept from walk to walk. */
static __always_inline void ruby_state_forget(struct ruby_walk *walk)
{
	/* Nothing is. */
	(void)walk;
}

#endif
