/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * What the kernel side knows of Ruby (MRI) in a process: struct ruby_process, filled by attach in interpreters/ruby and
 * published as abi/runtime.h says. Nothing here names a version: what differs between them are offsets.
 *
 * A thread's execution context has a stack of control frames, the innermost at the lowest address. vm_exec(), the held
 * native frame, runs those up to the first one whose environment has RUBY_FRAME_FINISH.
 *
 * A frame, two words (abi/frame.h):
 *
 *	word 0	frame_word(FRAME_RUBY, 0, address of the instruction sequence (rb_iseq_t), or of the method entry)
 *	word 1	position << 32 | fingerprint
 *
 * position: words from the beginning of the sequence's instructions to where the frame's pc points, which is behind the
 * instruction that is executed; RUBY_METHOD_ENTRY for a method in C, whose frame has a method entry in place of a
 * sequence.
 *
 * fingerprint: fingerprint_end() of what was mixed, or 0: the object could not be read. Of an instruction sequence it is the
 * address of its body, the chosen words of that, the words of the label, of the path, and where the path is an Array of
 * what it begins with; of a method entry 0 and its words. A body lasts as long as its sequence has not been swept by the
 * collector; its label and path may have been before.
 */
#ifndef EBPF_ABI_RUBY_H
#define EBPF_ABI_RUBY_H

#include <linux/types.h>

#include "ebpf/abi/fingerprint.h"
#include "ebpf/abi/runtime.h"

#define RUBY_METHOD_ENTRY 0xffffffffU

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
	/** The kinds of objects, in their flags (RUBY_T_MASK, RUBY_T_ARRAY). */
	RUBY_TYPE_MASK = 0x1f,
	RUBY_TYPE_ARRAY = 7,
};

/** Flags of an environment (vm_core.h, VM_FRAME_MAGIC_..., VM_FRAME_FLAG_...), the same since 2.5. */
enum {
	RUBY_FRAME_FINISH = 0x20,
	RUBY_FRAME_KIND_MASK = 0x7fff0001,
	RUBY_FRAME_KIND_C = 0x55550001,
};

/** ELF virtual addresses [start, end). */
struct ruby_code_range {
	__u32 start;
	__u32 end;
};

/** Offsets are in bytes from the beginning of their struct; those of a body lie within RUBY_BODY_WORDS. */
struct ruby_process {
	/** How the execution context of a thread is found. */
	struct thread_local_path context;
	/** An address in the process minus this is an ELF virtual address of the runtime. */
	__u64 bias;

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
	/** In a body, words: iseq_encoded, param.flags, param.opt_num (the second half of its word), param.opt_table. */
	__u8 body_instructions;
	__u8 body_flags;
	__u8 body_optional_count;
	__u8 body_optional_table;
	/** The words of a body that the fingerprint is made of; those of the label and the path among them. */
	__u8 body_words[RUBY_CHOSEN_WORDS];
	__u8 body_label;
	__u8 body_path;
	__u8 reserved[11];
};

_Static_assert(sizeof(struct ruby_process) == 384, "struct ruby_process is 24 cells");

#endif
