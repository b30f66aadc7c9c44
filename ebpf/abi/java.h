/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * What the kernel side knows of HotSpot in a process: struct java_process, filled by attach in
 * interpreters/java and published as abi/runtime.h says. Nothing here names a version: what
 * differs between them are offsets, out of the JVM's own tables.
 *
 * A frame, two words (abi/frame.h):
 *
 *	word 0	frame_word(FRAME_JAVA, flags, address), of a Method if the frame is the interpreter's,
 *		else of the nmethod that it executes
 *	word 1	position << 32 | fingerprint
 *
 * A frame of a stub has its own place in the process as address, JAVA_STUB as position and fingerprint 0.
 *
 * position: JAVA_COMPILED and the place behind the beginning of the nmethod's code, of a return address
 * as it is, or, where the frame was given up and returns to a handler, of the one that the JVM put away;
 * or the bytecode's place (bci) in the interpreted method, JAVA_NO_BCI: not known.
 *
 * fingerprint: of a compiled frame fingerprint_of() of its Method's address and the compile id; of an
 * interpreted one java_method_fingerprint(), with how many classes were unloaded, since a class of one form may
 * lie where the last one lay, and which its own is and how often that was redefined, for so may versions of it and
 * of others; 0: it could not be read.
 */
#ifndef EBPF_ABI_JAVA_H
#define EBPF_ABI_JAVA_H

#include <linux/types.h>

#include "ebpf/abi/fingerprint.h"
#include "ebpf/abi/runtime.h"
#include "ebpf/abi/slab.h"

enum {
	JAVA_CODE_HEAPS_MAX = 8,
	/** Of what is read at once of a block and the CodeBlob in it, from its beginning. */
	JAVA_HEAD_MAX_BYTES = 128,
	/** The same of an nmethod, from its oop maps to its compile id. */
	JAVA_IDENTITY_MAX_BYTES = 256,
	/** A segment map's entry for what is no code; others lead back by that many segments. */
	JAVA_SEGMENT_FREE = 0xff,
	JAVA_NO_BCI = 0xffff,
	/** Of what is read of a ConstMethod at once. */
	JAVA_CONST_METHOD_MAX_BYTES = 40,
	/** Of what is read of a ConstantPool at once, from its class's address on. */
	JAVA_CONSTANTS_BYTES = 64,
};

#define JAVA_COMPILED (1U << 31)
#define JAVA_STUB (1U << 30)

/** How the names of adapters between compiled code and the interpreter begin: "I2C/C2I ". */
#define JAVA_ADAPTER_NAME 0x204932432f433249ULL
/** Those of blocks with stubs that lead to a virtual method, made one by one: "vtable chunks". */
#define JAVA_VTABLE_NAME 0x6320656c62617476ULL
/** And those of stubs by which native code calls Java: "upcall_s". */
#define JAVA_UPCALL_NAME 0x735f6c6c61637075ULL

/** Code lies in [start, start + bytes), all that is reserved for it. */
struct java_code_heap {
	/** Of both, addresses in the process. */
	__u64 start;
	__u64 segment_map;
	/** 0 where there are no more heaps. */
	__u32 bytes;
	__u32 log2_segment_size;
};

/** Offsets are in bytes from the beginning of their struct. */
struct java_process {
	struct java_code_heap heaps[JAVA_CODE_HEAPS_MAX];
	/** All heaps lie in [code_start, code_start + code_bytes). */
	__u64 code_start;
	__u64 code_bytes;

	/** What bytecodes are executed by: [start, end), in one of the heaps. */
	__u64 interpreter_start;
	__u64 interpreter_end;
	/** Where call_stub goes on behind the Java function that it was entered for. */
	__u64 call_stub_return;

