/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Offsets in the structs of each version of Ruby. They come from offsetof() in a program that was compiled with
 * vm_core.h, method.h, eval_intern.h and include/ruby/internal/core/ of each version (2.7.4, 3.1.2, 3.3.8). For 3.4
 * they come from the code and the memory of 3.4.11, in which the fields of 3.3 have the same offsets.
 */
#ifndef INTERPRETERS_RUBY_RUBY_LAYOUT_H
#define INTERPRETERS_RUBY_RUBY_LAYOUT_H

#include <stdint.h>

#define RUBY_VERSION(major, minor) ((major) << 8 | (minor))

/** Offsets in bytes. */
struct ruby_layout {
	uint16_t version;

	/** rb_control_frame_t */
	uint16_t frame_bytes;
	/** rb_execution_context_t: cfp, tag, thread_ptr */
	uint16_t context_frame;
	uint16_t context_tag;
	uint16_t context_thread;
	/** rb_thread_t: self; thread_id, if all threads share one pointer to an execution context; ractor */
	uint16_t thread_self;
	uint16_t thread_native;
	uint16_t thread_ractor;
	/** rb_ractor_t: threads.running_ec; rb_vm_t: ractor.sync.lock_owner */
	uint16_t ractor_context;
	uint16_t vm_lock_owner;
	/**
	 * rb_execution_context_t: fiber_ptr, machine.stack_start, machine.stack_maxsize; rb_fiber_t: cont.saved_ec, prev,
	 * context.stack_pointer. The last two are behind a jump buffer, whose size is to be added (ruby_file.jump_buffer).
	 */
	uint16_t context_fiber;
	uint16_t context_stack_start;
	uint16_t context_stack_bytes;
	uint16_t fiber_context;
	uint16_t fiber_resumer;
	uint16_t fiber_stack_pointer;

	/** rb_iseq_t: body */
	uint16_t sequence_body;
	/** struct rb_iseq_constant_body: the first word has type and iseq_size. */
	uint16_t body_size;
	uint16_t body_instructions;
	uint16_t body_flags;
	uint16_t body_optional_count;
	uint16_t body_optional_table;
	/** location: pathobj, label, first_lineno */
	uint16_t body_path;
	uint16_t body_label;
	uint16_t body_first_line;
	/** parent_iseq, local_iseq; set for versions whose names have classes. */
	uint16_t body_parent;
	uint16_t body_local;
	/** insns_info: body, size, succ_index_table */
	uint16_t body_lines;
	uint16_t body_line_count;
	uint16_t body_line_index;
	/** struct iseq_insn_info_entry, which begins with the line. */
	uint16_t line_bytes;

	/** rb_method_entry_t: def; rb_method_definition_t: original_id */
	uint16_t method_definition;
	uint16_t definition_id;
	/** ID_SCOPE_SHIFT, tLAST_OP_ID */
	uint16_t id_shift;
	uint16_t id_last_operator;

	/**
	 * A class with its rb_classext_t: the object whose singleton class it is; the byte whose lowest bit means that
	 * the path is permanent; the path. 0 in versions whose names have no classes.
	 */
	uint16_t class_attached;
	uint16_t class_permanent;
	uint16_t class_path;

	/** struct RString: length, pointer, and the bytes of an embedded string. */
	uint16_t string_length;
	uint16_t string_pointer;
	uint16_t string_embedded;
	/** The length of an embedded string is in its flags. */
	uint16_t string_length_in_flags;
};

/** The layout of a version, RUBY_VERSION(); NULL if it is unknown. */
const struct ruby_layout *ruby_layout_of(uint16_t version);

#endif
