/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Ruby's (MRI) data for the kernel side: struct ruby_process, one for each process. attach() in interpreters/ruby fills it,
 * and it is published as abi/runtime.h describes. Nothing here depends on a version: versions differ in offsets.
 *
 * A thread's execution context has a stack of control frames, the innermost at the lowest address. vm_exec(), the pending
 * native frame, runs those up to the first one whose environment has RUBY_FRAME_FINISH.
 *
 * A frame has two or three words (abi/frame.h):
 *
 *	word 0	frame_word(FRAME_RUBY, 0, address of the instruction sequence (rb_iseq_t), or of the method entry)
 *	word 1	position << 32 | fingerprint
 *	word 2	for a sequence, where names have classes: address of its method entry, if it runs for a method
 *
 * While the garbage collector works, a frame for it precedes the innermost frame. It has an enum ruby_collector_mode instead
 * of an address, and the position RUBY_COLLECTOR.
 *
 * position: index of the word in the sequence's instructions to which the frame's pc points, just behind the instruction
 * that is executed, maybe with RUBY_IS_APPROXIMATE; RUBY_METHOD_ENTRY for a C method, whose frame has a method entry instead
 * of a sequence.
 *
 * fingerprint: fingerprint_end() of the following, or 0: the object could not be read.
 *	- for an instruction sequence: the address of its body, the body's chosen words, the words of the label and of the
 *	  path, and where the path is an Array the words of its first element
 *	- for a method entry: 0 and its words, and where names have classes the words of its owner's name (ruby_mix_class())
 *	- for a sequence with a method entry: the two fingerprints
 * A body exists until the collector sweeps its sequence; the label and path may have been swept earlier.
 */
#ifndef EBPF_ABI_RUBY_H
#define EBPF_ABI_RUBY_H

#include <linux/types.h>

#include "ebpf/abi/fingerprint.h"
#include "ebpf/abi/runtime.h"

#define RUBY_METHOD_ENTRY 0xffffffffU
#define RUBY_COLLECTOR 0xfffffffeU

enum {
	RUBY_RETURNING_MAX = 16,
	RUBY_ENTERING_MAX = 24,
	RUBY_CODE_RETURNS_MAX = 2,
	/** Size of one read from the beginning of a struct rb_iseq_constant_body. */
	RUBY_BODY_WORDS = 12,
	/** Words of a method entry behind its flags: defined_class, def, called_id, owner. */
	RUBY_METHOD_WORDS = 4,
	RUBY_CHOSEN_WORDS = 5,
	/** Words of a String or Array behind the two that all objects have. */
	RUBY_TEXT_WORDS = 3,
	RUBY_TEXT_OFFSET = 16,
	/** Kinds of objects in their flags (RUBY_T_MASK, RUBY_T_CLASS, ...). */
	RUBY_TYPE_MASK = 0x1f,
	RUBY_TYPE_CLASS = 2,
	RUBY_TYPE_MODULE = 3,
	RUBY_TYPE_ARRAY = 7,
	/** nil since 3.2; a smaller value is false. */
	RUBY_NIL = 4,
	/** Flag of singleton classes (RUBY_FL_USER1, since 3.4). */
	RUBY_CLASS_IS_SINGLETON = 1 << 13,
	/** Flags of the runtime's own objects (internal/imemo.h): T_IMEMO, and enum imemo_type above that. */
	RUBY_IMEMO_MASK = 0xf01f,
	RUBY_IMEMO_SPECIAL_VARIABLES = 2 << 12 | 0x1a,
	RUBY_IMEMO_METHOD = 6 << 12 | 0x1a,
	RUBY_IMEMO_SEQUENCE = 7 << 12 | 0x1a,
	/** Kinds of sequences in the low half of a body's first word (enum rb_iseq_type). */
	RUBY_SEQUENCE_RESCUE = 4,
	RUBY_SEQUENCE_ENSURE = 5,
};

/** Flags of an environment (vm_core.h, VM_FRAME_MAGIC_..., VM_FRAME_FLAG_...), the same since 2.5. */
enum {
	RUBY_FRAME_FINISH = 0x20,
	/** The frame is a C method's, or a block's in C. */
	RUBY_FRAME_IS_C = 0x80,
	RUBY_FRAME_KIND_MASK = 0x7fff0001,
	RUBY_FRAME_KIND_C = 0x55550001,
	/** The environment is that of a method, not of a block in one. */
	RUBY_ENVIRONMENT_LOCAL = 2,
};

/**
 * The garbage collector's flags: its mode in the low bits (enum gc_mode), a bit that it is at work, and a bit that it
 * compacts while it sweeps, for which 3.1 has no mode.
 */