	/** A heap's block: a byte that says whether it is in use, and where its CodeBlob begins. */
	__u16 block_used;
	__u16 block_bytes;
	/** What is read of both, from the block on. In a CodeBlob: the size of the kind of blob, */
	__u16 head_bytes;
	__u16 blob_header_size;
	/** its frame's size in words, a __u32, and where in the code the frame has been made, */
	__u16 blob_frame_size;
	__u16 blob_frame_complete;
	/** where its code begins, an address if code_is_address, else a __u32 from the blob on, */
	__u16 blob_code;
	/** and where that ends, a __u32 from the blob on. */
	__u16 blob_data;
	/** A blob whose header has this size is an nmethod; in it its Method, and a __u32. */
	__u16 nmethod_bytes;
	__u16 nmethod_method;
	__u16 nmethod_compile_id;
	/** In a Method; the bytecodes stand behind the ConstMethod. */
	__u16 method_const_method;
	__u16 const_method_bytes;
	__u16 const_method_constants;
	/**
	 * The number of bytes of bytecode, a __u16, and three more that belong to it; all of them end at most
	 * JAVA_CONST_METHOD_MAX_BYTES behind the beginning of const_method_constants.
	 */
	__u16 const_method_code_size;
	/** Of the two fields of this name: 2 or 4. */
	__u8 header_size_bytes;
	__u8 frame_complete_bytes;
	__u8 code_is_address;
	/** In a frame of the interpreter, from its frame pointer down, in words: where the bytecode is. */
	__u8 bcp_slot;
	/** In a CodeBlob, addresses: what it is called, and its oop maps. */
	__u16 blob_name;
	__u16 blob_oop_maps;
	/** Of call_stub's code: how much stands before its return address, and all of it; 0: not known. */
	__u16 call_stub_before;
	__u16 call_stub_bytes;
	/**
	 * Between an nmethod's oop maps and its compile id: where callees of a frame return that was given up, in two
	 * kinds of calls; and a __u32, where in such a frame the JVM has put the place that it was at, in bytes from the
	 * stack pointer.
	 */
	__u16 nmethod_deopt_handler;
	__u16 nmethod_deopt_mh_handler;
	__u16 nmethod_original_pc;
	/**
	 * Rows of stubs, by addresses in the process; behind this struct, whose first cell is 0 to the
	 * numbers of cells here. No pages: none.
	 */
	struct unwind_header stubs;
	/** What a continuation's entry has below its frame pointer; 0: not known. */
	__u16 continuation_bytes;
	/**
	 * In a ConstantPool: its class's address, and behind it, within JAVA_CONSTANTS_BYTES, a __u32, how often that
	 * was redefined before the ConstantPool was made; 0: not known.
	 */
	__u16 constants_holder;
	__u16 constants_version;
	/** Of the two handlers: 8, addresses; 4, __s32 from the nmethod on; 0: those fields are not known. */
	__u16 deopt_handler_bytes;
	/** Where the JVM counts classes that it unloads, before their memory is used again; 0: not known. */
	__u64 unloads;
	/** Where it counts the safepoints that it begins: only there are classes redefined; 0: not known. */
	__u64 safepoints;
};

_Static_assert(sizeof(struct java_process) == 336, "struct java_process is 21 cells");

/**
 * The word at const_method_code_size without what may change while the method lives: what remains are the
 * size of its bytecode and the numbers of its name and its signature; and in their place the end of @unloads.
 */
static inline __u64 java_method_word(__u64 word, __u64 unloads)
{
	return (word & 0xffffffffffffULL) | unloads << 48;
}

/**
 * Of an interpreted method: of its ConstMethod the address of the ConstantPool and @word, what is at
 * const_method_code_size; the number of unloaded classes; and of the ConstantPool the class and its version,
 * 0 both where they are not known. As long as no class is unloaded no two that ever are have the same two.
 */
static inline __u32 java_method_fingerprint(__u64 constants, __u64 word, __u64 unloads,
					    __u64 holder, __u32 version)
{
	return fingerprint_of(fingerprint_mix(fingerprint_mix(constants, holder), version),
			      java_method_word(word, unloads));
}

#endif
