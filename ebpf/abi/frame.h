/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * The frame: the result of one step of an unwind, as 64-bit words.
 *
 * Word 0 always is
 *
 *	63      56 55      48 47                                      0
 *	+---------+----------+----------------------------------------+
 *	|  kind   |  flags   |  address                               |
 *	+---------+----------+----------------------------------------+
 *
 * and the kind says how many words follow it (frame_word_count()):
 *
 *	kind              words  address              word 1
 *	FRAME_KERNEL      1      see below            -
 *	FRAME_NATIVE      2      ELF virtual address  executable id
 *	FRAME_ERROR       1      pc of the failure    -
 *	interpreted       2, 3   the function's       position in the function (bits 63..32),
 *	                         object in the        fingerprint of the object (bits 31..0)
 *	                         runtime
 *
 * User space compares the fingerprint to detect an object that was freed and whose memory was used again.
 *
 * An interpreted frame with FRAME_HAS_OWNER has a third word: the address of a second object, without which the first
 * one does not name the function. The fingerprint then covers both. (In PHP it is the position in generated code.)
 *
 * A kernel frame is the kernel address as the kernel gave it: kind and flags are its leading one
 * bits. The first word of a trace is then the interrupted instruction, and the kernel frames behind
 * it are return addresses. In an error frame the flags byte is an enum unwind_error. Frames are in
 * the order leaf first, kernel frames before user frames. An error frame ends the trace, except for
 * errors of interpreters (UNWIND_INTERPRETER_..., UNWIND_NO_ANSWER): they mark where frames are
 * missing.
 *
 * An executable id names one loaded file for the life of the agent and is never used again:
 * bits 15..0 are its slot in the executables map, bits 63..16 a generation that starts at 1. Ids
 * below EXECUTABLE_ID_FIRST name a kind of memory instead of a file (enum special_executable). An id with
 * EXECUTABLE_ID_COPY names a copy of anonymous code (abi/code_copy.h). Mapping tables have such ids, frames never.
 */
#ifndef EBPF_ABI_FRAME_H
#define EBPF_ABI_FRAME_H

#include <linux/types.h>

#include "ebpf/abi/languages.h"

enum frame_kind {
	FRAME_NONE = 0,
	FRAME_NATIVE = 1,
	FRAME_ERROR = 2,
	/**
	 * Interpreted kinds, one for each language, from here to FRAME_KERNEL - 1. A language of native code
	 * (LANGUAGE_NATIVE) has a number too, but no frame is of that kind.
	 */
	FRAME_FIRST_INTERPRETED = 16,
	FRAME_KERNEL = 255,
#define X(kind, NAME, name, type, frames, files) FRAME_##NAME = kind,
	LANGUAGES(X)
#undef X
};

enum frame_flag {
	/** The address is a return address: look up names and rows for address - 1. */
	FRAME_RETURN_ADDRESS = 1 << 0,
	/** Found without unwind information (frame pointers, a heuristic): may be wrong. */
	FRAME_GUESS = 1 << 1,
	/** A third word follows the two of an interpreted frame. */
	FRAME_HAS_OWNER = 1 << 2,
};

enum special_executable {
	/** Code outside every file: JIT code, trampolines; the address is the process's. */
	EXECUTABLE_ID_ANONYMOUS = 1,
	/** The kernel's page of uprobe trampolines, [uprobes]. */
	EXECUTABLE_ID_UPROBES = 2,
	/** Code outside every mapping: a call through a null pointer, the vsyscall page. */
	EXECUTABLE_ID_UNMAPPED = 3,
	EXECUTABLE_ID_FIRST = 1 << 16,
};

enum {
	FRAME_ADDRESS_BITS = 48,
	FRAME_FLAGS_SHIFT = 48,
	FRAME_KIND_SHIFT = 56,
	EXECUTABLE_SLOT_BITS = 16,
	EXECUTABLE_SLOT_COUNT = 1 << EXECUTABLE_SLOT_BITS,
};

#define EXECUTABLE_ID_COPY (1ULL << 63)