enum ruby_collector_mode {
	RUBY_COLLECTOR_IDLE,
	RUBY_COLLECTOR_MARKS,
	RUBY_COLLECTOR_SWEEPS,
	RUBY_COLLECTOR_COMPACTS,
	RUBY_COLLECTOR_MODE_MASK = 3,
	RUBY_COLLECTOR_AT_WORK = 1 << 5,
	RUBY_COLLECTOR_MOVES = 1 << 6,
};

/** Qundef, which generated code returns if the function that executes instructions is to go on (special_consts.h), from 3.2 on. */
#define RUBY_UNDEFINED 0x24

/** A flag in a sequence's position: the function is executed by generated code, which seldom stores the pc. */
#define RUBY_IS_APPROXIMATE (1U << 30)

/** ELF virtual addresses [start, end). */
struct ruby_code_range {
	__u32 start;
	__u32 end;
};

/** Offsets are in bytes from the beginning of their struct; those of a body are within RUBY_BODY_WORDS. */
struct ruby_process {
	/** Path to a thread's execution context, used if context_pointer is 0. */
	struct thread_local_path context;
	/** Address of the pointer that all threads share, to the execution context of the thread with the lock; 0: none. */
	__u64 context_pointer;
	/** An address in the process minus this is an ELF virtual address of the runtime. */
	__u64 bias;
	/** Address of the pointer to the process's rb_vm_t; 0: not known, and there are no frames for the garbage collector. */
	__u64 vm_pointer;

	/** vm_exec(), and the function that executes instructions, which it calls. Both call generated code. */
	struct ruby_code_range loop;
	struct ruby_code_range core;
	/**
	 * Code in which the last control frame may have been popped: in `core` behind the store that pops it, and in
	 * vm_exec() from the return of `core` until the tag is removed, on the paths on which the tag has no state.
	 * {0, 0} ends the list.
	 */
	struct ruby_code_range returning[RUBY_RETURNING_MAX];
	/**
	 * In vm_exec() from the return of generated code to the branch on its result: if that is not RUBY_UNDEFINED, the last
	 * control frame may have been popped. {0, 0} ends the list.
	 */
	struct ruby_code_range code_returns[RUBY_CODE_RETURNS_MAX];
	/** The functions that call vm_exec(), and the code that pushes a control frame before they do. */
	struct ruby_code_range entering[RUBY_ENTERING_MAX];

	/** In the execution context: the innermost control frame, the innermost tag. */
	__u16 context_frame;
	__u16 context_tag;
	/** In struct rb_vm_tag: state, a __u32. */
	__u16 tag_state;
	__u16 frame_bytes;
	/** In an instruction sequence: its body. */
	__u16 sequence_body;
	/**
	 * In a class: the object whose singleton class it is; its path. 0 where names have no classes. Where they have
	 * some, a rescue or ensure replaces the frame that it belongs to.
	 */
	__u16 class_attached;
	__u16 class_path;
	/** In the rb_vm_t: the garbage collector; the ractor that has the lock. In the garbage collector: its flags. */
	__u16 vm_collector;
	__u16 vm_lock_owner;
	__u16 collector_flags;
	/** In an execution context: its thread. In a thread: its ractor. In a ractor: the running execution context. */
	__u16 context_thread;
	__u16 thread_ractor;
	__u16 ractor_context;
	/**
	 * In an execution context: its fiber; the start of its native stack (the highest address); that stack's size. In a
	 * fiber: its execution context; the fiber that has resumed it; its saved stack pointer, which points to six registers
	 * and a return address. fiber_stack_pointer 0: the unwind ends where a fiber's stack begins.
	 */
	__u16 context_fiber;
	__u16 context_stack_start;
	__u16 context_stack_bytes;
	__u16 fiber_context;
	__u16 fiber_resumer;
	__u16 fiber_stack_pointer;
	/** In a thread: its pthread_t, which equals the thread pointer in all C libraries. Used with context_pointer. */
	__u16 thread_native;
	/** Words of a body: iseq_encoded, param.flags, param.opt_num (the second half of its word), param.opt_table. */
	__u8 body_instructions;
	__u8 body_flags;
	__u8 body_optional_count;
	__u8 body_optional_table;
	/** Words of a body that the fingerprint includes, and of these the label's and the path's. */
	__u8 body_words[RUBY_CHOSEN_WORDS];
	__u8 body_label;
	__u8 body_path;
	__u8 reserved[5];
};

_Static_assert(sizeof(struct ruby_process) == 448, "struct ruby_process is 28 cells");

/** True if the object with @flags is a class or a module. */
static inline int ruby_is_class(__u64 flags)
{
	return (flags & RUBY_TYPE_MASK) == RUBY_TYPE_CLASS ||
	       (flags & RUBY_TYPE_MASK) == RUBY_TYPE_MODULE;
}

static inline int ruby_is_singleton(__u64 flags)
{
	return (flags & (RUBY_TYPE_MASK | RUBY_CLASS_IS_SINGLETON)) ==
	       (RUBY_TYPE_CLASS | RUBY_CLASS_IS_SINGLETON);
}

#endif
