/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * HotSpot's data for the kernel side: struct java_process, one for each process. attach() in
 * interpreters/java fills it, and it is published as abi/runtime.h describes. Nothing here depends on
 * the JVM's version: versions differ in offsets, which come from the JVM's own tables.
 *
 * A frame has two words (abi/frame.h):
 *
 *	word 0	frame_word(FRAME_JAVA, flags, address): the address of the Method for an interpreted frame,
 *		of the nmethod for a compiled one
 *	word 1	position << 32 | fingerprint
 *
 * A stub's frame has its pc as address, JAVA_STUB as position and fingerprint 0.
 *
 * position: for a compiled frame JAVA_COMPILED and the pc's offset in the nmethod's code. A return address
 * is not adjusted. A deoptimized frame returns to a handler: its offset is that of the original pc, which
 * the JVM saved. For an interpreted frame it is the index of the bytecode (bci), or JAVA_NO_BCI: not known.
 *
 * fingerprint: for a compiled frame fingerprint_of() of its Method's address and the compile id; for an
 * interpreted frame java_method_fingerprint(); 0: it could not be read. The latter includes the number of
 * unloaded classes, since a similar class may be loaded at the address of an unloaded one. It also includes
 * the class and how often that was redefined, since a version of it, or of another class, may be made there.
 */
#ifndef EBPF_ABI_JAVA_H
#define EBPF_ABI_JAVA_H

#include <linux/types.h>

#include "ebpf/abi/fingerprint.h"
#include "ebpf/abi/runtime.h"
#include "ebpf/abi/slab.h"

enum {
	JAVA_CODE_HEAPS_MAX = 8,
	/** Limit of one read from the beginning of a block, which covers the CodeBlob in it. */
	JAVA_HEAD_MAX_BYTES = 128,
	/** Limit of one read of an nmethod, from its oop maps to its compile id. */
	JAVA_IDENTITY_MAX_BYTES = 256,
	/** Segment map entry of a free segment. Other entries: that many segments back towards the block. */
	JAVA_SEGMENT_FREE = 0xff,
	JAVA_NO_BCI = 0xffff,
	/** Limit of one read of a ConstMethod. */
	JAVA_CONST_METHOD_MAX_BYTES = 40,
	/** Size of one read of a ConstantPool, from its class's address on. */
	JAVA_CONSTANTS_BYTES = 64,
};

#define JAVA_COMPILED (1U << 31)
#define JAVA_STUB (1U << 30)

/** First word of the names of adapters between compiled code and the interpreter: "I2C/C2I ". */
#define JAVA_ADAPTER_NAME 0x204932432f433249ULL
/** First word of the names of blocks with vtable stubs, which are made one by one: "vtable chunks". */
#define JAVA_VTABLE_NAME 0x6320656c62617476ULL
/** First word of the names of stubs through which native code calls Java: "upcall_s". */
#define JAVA_UPCALL_NAME 0x735f6c6c61637075ULL

/** A code heap: code is in [start, start + bytes), the whole reserved range. */
struct java_code_heap {
	/** Addresses in the process. */
	__u64 start;
	__u64 segment_map;
	/** 0 where there are no more heaps. */
	__u32 bytes;
	__u32 log2_segment_size;
};

/** Offsets are in bytes from the beginning of their struct. */
struct java_process {
	struct java_code_heap heaps[JAVA_CODE_HEAPS_MAX];
	/** All heaps are in [code_start, code_start + code_bytes). */
	__u64 code_start;
	__u64 code_bytes;

	/** The interpreter's code, which executes bytecodes: [start, end) in one of the heaps. */
	__u64 interpreter_start;
	__u64 interpreter_end;
	/** call_stub's return address: where it resumes after the Java function that it called. */
	__u64 call_stub_return;