#define FRAME_ADDRESS_MASK ((1ULL << FRAME_ADDRESS_BITS) - 1)

/**
 * Why an unwind ended before the thread's entry, or which frames are missing from it. Each value is
 * counted (abi/counters.h) and shown to users. The texts are in the table of unwind errors in
 * lib/model/trace.h.
 */
enum unwind_error {
	UNWIND_OK = 0,
	/** The address lies in no known mapping of the process. */
	UNWIND_NO_MAPPING = 1,
	/** The file is known, but its unwind rows are not loaded yet or were evicted. */
	UNWIND_NOT_LOADED = 2,
	/** The file has no unwind information for this address. */
	UNWIND_NO_INFO = 3,
	/** The file has a rule here that stack deltas cannot express. */
	UNWIND_UNSUPPORTED_RULE = 4,
	/** The rule needs a register whose value is not known in this frame. */
	UNWIND_REGISTER_UNKNOWN = 5,
	/** The stack could not be read: not present, or not mapped. */
	UNWIND_STACK_UNREADABLE = 6,
	/** The caller's frame would lie below this one, or is this one again. */
	UNWIND_NO_PROGRESS = 7,
	/** Anonymous executable memory without an unwinder for it. */
	UNWIND_ANONYMOUS = 8,
	/** More frames than fit; those nearest to the leaf are kept. */
	UNWIND_TRUNCATED = 9,
	/** The process has no entry yet; no stack copy could be sent. */
	UNWIND_UNKNOWN_PROCESS = 10,
	/** A 32-bit task. */
	UNWIND_32BIT = 11,
	/** The task's user registers could not be read, or the kernel was just changing them for a signal. */
	UNWIND_NO_REGISTERS = 12,
	/** A table in a BPF map contradicts itself: a bug, or it is being replaced. */
	UNWIND_BAD_TABLE = 13,
	/**
	 * A file of the process was replaced by another just before the sample: the following frames
	 * may have been unwound with the tables of the old one. Set by user space.
	 */
	UNWIND_REPLACED = 14,
	/**
	 * The interpreter's state of this thread was not found. Its frames are left out, and the unwind
	 * goes on.
	 */
	UNWIND_INTERPRETER_THREAD = 15,
	/** Interpreted frames are missing here: their chain could not be followed. The unwind goes on. */
	UNWIND_INTERPRETER_FRAMES = 16,
	/** A runtime switched to another stack here, and the stack it came from was not found. */
	UNWIND_STACK_SWITCH = 17,
	/** Stands for interpreted frames whose names are in memory that does not answer. Set by user space. */
	UNWIND_NO_ANSWER = 18,
	UNWIND_ERROR_COUNT = 19,
};

static inline __u64 frame_word(__u8 kind, __u8 flags, __u64 address)
{
	return (__u64)kind << FRAME_KIND_SHIFT | (__u64)flags << FRAME_FLAGS_SHIFT |
	       (address & FRAME_ADDRESS_MASK);
}

static inline __u8 frame_kind(__u64 word)
{
	return word >> FRAME_KIND_SHIFT;
}

static inline __u8 frame_flags(__u64 word)
{
	return word >> FRAME_FLAGS_SHIFT;
}

static inline __u64 frame_address(__u64 word)
{
	return word & FRAME_ADDRESS_MASK;
}

static inline int frame_kind_is_interpreted(__u8 kind)
{
	return kind >= FRAME_FIRST_INTERPRETED && kind != FRAME_KERNEL;
}

/** Words of a frame whose first word is @word; 0 for a kind that no version of this header knows. */
static inline __u32 frame_word_count(__u64 word)
{
	__u8 kind = frame_kind(word);

	if (kind == FRAME_KERNEL || kind == FRAME_ERROR)
		return 1;
	if (frame_kind_is_interpreted(kind))
		return frame_flags(word) & FRAME_HAS_OWNER ? 3 : 2;
	return kind == FRAME_NATIVE ? 2 : 0;
}

#endif
