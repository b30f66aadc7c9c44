/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * What the kernel side knows of Ruby (MRI) in a process: struct ruby_process, filled by attach in interpreters/ruby and
 * published as abi/runtime.h says. Nothing here names a version: what differs between them are offsets.
 *
 * A thread's execution context has a stack of control frames, the innermost at the lowest address. vm_exec(), the held
 * native frame, runs those up to the first one whose environment has RUBY_FRAME_FINISH.
 *
 * A frame, two words or three (abi/frame.h):
 *
 *	word 0	frame_word(FRAME_RUBY, 0, address of the instruction sequence (rb_iseq_t), or of the method entry)
 *	word 1	position << 32 | fingerprint
 *	word 2	of a sequence, where names have classes: address of the method entry that it runs for, if it runs for one
 *
 * What the garbage collector does stands before the innermost frame, in the place of a sequence: enum ruby_collector_mode, with
 * the position RUBY_COLLECTOR.
 *
 * position: words from the beginning of the sequence's instructions to where the frame's pc points, which is behind the
 * instruction that is executed; RUBY_METHOD_ENTRY for a method in C, whose frame has a method entry in place of a
 * sequence.
 *
 * fingerprint: fingerprint_end() of what was mixed, or 0: the object could not be read. Of an instruction sequence it is the
 * address of its body, the chosen words of that, the words of the label, of the path, and where the path is an Array of
 * what it begins with; of a method entry 0 and its words, and where names have classes what its owner's name is made of
 * (ruby_mix_class()). That of a sequence with a method entry is made of the two fingerprints. A body lasts as long as its
 * sequence has not been swept by the collector; its label and path may have been before.
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
	/** So much is read of a struct rb_iseq_constant_body, from its beginning on. */
	RUBY_BODY_WORDS = 12,
	/** A method entry has these behind its flags: defined_class, def, called_id, owner. */
	RUBY_METHOD_WORDS = 4,
	RUBY_CHOSEN_WORDS = 5,
	/** These words of a String or Array stand behind the two that all objects have. */
	RUBY_TEXT_WORDS = 3,
	RUBY_TEXT_OFFSET = 16,
	/** The kinds of objects, in their flags (RUBY_T_MASK, RUBY_T_CLASS, ...). */
	RUBY_TYPE_MASK = 0x1f,
	RUBY_TYPE_CLASS = 2,
	RUBY_TYPE_MODULE = 3,
	RUBY_TYPE_ARRAY = 7,
	/** nil, since 3.2; smaller is false. */
	RUBY_NIL = 4,
	/** The flag of a class that is a singleton class (RUBY_FL_USER1, since 3.4). */
	RUBY_CLASS_IS_SINGLETON = 1 << 13,
	/** Flags of the runtime's own objects (internal/imemo.h): T_IMEMO, and enum imemo_type above that. */
	RUBY_IMEMO_MASK = 0xf01f,
	RUBY_IMEMO_SPECIAL_VARIABLES = 2 << 12 | 0x1a,
	RUBY_IMEMO_METHOD = 6 << 12 | 0x1a,
	RUBY_IMEMO_SEQUENCE = 7 << 12 | 0x1a,
	/** The kinds of sequences, in the low half of a body's first word (enum rb_iseq_type). */
	RUBY_SEQUENCE_RESCUE = 4,
	RUBY_SEQUENCE_ENSURE = 5,
};

/** Flags of an environment (vm_core.h, VM_FRAME_MAGIC_..., VM_FRAME_FLAG_...), the same since 2.5. */
enum {
	RUBY_FRAME_FINISH = 0x20,
	RUBY_FRAME_KIND_MASK = 0x7fff0001,
	RUBY_FRAME_KIND_C = 0x55550001,
	/** The environment is that of a method, and of no block in one. */
	RUBY_ENVIRONMENT_LOCAL = 2,
};

/**
 * The low bits of the garbage collector's flags (enum gc_mode), and the bits that say that it is at work, and that it
 * compacts while it sweeps (of which 3.1 has no mode).
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

/** ELF virtual addresses [start, end). */
struct ruby_code_range {
	__u32 start;
	__u32 end;
};

/** Offsets are in bytes from the beginning of their struct; those of a body lie within RUBY_BODY_WORDS. */
struct ruby_process {
	/** How the execution context of a thread is found, if context_pointer is 0. */
	struct thread_local_path context;
	/** Where all threads have one pointer to an execution context, that of the one that has the lock: its address. */
	__u64 context_pointer;
	/** An address in the process minus this is an ELF virtual address of the runtime. */
	__u64 bias;
	/** Where the process has the pointer to its rb_vm_t; 0: not known, and nothing is said of the garbage collector. */
	__u64 vm_pointer;

	/** The function that executes instructions, which vm_exec() calls. */
	struct ruby_code_range core;
	/**
	 * Where the last control frame may have been popped: in the function that executes instructions behind the
	 * store that pops it, and in vm_exec() from where that has returned to before the tag is taken away, on the ways
	 * on which the tag has no state. {0, 0} where there are no more.
	 */
	struct ruby_code_range returning[RUBY_RETURNING_MAX];
	/** The functions that call vm_exec(), and what pushes a control frame before they do. */
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
	 * In a class: whose singleton class it is, its path. 0 where names have no classes; where they have some, a rescue
	 * or ensure has the place of the frame that it belongs to.
	 */
	__u16 class_attached;
	__u16 class_path;
	/** In the rb_vm_t: the garbage collector, the ractor that has its lock. In the garbage collector: its flags. */
	__u16 vm_collector;
	__u16 vm_lock_owner;
	__u16 collector_flags;
	/** In an execution context its thread, in that its ractor, in that the execution context that may run. */
	__u16 context_thread;
	__u16 thread_ractor;
	__u16 ractor_context;
	/**
	 * In an execution context: its fiber, where its native stack begins (the highest address), how large that is. In a
	 * fiber: its execution context, the fiber that has resumed it, where its stack pointer is saved, which points to six
	 * registers and a return address. fiber_stack_pointer 0: where a fiber's stack begins it ends.
	 */
	__u16 context_fiber;
	__u16 context_stack_start;
	__u16 context_stack_bytes;
	__u16 fiber_context;
	__u16 fiber_resumer;
	__u16 fiber_stack_pointer;
	/** In a thread: its pthread_t, which is its thread pointer in all C libraries. For context_pointer. */
	__u16 thread_native;
	/** In a body, words: iseq_encoded, param.flags, param.opt_num (the second half of its word), param.opt_table. */
	__u8 body_instructions;
	__u8 body_flags;
	__u8 body_optional_count;
	__u8 body_optional_table;
	/** The words of a body that the fingerprint is made of; those of the label and the path among them. */
	__u8 body_words[RUBY_CHOSEN_WORDS];
	__u8 body_label;
	__u8 body_path;
	__u8 reserved[13];
};

_Static_assert(sizeof(struct ruby_process) == 432, "struct ruby_process is 27 cells");

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