	/** In a heap's block: a byte, non-zero if the block is in use; the CodeBlob. */
	__u16 block_used;
	__u16 block_bytes;
	/** Size of the part that is read of block and CodeBlob, from the block on. */
	__u16 head_bytes;
	/** In a CodeBlob: the header's size, which tells the kind of blob. */
	__u16 blob_header_size;
	/** In a CodeBlob: the frame's size in words, a __u32; the code offset at which the frame is complete. */
	__u16 blob_frame_size;
	__u16 blob_frame_complete;
	/** In a CodeBlob: the start of its code, an address if code_is_address, else a __u32 from the blob on. */
	__u16 blob_code;
	/** In a CodeBlob: the end of its code, a __u32 from the blob on. */
	__u16 blob_data;
	/** Header size of an nmethod. In an nmethod: its Method; its compile id, a __u32. */
	__u16 nmethod_bytes;
	__u16 nmethod_method;
	__u16 nmethod_compile_id;
	/** In a Method: its ConstMethod. Size of a ConstMethod; the bytecodes follow it. */
	__u16 method_const_method;
	__u16 const_method_bytes;
	__u16 const_method_constants;
	/**
	 * In a ConstMethod: the number of bytes of bytecode, a __u16, and three more __u16 of the method. They
	 * end at most JAVA_CONST_METHOD_MAX_BYTES behind const_method_constants.
	 */
	__u16 const_method_code_size;
	/** Sizes of the fields blob_header_size and blob_frame_complete: 2 or 4. */
	__u8 header_size_bytes;
	__u8 frame_complete_bytes;
	__u8 code_is_address;
	/** Slot of the bytecode pointer in a frame of the interpreter: words below its frame pointer. */
	__u8 bcp_slot;
	/** In a CodeBlob: addresses of its name and of its oop maps. */
	__u16 blob_name;
	__u16 blob_oop_maps;
	/** Size of call_stub's code before its return address, and of all of it; 0: not known. */
	__u16 call_stub_before;
	__u16 call_stub_bytes;
	/**
	 * In an nmethod, between its oop maps and its compile id: the handlers to which callees of a deoptimized frame
	 * return, for two kinds of calls; a __u32, the offset from the stack pointer at which a deoptimized frame has its
	 * original pc.
	 */
	__u16 nmethod_deopt_handler;
	__u16 nmethod_deopt_mh_handler;
	__u16 nmethod_original_pc;
	/**
	 * Rows of stubs, by addresses in the process. They follow this struct, and the cell numbers in the header
	 * count from its first cell. page_count 0: there are none.
	 */
	struct unwind_header stubs;
	/** Size of the part of a continuation's entry below its frame pointer; 0: not known. */
	__u16 continuation_bytes;
	/**
	 * In a ConstantPool: its class's address; a __u32, how often the class had been redefined when the ConstantPool
	 * was made, 0: not known. The second follows the first within JAVA_CONSTANTS_BYTES.
	 */
	__u16 constants_holder;
	__u16 constants_version;
	/** Size of the two deopt handler fields. 8: addresses; 4: __s32 from the nmethod on; 0: not known. */
	__u16 deopt_handler_bytes;
	/** Address of the JVM's count of unloaded classes, which grows before their memory is used again; 0: not known. */
	__u64 unloads;
	/** Address of the JVM's count of safepoints; classes are redefined only at safepoints. 0: not known. */
	__u64 safepoints;
};

_Static_assert(sizeof(struct java_process) == 336, "struct java_process is 21 cells");

/**
 * The word at const_method_code_size with the part that may change while the method lives replaced by the low
 * bits of @unloads. The other parts are the size of the bytecode and the numbers of its name and its signature.
 */
static inline __u64 java_method_word(__u64 word, __u64 unloads)
{
	return (word & 0xffffffffffffULL) | unloads << 48;
}

/**
 * Makes the fingerprint of an interpreted method. @constants: address of the ConstantPool; @word: the word at
 * const_method_code_size; @unloads: the number of unloaded classes; @holder, @version: the ConstantPool's class
 * and version, both 0 where they are not known. As long as no class is unloaded, no two methods have the same
 * @constants and @word.
 */
static inline __u32 java_method_fingerprint(__u64 constants, __u64 word, __u64 unloads,
					    __u64 holder, __u32 version)
{
	return fingerprint_of(fingerprint_mix(fingerprint_mix(constants, holder), version),
			      java_method_word(word, unloads));
}

#endif
