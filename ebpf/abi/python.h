/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * What the kernel side knows of CPython in a process: struct python_process, filled by attach in
 * interpreters/python and published as abi/runtime.h says. Nothing here names a version: what
 * differs between them are offsets, and four ways in which frames hang together (enum
 * python_chain).
 *
 * A frame, two words (abi/frame.h):
 *
 *	word 0	frame_word(FRAME_PYTHON, 0, address of the code object)
 *	word 1	position << 32 | fingerprint
 *
 * position: of frame objects (2.7 to 3.10) f_lasti as it stands there: bytes of bytecode up to 3.9,
 * code units of two bytes in 3.10, UINT32_MAX where the function has not begun. From 3.11 on bytes
 * from the beginning of the code object's bytecode to where the frame's instruction pointer points
 * (prev_instr, instr_ptr), modulo 2^32, so that one unit before it is UINT32_MAX - 1. What the
 * runtime means by its pointer is the user side's to know.
 *
 * fingerprint: python_code_fingerprint(), or 0: the code object could not be read.
 */
#ifndef EBPF_ABI_PYTHON_H
#define EBPF_ABI_PYTHON_H

#include <linux/types.h>

#include "ebpf/abi/fingerprint.h"
#include "ebpf/abi/runtime.h"

enum {
	/** Longest part that is read of a frame, and of a code object. */
	PYTHON_READ_MAX_BYTES = 128,
	PYTHON_CODE_WORDS = 4,
	PYTHON_MAX_RANGES = 6,
	/** frame_owner from here on: the frame is the loop's own, of no function. */
	PYTHON_OWNER_LOOP = 3,
	PYTHON_NO_OFFSET = 0xff,
};

/** How the frames of a thread hang together, and how those of one native frame are told. */
enum python_chain {
	/**
	 * 2.7, 3.6 to 3.9: thread_frame points to a frame object, its frame_previous to its caller's.
	 * Each native frame of the loop runs the next one, but an interrupted one in unpushed[]. The
	 * loop keeps the pointer to it, in its part of the stack or in a register that is saved below.
	 */
	PYTHON_FRAME_OBJECTS = 1,
	/**
	 * 3.10: the same, and thread_cframe points to a struct that lies in the native frame of the
	 * loop. Tells the interrupted frame where unpushed[] is empty.
	 */
	PYTHON_FRAME_OBJECTS_CFRAME = 2,
	/**
	 * 3.11, 3.12: thread_cframe as above; cframe_current points to the innermost frame that the
	 * native frame runs, from which frame_previous leads to the frame that the next cframe has,
	 * which is the first one that is not this native frame's.
	 */
	PYTHON_CFRAME = 3,
	/**
	 * From 3.13: thread_frame points to the innermost frame. The last one of each native frame is of
	 * owner PYTHON_OWNER_LOOP or above, belongs to no function, and lies in the native frame.
	 */
	PYTHON_CURRENT_FRAME = 4,
};

/** ELF virtual addresses [start, end) in the executable. */
struct python_code_range {
	__u32 start;
	__u32 end;
};

/**
 * Offsets without a note are of 8-byte words, in bytes from the beginning of their struct. Fields that
 * are told by frame_... and code_... have to lie, as a whole, in what is read of the struct, and at a
 * multiple of their size there.
 */
struct python_process {
	/**
	 * Where the thread's PyThreadState is told. The second is used where the first one has 0, or
	 * cannot be followed; depth 0: there is none.
	 */
	struct thread_local_path thread_state[2];

	/** enum python_chain */
	__u32 chain;
	/** In the thread state: of `frame`, or of `current_frame`; of `cframe`. */
	__u16 thread_frame;
	__u16 thread_cframe;
	/** In struct _PyCFrame or CFrame. */
	__u8 cframe_current;
	__u8 cframe_previous;
	/** What is read of a frame: from frame_start on frame_bytes, at most PYTHON_READ_MAX_BYTES. */
	__u8 frame_start;
	__u8 frame_bytes;
	/** In what is read, that is from frame_start on: f_code or f_executable; f_back or previous. */
	__u8 frame_code;
	__u8 frame_previous;
	/** f_lasti, a __u32, of frame objects; else prev_instr or instr_ptr. */
	__u8 frame_instruction;
	/** owner, a byte; PYTHON_NO_OFFSET before 3.12. */
	__u8 frame_owner;

	/** As above, of a code object. */
	__u16 code_start;
	__u8 code_bytes;
	/** tlbc_index, an __s32; PYTHON_NO_OFFSET but in free-threaded builds from 3.14 on. */
	__u8 frame_tlbc_index;
	/** From code_start on: the words of the fingerprint; they must not change while it lives. */
	__u8 code_words[PYTHON_CODE_WORDS];
	/**
	 * From code_start on: co_name, of which the word at name_hash joins the fingerprint, for code
	 * without a version of its own (before 3.12); PYTHON_NO_OFFSET: none.
	 */
	__u8 code_name;
	__u8 name_hash;
	/** Bits of frame_code that are a tag (3 from 3.14 on, else 0). */
	__u8 code_tag_mask;
	/**
	 * Up to 3.10: at the end of a native frame of the loop, its return address and the registers of its
	 * caller that it saved; 0: not known, or not there.
	 */
	__u8 saved_bytes;
	/** In the code object, from its beginning: its bytecode (co_code_adaptive), from 3.11 on. */
	__u16 code_bytecode;
	/** Its co_tlbc, with frame_tlbc_index; word i + 1 there points to the bytecode of index i. */
	__u16 code_tlbc;

	/** Code object of a frame that is left out (_Py_InitCleanup); 0: none. */
	__u64 hidden_code;

	/**
	 * Where the process's interpreters are listed, newest first: address of the pointer to the first
	 * one; 0: not known. In an interpreter: the next one, its first thread state. In a thread state:
	 * the next one, its interpreter, the id of its thread.
	 */
	__u64 interpreters;
	__u16 interpreter_next;
	__u16 interpreter_threads;
	__u16 thread_next;
	__u16 thread_interpreter;
	__u16 thread_id;
	__u16 reserved_words[3];

	/**
	 * Addresses in the loop at which a thread that is interrupted there has not pushed its frame
	 * yet, or has popped it already: from the function's beginning to behind the store to
	 * tstate->frame, and from behind the last one to its end. {0, 0} where there are no more. For
	 * PYTHON_CFRAME: where the cframe is in place and cframe_current not yet.
	 */
	struct python_code_range unpushed[PYTHON_MAX_RANGES];
};

_Static_assert(sizeof(struct python_process) == 144, "struct python_process is 9 cells");

/**
 * 32 bits made of the words at code_words and the hash of the name (0 without one) of a code object.
 * Never 0.
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
