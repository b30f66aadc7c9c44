/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/** State of an unwind for PHP's execute_data (php_step.bpf.h). */
#ifndef EBPF_PHP_STATE_BPF_H
#define EBPF_PHP_STATE_BPF_H

#include "ebpf/abi/php.h"
#include "ebpf/helpers.bpf.h"

enum {
	/** Functions cached during an unwind, a power of two. */
	PHP_KNOWN_FUNCTIONS = 16,
	/** Limit of generators that delegate to each other, a power of two; deeper ones are missing. */
	PHP_GENERATORS_MAX = 16,
	/** Words of an execute_data that are read: up to prev_execute_data. */
	PHP_FRAME_WORDS = 7,
};

/** A cached function, which a frame of this unwind keeps alive; address 0: none. */
struct php_known_function {
	__u64 address;
	__u64 fingerprint;
	__u64 opcodes;
	/** The file's name, if it is code of a file and has no name of its own; else 0. */
	__u64 file;
	/** Number of instructions; the first line. */
	__u32 count;
	__u32 line;
	/** PHP_FUNCTION_... */
	__u32 type;
	__u32 reserved;
};

/** A copy of an execute_data. */
struct php_frame {
	__u64 address;
	__u64 opline;
	__u64 return_value;
	__u64 function;
	/** `This`: the object; its type and the flags of the call. */
	__u64 object;
	__u64 flags;
	__u64 previous;
};

struct php_unwind {
	/** First cell of the struct php_process that `process` is a copy of; 0: none yet. */
	__u32 cell;
	/** The frames are not followed any more in this unwind. */
	__u32 is_lost;
	/** The frames of the pending native frame are being added. */
	__u32 in_frames;
	/** No native frame of the loop has been reached yet. */
	__u32 is_first;
	/** The next frame is the innermost one, and only the registers have its current instruction. */
	__u32 is_innermost;
	/** Generated code was left, and no frame has been added since: the innermost one may be the one it runs. */
	__u32 is_in_code;
	/** Number of `generators` still to be added, the last one first. */
	__u32 generator_count;
	/** Addresses of the next execute_data, and of the innermost one; 0: that is not the first loop's. */
	__u64 next;
	__u64 first;
	/** The context of the fiber whose stack is unwound; 0: that of the innermost frames. */
	__u64 fiber;
	/** Word 2 of the innermost frame, if is_in_code is set; 0: unknown. */
	__u64 code_word;
	struct php_process process;
	struct php_frame frame;
	__u64 generators[PHP_GENERATORS_MAX];
	struct php_known_function known[PHP_KNOWN_FUNCTIONS];
};

/** Resets the state for a new sample. */
static __always_inline void php_state_begin(struct php_unwind *unwind)
{
	unwind->cell = 0;
	unwind->is_in_code = 0;
}

/** Clears what is cached between unwinds. */
static __always_inline void php_state_forget(struct php_unwind *unwind)
{
	/* Nothing is cached. */
	(void)unwind;
}

#endif
