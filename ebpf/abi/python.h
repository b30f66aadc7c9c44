/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * CPython's data for the kernel side: struct python_process, one for each process. attach() in
 * interpreters/python fills it, and it is published as abi/runtime.h describes. Nothing here depends
 * on a version: versions differ in offsets, and in four ways to link frames (enum python_chain).
 *
 * A frame has two words (abi/frame.h):
 *
 *	word 0	frame_word(FRAME_PYTHON, 0, address of the code object)
 *	word 1	position << 32 | fingerprint
 *
 * position: for frame objects (2.7 to 3.10) f_lasti, unchanged: an offset into the bytecode, in bytes
 * up to 3.9 and in code units of two bytes in 3.10, UINT32_MAX where the function has not begun. From
 * 3.11 on the offset in bytes of the frame's instruction pointer (prev_instr, instr_ptr) in the code
 * object's bytecode, modulo 2^32: one unit before the beginning is UINT32_MAX - 1. User space knows
 * which instruction that is in each version.
 *
 * fingerprint: python_code_fingerprint(), or 0: the code object could not be read.
 */
#ifndef EBPF_ABI_PYTHON_H
#define EBPF_ABI_PYTHON_H

#include <linux/types.h>

#include "ebpf/abi/fingerprint.h"
#include "ebpf/abi/runtime.h"

enum {
	/** Limit of one read of a frame or a code object. */
	PYTHON_READ_MAX_BYTES = 128,
	PYTHON_CODE_WORDS = 4,
	PYTHON_MAX_RANGES = 6,
	/** First value of frame_owner that marks a frame of the eval loop itself, without a function. */
	PYTHON_OWNER_LOOP = 3,
	PYTHON_NO_OFFSET = 0xff,
};

/** How the frames of a thread are linked, and which of them belong to one native frame. */
enum python_chain {
	/**
	 * 2.7, 3.6 to 3.9: thread_frame points to a frame object, whose frame_previous points to its
	 * caller's. Each native frame of the eval loop runs one frame object, except one interrupted in
	 * unpushed[]. The loop keeps the pointer to it in its native frame, or in a register that a
	 * callee has saved.
	 */
	PYTHON_FRAME_OBJECTS = 1,
	/**
	 * 3.10: the same, but thread_cframe points to a struct in the native frame of the eval loop. It
	 * identifies the interrupted frame where unpushed[] is empty.
	 */
	PYTHON_FRAME_OBJECTS_CFRAME = 2,
	/**
	 * 3.11, 3.12: thread_cframe points to a struct in the native frame, and its cframe_current to the
	 * innermost frame that this native frame runs. frame_previous leads from there to the frame at
	 * cframe_current of the next cframe: the first one that is not this native frame's.
	 */
	PYTHON_CFRAME = 3,
	/**
	 * From 3.13: thread_frame points to the innermost frame. The last frame of each native frame has
	 * an owner of PYTHON_OWNER_LOOP or above, belongs to no function, and is in the native frame.
	 */
	PYTHON_CURRENT_FRAME = 4,
};

/** ELF virtual addresses [start, end) in the executable. */
struct python_code_range {
	__u32 start;
	__u32 end;
};

/**
 * Offsets without a note are of 8-byte words, in bytes from the beginning of their struct. Fields at
 * frame_... and code_... must be entirely in the part of the struct that is read, and at a multiple of
 * their size there.
 */
struct python_process {
	/**
	 * Paths to the thread's PyThreadState. The second is used where the first yields 0 or cannot be
	 * followed; depth 0: there is none.
	 */
	struct thread_local_path thread_state[2];

	/** enum python_chain */
	__u32 chain;
	/** In the thread state: `frame` or `current_frame`; `cframe`. */
	__u16 thread_frame;
	__u16 thread_cframe;
	/** In struct _PyCFrame or CFrame. */
	__u8 cframe_current;
	__u8 cframe_previous;
	/** The part of a frame that is read: frame_bytes from frame_start on, at most PYTHON_READ_MAX_BYTES. */
	__u8 frame_start;
	__u8 frame_bytes;
	/** Offsets in that part: f_code or f_executable; f_back or previous. */
	__u8 frame_code;
	__u8 frame_previous;
	/** f_lasti, a __u32, of frame objects; else prev_instr or instr_ptr. */
	__u8 frame_instruction;
	/** owner, a byte; PYTHON_NO_OFFSET before 3.12. */
	__u8 frame_owner;

	/** The part of a code object that is read. */
	__u16 code_start;
	__u8 code_bytes;
	/** tlbc_index, an __s32, in free-threaded builds from 3.14 on; else PYTHON_NO_OFFSET. */
	__u8 frame_tlbc_index;
	/** From code_start on: the words of the fingerprint, which must not change while the object lives. */
	__u8 code_words[PYTHON_CODE_WORDS];
	/**
	 * From code_start on: co_name, for code without a version of its own (before 3.12); the word at
	 * name_hash in it is part of the fingerprint. PYTHON_NO_OFFSET: none.
	 */
	__u8 code_name;
	__u8 name_hash;
	/** Bits of frame_code that are a tag (3 from 3.14 on, else 0). */
	__u8 code_tag_mask;
	/**
	 * Up to 3.10: size of the return address and the saved registers of the caller at the end of a native
	 * frame of the eval loop; 0: not known, or there are none.
	 */
	__u8 saved_bytes;
	/** In the code object, from its beginning: its bytecode (co_code_adaptive), from 3.11 on. */
	__u16 code_bytecode;
	/** In the code object: co_tlbc, for frame_tlbc_index; its word i + 1 points to the bytecode of index i. */
	__u16 code_tlbc;

	/** Code object of a frame that is left out (_Py_InitCleanup); 0: none. */
	__u64 hidden_code;

	/**
	 * Address of the pointer to the first of the process's interpreters, the newest; 0: not known. In an
	 * interpreter: the next one, its first thread state. In a thread state: the next one, its
	 * interpreter, the id of its thread.
	 */
	__u64 interpreters;
	__u16 interpreter_next;
	__u16 interpreter_threads;
	__u16 thread_next;
	__u16 thread_interpreter;
	__u16 thread_id;
	__u16 reserved_words[3];

	/**
	 * Addresses in the eval loop at which it has not pushed its frame yet, or has popped it already:
	 * from the function's beginning to behind the store to tstate->frame, and from behind the last such
	 * store to its end. {0, 0} ends the list. For PYTHON_CFRAME: where thread_cframe has been set and
	 * cframe_current not yet.
	 */
	struct python_code_range unpushed[PYTHON_MAX_RANGES];
};

_Static_assert(sizeof(struct python_process) == 144, "struct python_process is 9 cells");

/**
 * Makes the fingerprint of a code object from the words at code_words and the hash of its name, 0: it
 * has none.
 */
static inline __u32 python_code_fingerprint(const __u64 words[PYTHON_CODE_WORDS], __u64 name_hash)
{
	__u64 sum = name_hash;

	sum = fingerprint_mix(sum, words[0]);
	sum = fingerprint_mix(sum, words[1]);
	sum = fingerprint_mix(sum, words[2]);
	sum = fingerprint_mix(sum, words[3]);
	return fingerprint_end(sum);
}

#endif
