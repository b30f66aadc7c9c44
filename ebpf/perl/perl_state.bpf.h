/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/** State of an unwind for Perl's contexts (perl_step.bpf.h). */
#ifndef EBPF_PERL_STATE_BPF_H
#define EBPF_PERL_STATE_BPF_H

#include "ebpf/abi/perl.h"
#include "ebpf/helpers.bpf.h"

enum {
	/** Subs and names of files cached during an unwind, powers of two. */
	PERL_KNOWN_SUBS = 32,
	PERL_KNOWN_FILES = 16,
};

/** A sub or the name of a file, which a frame of this unwind keeps alive; address 0: none. */
struct perl_known {
	__u64 address;
	/** The glob of a sub, or 0. */
	__u64 glob;
	/** Sum of all that the fingerprint includes of it; 0: it could not be read. */
	__u64 sum;
};

struct perl_unwind {
	/** First cell of the struct perl_process that `process` is a copy of; 0: none yet. */
	__u32 cell;
	/** The contexts are not followed any more in this unwind. */
	__u32 is_lost;
	/** The frames of the pending native frame are being added. */
	__u32 in_frames;
	/** No native frame of the loop has been reached yet. */
	__u32 is_first;
	/** No frame has been added yet. */
	__u32 is_innermost;
	/** Who called the pending loop, an enum perl_caller. */
	__u32 caller;
	/** The enum perl_level of contexts that a loop has ended with: only the eval around them is missing. Or 0. */
	__u32 closing;
	/** The enum perl_level of contexts that were added for a loop in a frame for exceptions, and are the next one's. Or 0. */
	__u32 open;
	/** Index of the first word of the native frames since the last loop. */
	__u32 natives;
	/** `op` is known. */
	__u32 has_op;
	/** The stack's type (PERLSI_...), the number of contexts that are left. */
	__u32 stack_type;
	__u32 left;
	/** The index of the innermost context of a sub or eval. */
	__u32 sub_index;
	__u32 saved_count;
	/** The op that the next loop executes, and the COP that it has come to. */
	__u64 op;
	__u64 cop;
	/** Addresses: the interpreter, its savestack, the contexts of the stack, and the stack before it. */
	__u64 interpreter;
	__u64 saved;
	__u64 contexts;
	__u64 previous;
	/** The beginning of a file's name. */
	__u64 text[PERL_FILE_WORDS];
	struct perl_process process;
	struct perl_known subs[PERL_KNOWN_SUBS];
	struct perl_known files[PERL_KNOWN_FILES];
};

/** Resets the state for a new sample. */
static __always_inline void perl_state_begin(struct perl_unwind *unwind)
{
	unwind->cell = 0;
}

/** Clears what is cached between unwinds. */
static __always_inline void perl_state_forget(struct perl_unwind *unwind)
{
	/* Nothing is cached. */
	(void)unwind;
}

#endif
