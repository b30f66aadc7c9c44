/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * ruby_step(): adds the frames of Ruby's methods and blocks that the pending vm_exec() runs (languages.bpf.h), one in each
 * call, and at last that native frame. C methods have control frames as well, which are among those of the loop that called
 * them; their native frames come before.
 *
 * A control frame with FINISH is pushed by the caller of vm_exec() and popped before vm_exec() returns. So the innermost
 * native frame may have no control frames yet or any more, and must not take its caller's. These things decide
 * (ruby_first_group()):
 *
 *	tag		vm_exec() lists a tag that is in its native frame, while it executes instructions
 *	not begun	the pc of the innermost control frame is an entry of its sequence, and the leaf is in a function that
 *			calls vm_exec(), or in a callee of one
 *	register	in the function that executes instructions, the control frame that it executes
 *	returning	addresses at which the last control frame may have been popped
 *
 * A fiber has an execution context, control frames and a native stack of its own. Where that stack begins, the unwind goes on with
 * those of the fiber that has resumed it (ruby_leave_stack()).
 *
 * Code that YJIT generates is called by the loop, and runs methods whose control frames are among those of the loop. Its native
 * frame is not added (ruby_leave_code()).
 *
 * No pointer of the process is trusted: each control frame must be above the one before it and below the end of the
 * thread's stack, and memory that cannot be read ends the frames with an error frame.
 */
#ifndef EBPF_RUBY_STEP_BPF_H
#define EBPF_RUBY_STEP_BPF_H

#include "ebpf/abi/ruby.h"
#include "ebpf/languages.bpf.h"
#include "ebpf/native_step.bpf.h"
#include "ebpf/safe_reads.bpf.h"
#include "ebpf/state.bpf.h"
#include "ebpf/tables.bpf.h"

enum {
	/* Includes native steps. */
	RUBY_STEPS_MAX = 2 * USER_FRAMES_MAX,
	RUBY_PROCESS_CELLS = sizeof(struct ruby_process) / CELL_BYTES,
	/* In a control frame, the same in all versions: pc, sp, iseq, self, ep. */
	RUBY_FRAME_SEQUENCE = 16,
	RUBY_FRAME_ENVIRONMENT = 32,
	/* In an execution context: vm_stack, vm_stack_size. */
	RUBY_CONTEXT_STACK = 0,
	/* Limit of a stack's size; rb_thread_vm_stack_size is 1 MB. */
	RUBY_STACK_MAX_WORDS = 1 << 27,
	/* Limit of the entries of a sequence that are checked. */
	RUBY_ENTRIES_MAX = 8,
	RUBY_HAS_OPTIONAL = 2,
	/* DWARF number of the register in which vm_exec.c has the control frame: r15, x20. */
	RUBY_FRAME_REGISTER = (int)REGISTER_COUNT == (int)REGISTER_COUNT_X86 ? 15 : 20,
	RUBY_WORDS = RUBY_BODY_WORDS + 4,
	/* Limit of nested blocks. */
	RUBY_OUTER_MAX = 64,
	/* Registers that coroutine_transfer() leaves on a stack: r15, r14, r13, r12, rbx, rbp (coroutine/amd64/Context.S). */
	RUBY_SAVED_RBX = 32,
	RUBY_SAVED_RBP = 40,
	RUBY_SAVED_BYTES = 48,
	/* Distance from YJIT's frame pointer down to the saved rbx (yjit/src/codegen.rs, gen_entry_prologue()). */
	RUBY_CODE_SAVED_RBX = 24,
	/* Limit of the code that returns to the loop (gen_leave_exit()): 10 bytes, more if YJIT counts. */
	RUBY_LEAVE_MAX_BYTES = 32,
	RUBY_POSITION_MASK = RUBY_IS_APPROXIMATE - 1,
	/* Offset of the method entry in the object with special variables, which an environment may have instead of one. */
	RUBY_SPECIAL_VARIABLES_METHOD = 8,
};

_Static_assert(!(RUBY_WORDS & (RUBY_WORDS - 1)), "an index into the words is a mask");

/** The control frames that belong to the first vm_exec() of an unwind. */
enum ruby_group {
	/** The innermost ones, up to one with FINISH. */
	RUBY_GROUP_OWN,
	/** As RUBY_GROUP_OWN, but the innermost one has not begun: a function that vm_exec() called will enter it. */
	RUBY_GROUP_BEHIND_PENDING,
	/** No control frame: it has popped its own. */
	RUBY_GROUP_NONE,
};

static __always_inline __u64 ruby_word(const struct ruby_unwind *unwind, __u32 index)
{
	return unwind->words[index % RUBY_WORDS];
}

/* Reads the environment whose last word is at @address. */
static __always_inline bool ruby_read_environment(__u64 address,
						  struct ruby_environment *environment)
{
	struct ruby_environment words;

	if (bpf_probe_read_user(&words, sizeof(words), (const void *)(address - 16)))
		return false;
	*environment = words;
	return true;
}

/* Reads the control frame at unwind->next. */
static __always_inline bool ruby_read_frame(struct ruby_unwind *unwind)
{
	struct ruby_frame *frame = &unwind->frame;
	__u64 address = unwind->next, environment = 0;

	return address % 8 == 0 && address < unwind->end &&
	       !window_read_up(&unwind->frames, address, &frame->pc) &&
	       !window_read_up(&unwind->frames, address + RUBY_FRAME_SEQUENCE, &frame->sequence) &&
	       !window_read_up(&unwind->frames, address + RUBY_FRAME_ENVIRONMENT, &environment) &&
	       ruby_read_environment(environment, &frame->environment);
}

static __always_inline bool ruby_is_sequence(const struct ruby_frame *frame)
{
	/* Generated code pushes control frames without a pc. */
	return frame->sequence && (frame->pc || !(frame->environment.flags & RUBY_FRAME_IS_C));
}

/* Reads the body of the sequence into unwind->words and returns its address; 0 if it cannot be read. */
static __always_inline __u64 ruby_read_body(struct ruby_unwind *unwind, __u64 sequence)
{
	__u64 words[RUBY_BODY_WORDS / 2], body = 0;

	if (read_word(sequence + unwind->process.sequence_body, &body) ||
	    bpf_probe_read_user(words, sizeof(words), (const void *)body))
		return 0;
	__builtin_memcpy(unwind->words, words, sizeof(words));
	/* It is read in halves, since the BPF stack is small. */
	if (bpf_probe_read_user(words, sizeof(words), (const void *)(body + sizeof(words))))
		return 0;
	__builtin_memcpy(unwind->words + RUBY_BODY_WORDS / 2, words, sizeof(words));
	return body;
}

/* Mixes in the words of the String or Array at @address. *@first is the first of them. */
static __always_inline bool ruby_mix_text(__u64 address, __u64 *first, __u64 *sum)
{
	__u64 words[RUBY_TEXT_WORDS];

	if (bpf_probe_read_user(words, sizeof(words), (const void *)(address + RUBY_TEXT_OFFSET)))
		return false;
	for (int i = 0; i < RUBY_TEXT_WORDS; i++)
		*sum = fingerprint_mix(*sum, words[i]);
	*first = words[0];
	return true;
}

/* Mixes in a path; if it is an embedded Array also its first element, a String. */
static __always_inline bool ruby_mix_path(__u64 address, __u64 *sum)
{
	__u64 flags = 0, first = 0;

	if (read_word(address, &flags) || !ruby_mix_text(address, &first, sum))
		return false;
	return (flags & RUBY_TYPE_MASK) != RUBY_TYPE_ARRAY || ruby_mix_text(first, &first, sum);
}

static __always_inline void ruby_read_sequence(struct ruby_unwind *unwind,
					       struct ruby_known_object *known)
{
	const struct ruby_process *process = &unwind->process;
	__u64 body = ruby_read_body(unwind, known->address), sum = body, first;

	if (!body)
		return;
	for (int i = 0; i < RUBY_CHOSEN_WORDS; i++)
		sum = fingerprint_mix(sum, ruby_word(unwind, process->body_words[i]));
	known->kind = (__u32)ruby_word(unwind, 0);
	known->instructions = ruby_word(unwind, process->body_instructions);
	if (ruby_mix_text(ruby_word(unwind, process->body_label), &first, &sum) &&
	    ruby_mix_path(ruby_word(unwind, process->body_path), &sum))
		known->fingerprint = fingerprint_end(sum);
}

/*
 * Mixes in the name of the class, or of the class whose singleton class it is: the address of its path, which it may not have,
 * and the path's words.
 */
static __always_inline bool ruby_mix_class(const struct ruby_process *process, __u64 class,
					   __u64 *sum)
{
	__u64 flags = 0, path = 0, first;

	if (read_word(class, &flags))
		return false;
	if (ruby_is_singleton(flags) &&
	    (read_word(class + process->class_attached, &class) || read_word(class, &flags)))
		return false;
	*sum = fingerprint_mix(*sum, class);
	if (!ruby_is_class(flags))
		return true;
	if (read_word(class + process->class_path, &path))
		return false;
	*sum = fingerprint_mix(*sum, path);
	return path <= RUBY_NIL || ruby_mix_text(path, &first, sum);
}

static __always_inline void ruby_read_method(const struct ruby_process *process,
					     struct ruby_known_object *known)
{
	__u64 words[1 + RUBY_METHOD_WORDS], sum = 0;

	if (bpf_probe_read_user(words, sizeof(words), (const void *)known->address) ||
	    (words[0] & RUBY_IMEMO_MASK) != RUBY_IMEMO_METHOD)
		return;
	for (int i = 1; i <= RUBY_METHOD_WORDS; i++)
		sum = fingerprint_mix(sum, words[i]);
	if (!process->class_path || ruby_mix_class(process, words[RUBY_METHOD_WORDS], &sum))
		known->fingerprint = fingerprint_end(sum);
}

/*
 * Returns the cached data of a sequence or of a method entry; it has no fingerprint if it is neither. It is cached during a
 * unwind, since stacks repeat methods.
 */
static __always_inline struct ruby_known_object *ruby_known(struct ruby_unwind *unwind,
							    __u64 address, bool is_sequence)
{
	__u32 index = (__u32)(address >> 3 ^ address >> 9) % RUBY_KNOWN_OBJECTS;
	struct ruby_known_object *known = &unwind->known[index];

	if (known->address != address) {
		known->address = address;
		known->fingerprint = 0;
		known->instructions = 0;
		known->kind = 0;
		if (is_sequence)
			ruby_read_sequence(unwind, known);
		else
			ruby_read_method(&unwind->process, known);
	}
	return known;
}

/* True if the frame that was read has not begun: optional arguments give a sequence several entries. */
static __always_inline bool ruby_is_pending(struct ruby_unwind *unwind)
{
	const struct ruby_process *process = &unwind->process;
	__u64 position, entry, is_entry = 0;
	__u32 count;

	if (!ruby_is_sequence(&unwind->frame) || !ruby_read_body(unwind, unwind->frame.sequence))
		return false;
	position = (unwind->frame.pc - ruby_word(unwind, process->body_instructions)) / 8;
	if (!position)
		return true;
	if (!(ruby_word(unwind, process->body_flags) & RUBY_HAS_OPTIONAL))
		return false;
	/* The first entry is that without optional arguments. They are read one by one, since the BPF stack is small. */
	count = (ruby_word(unwind, process->body_optional_count) >> 32) + 1;
	for (__u32 i = 0; i < RUBY_ENTRIES_MAX && i < count; i++)
		is_entry |= !read_word(ruby_word(unwind, process->body_optional_table) + 8 * i,
				       &entry) &&
			    entry == position;
	return is_entry;
}

/* Returns the execution context of this thread. 0: it has none, or is not the thread that uses the shared one. */
static __always_inline __u64 ruby_context(const struct unwind_state *state)
{
	const struct ruby_process *process = &state->ruby.process;
	__u64 context = 0, thread = 0, native = 0;

	if (!process->context_pointer)
		return follow_thread_path(state->thread_pointer, &process->context);
	if (read_word(process->context_pointer, &context) ||
	    read_word(context + process->context_thread, &thread) ||
	    read_word(thread + process->thread_native, &native) || native != state->thread_pointer)
		return 0;
	return context;
}

/* Loads the beginning of an execution context's control frames, and the range of its native stack, which @sp is on. */
static __always_inline bool ruby_load_context(struct ruby_unwind *unwind, __u64 context, __u64 sp)
{
	const struct ruby_process *process = &unwind->process;
	__u64 stack = 0, words = 0, start = 0, bytes = 0;

	if (read_word_pair(context + RUBY_CONTEXT_STACK, &stack, &words) ||
	    read_word(context + process->context_frame, &unwind->next) ||
	    read_word(context + process->context_tag, &unwind->tag) ||
	    words > RUBY_STACK_MAX_WORDS || unwind->next < stack ||
	    read_word(context + process->context_stack_start, &start) ||
	    read_word(context + process->context_stack_bytes, &bytes))
		return false;
	unwind->end = stack + 8 * words;
	unwind->context = context;
	unwind->is_hidden = 0;
	unwind->outer_count = 0;
	window_clear(&unwind->frames);
	/* During a switch of stacks the context is still that of the other stack. */
	return sp <= start && start - sp <= bytes;
}

/* Loads the data of the process, and the beginning of this thread's control frames. */
static __always_inline enum unwind_error ruby_begin(struct unwind_state *state)
{
	struct ruby_unwind *unwind = &state->ruby;
	__u64 context;

	unwind->cell = state->language_cell;
	unwind->is_lost = 1;
	unwind->is_first = 1;
	unwind->in_frames = 0;
	for (int i = 0; i < RUBY_KNOWN_OBJECTS; i++)
		unwind->known[i].address = 0;
	if (!read_cells(&unwind->process, state->language_cell, RUBY_PROCESS_CELLS))
		return UNWIND_INTERPRETER_THREAD;
	context = ruby_context(state);
	/* A thread that waits for the lock has no frames to miss. */
	if (!context && unwind->process.context_pointer)
		return UNWIND_OK;
	if (!context || !ruby_load_context(unwind, context, state->pending_sp))
		return UNWIND_INTERPRETER_THREAD;
	if (unwind->process.fiber_stack_pointer)
		state->stack_language = FRAME_RUBY;
	unwind->is_lost = 0;
	return UNWIND_OK;
}

static __always_inline enum unwind_error ruby_leave(struct unwind_state *state)
{
	state->ruby.in_frames = 0;
	/* The count of words is read again, since the verifier loses the bound of a value that was just set. */
	barrier();
	return release_frame(state);
}

static __always_inline enum unwind_error ruby_lose(struct unwind_state *state,
						   enum unwind_error missing)
{
	enum unwind_error error = push_interpreter_error(state, missing);

	state->ruby.is_lost = 1;
	return error ? error : ruby_leave(state);
}

static __always_inline bool ruby_is_in(const struct ruby_code_range *range, __u64 address)
{
	return address - range->start < (__u64)(range->end - range->start);
}

static __always_inline bool ruby_is_in_one(const struct ruby_code_range *ranges, int count,
					   __u64 address)
{
	for (int i = 0; i < count; i++) {
		if (!ranges[i].end)
			return false;
		if (ruby_is_in(&ranges[i], address))
			return true;
	}
	return false;
}

/* True if no exception passes through the innermost tag at the moment. */
static __always_inline bool ruby_is_tag_idle(const struct ruby_unwind *unwind)
{
	__u64 tag_state = 0;

	return !read_word(unwind->tag + unwind->process.tag_state, &tag_state) && !(__u32)tag_state;
}

/* True if the control frame that was popped last has FINISH; its memory is unchanged until the next push. */
static __always_inline bool ruby_had_finish(const struct ruby_unwind *unwind)
{
	__u64 popped = unwind->next - unwind->process.frame_bytes, environment = 0, flags = 0;

	return !read_word(popped + RUBY_FRAME_ENVIRONMENT, &environment) &&
	       !read_word(environment, &flags) && flags & RUBY_FRAME_FINISH;
}

/*
 * True if the loop, interrupted at @pc, has popped its last control frame: it is in the code that does so, or its register
 * still has the frame.
 */
static __always_inline bool ruby_has_popped(const struct unwind_state *state, __u64 pc,
					    bool is_core)
{
	const struct ruby_unwind *unwind = &state->ruby;
	const struct ruby_process *process = &unwind->process;
	bool is_behind = is_core && state->registers[RUBY_FRAME_REGISTER] + process->frame_bytes ==
					    unwind->next;

	return (is_behind || ruby_is_in_one(process->returning, RUBY_RETURNING_MAX, pc) ||
		(state->registers[RESULT_REGISTER] != RUBY_UNDEFINED &&
		 ruby_is_in_one(process->code_returns, RUBY_CODE_RETURNS_MAX, pc))) &&
	       ruby_is_tag_idle(unwind) && ruby_had_finish(unwind);
}

/* The jump through jit_return, the last word of the control frame below r13: jmp *-8(%r13). */
#define RUBY_LEAVE_JUMP 0xf865ff41U

/*
 * True if the leaf, in code that YJIT has generated, has popped a control frame and not yet returned: it is in the code to which
 * the frame's jit_return points, or in front of the jump there. The return value is loaded before, by an instruction of 3, 4
 * or 7 bytes (gen_leave()).
 */
static __always_inline bool ruby_is_code_leaving(const struct ruby_unwind *unwind)
{
	__u64 target = 0, low = 0, high = 0, pc = unwind->code_pc;

	if (!read_word(unwind->next - 8, &target) && pc - target < RUBY_LEAVE_MAX_BYTES)
		return true;
	if (read_word_pair(pc, &low, &high))
		return false;
	return (__u32)low == RUBY_LEAVE_JUMP || (__u32)(low >> 24) == RUBY_LEAVE_JUMP ||
	       low >> 32 == RUBY_LEAVE_JUMP || (__u32)(low >> 56 | high << 8) == RUBY_LEAVE_JUMP;
}

/* Decides which control frames belong to the first vm_exec(), whose code that YJIT has generated has the leaf. */
static __always_inline enum ruby_group ruby_group_of_code(const struct ruby_unwind *unwind)
{
	return ruby_had_finish(unwind) && ruby_is_tag_idle(unwind) && ruby_is_code_leaving(unwind) ?
		       RUBY_GROUP_NONE :
		       RUBY_GROUP_OWN;
}

/* True if the leaf is in the function that executes instructions, and the pending frame has called that. */
static __always_inline bool ruby_is_in_core(const struct unwind_state *state, __u64 pc)
{
	__u32 index = state->record.word_count;
	__u64 word;

	if (index < 2 || index > TRACE_MAX_WORDS)
		return false;
	word = state->record_words[RECORD_HEADER_WORDS + index - 2];
	return frame_kind(word) == FRAME_NATIVE && !(frame_flags(word) & FRAME_RETURN_ADDRESS) &&
	       ruby_is_in(&state->ruby.process.core, pc);
}

/*
 * True if the leaf, at @pc, is in a function that calls vm_exec(), or in a callee of one: there a control frame may have been
 * pushed for a vm_exec() that is yet to be called.
 */
static __always_inline bool ruby_is_entering(const struct unwind_state *state, __u64 pc)
{
	const struct ruby_process *process = &state->ruby.process;
	__u32 index = state->record.kernel_word_count + 2;

	if (ruby_is_in_one(process->entering, RUBY_ENTERING_MAX, pc))
		return true;
	if (index + 2 > state->record.word_count || index > TRACE_MAX_WORDS - 2 ||
	    state->record_words[RECORD_HEADER_WORDS + index + 1] != state->pending_words[1])
		return false;
	return ruby_is_in_one(process->entering, RUBY_ENTERING_MAX,
			      frame_address(state->record_words[RECORD_HEADER_WORDS + index]) - 1);
}

/* Decides which control frames belong to the first vm_exec(). The innermost one has been read. */
static __always_inline enum ruby_group ruby_first_group(struct unwind_state *state)
{
	struct ruby_unwind *unwind = &state->ruby;
	__u64 pc = state->registers[PC_REGISTER] - unwind->process.bias;
	bool is_leaf = !(frame_flags(state->pending_words[0]) & FRAME_RETURN_ADDRESS);
	bool is_core = ruby_is_in_core(state, pc), is_pending;

	if (unwind->code_pc)
		return ruby_group_of_code(unwind);
	if (is_core || (is_leaf && unwind->tag < state->sp))
		return ruby_has_popped(state, pc, is_core) ? RUBY_GROUP_NONE : RUBY_GROUP_OWN;
	is_pending = ruby_is_pending(unwind);
	/* Its tag is not in the list yet, or not any more. */
	if (unwind->tag >= state->sp)
		return is_pending && unwind->frame.environment.flags & RUBY_FRAME_FINISH ?
			       RUBY_GROUP_OWN :
			       RUBY_GROUP_NONE;
	/* The first instruction of a sequence may be in a call while the pc is still that of the entry. */
	if (is_pending && ruby_is_entering(state, pc))
		return RUBY_GROUP_BEHIND_PENDING;
	return RUBY_GROUP_OWN;
}

static __always_inline __u64 ruby_mode_of(__u64 flags)
{
	__u64 mode = flags & RUBY_COLLECTOR_MODE_MASK;

	if (mode == RUBY_COLLECTOR_SWEEPS && flags & RUBY_COLLECTOR_MOVES)
		return RUBY_COLLECTOR_COMPACTS;
	return mode;
}

/*
 * Returns the garbage collector's mode if this thread runs it (enum ruby_collector_mode). The thread runs it if its ractor has
 * the lock, which exists once there are several ractors, and its execution context is the running one of the ractor. An
 * execution context that all threads share is always the running one.
 */
static __always_inline __u64 ruby_collector_mode(const struct ruby_unwind *unwind)
{
	const struct ruby_process *process = &unwind->process;
	__u64 vm = 0, collector = 0, flags = 0, thread = 0, ractor = 0, other = 0;

	if (!process->vm_pointer || read_word(process->vm_pointer, &vm) ||
	    read_word(vm + process->vm_collector, &collector) ||
	    read_word(collector + process->collector_flags, &flags) ||
	    !(flags & RUBY_COLLECTOR_AT_WORK))
		return RUBY_COLLECTOR_IDLE;
	if (process->context_pointer)
		return ruby_mode_of(flags);
	if (read_word(unwind->context + process->context_thread, &thread) ||
	    read_word(thread + process->thread_ractor, &ractor) ||
	    read_word(vm + process->vm_lock_owner, &other) || (other && other != ractor) ||
	    read_word(ractor + process->ractor_context, &other) || other != unwind->context)
		return RUBY_COLLECTOR_IDLE;
	return ruby_mode_of(flags);
}

/* Adds a frame for the garbage collector, if it works. */
static __always_inline enum unwind_error ruby_push_collector(struct unwind_state *state)
{
	__u64 mode = ruby_collector_mode(&state->ruby);

	if (mode == RUBY_COLLECTOR_IDLE)
		return UNWIND_OK;
	return push_frame(state, frame_word(FRAME_RUBY, 0, mode),
			  (__u64)RUBY_COLLECTOR << 32 | mode);
}

/* Begins with the frames of the pending frame. */
static __always_inline enum unwind_error ruby_enter(struct unwind_state *state)
{
	struct ruby_unwind *unwind = &state->ruby;
	enum unwind_error error;
	enum ruby_group group;

	if (unwind->cell != state->language_cell) {
		error = ruby_begin(state);
		if (error)
			return ruby_lose(state, error);
	}
	if (unwind->is_lost)
		return ruby_leave(state);
	unwind->in_frames = 1;
	if (!unwind->is_first)
		return UNWIND_OK;
	unwind->is_first = 0;
	if (!ruby_read_frame(unwind))
		return ruby_lose(state, UNWIND_INTERPRETER_FRAMES);
	group = ruby_first_group(state);
	error = ruby_push_collector(state);
	if (error)
		return error;
	switch (group) {
	case RUBY_GROUP_NONE:
		return ruby_leave(state);
	case RUBY_GROUP_BEHIND_PENDING:
		unwind->next += unwind->process.frame_bytes;
		return UNWIND_OK;
	default:
		return UNWIND_OK;
	}
}

static __always_inline bool ruby_is_rescue(__u64 kind)
{
	return kind == RUBY_SEQUENCE_RESCUE || kind == RUBY_SEQUENCE_ENSURE;
}

/*
 * Searches one environment for the method entry for which the sequence runs. False: it may be in the next one. NULL: there
 * is none.
 */
static __always_inline bool ruby_find_method(struct ruby_unwind *unwind,
					     const struct ruby_known_object **method)
{
	struct ruby_environment *environment = &unwind->environment;
	__u64 entry = environment->method, flags = 0, inner = 0;
	const struct ruby_known_object *known;

	*method = NULL;
	if (entry) {
		known = ruby_known(unwind, entry, false);
		if (known->fingerprint) {
			*method = known;
			return true;
		}
	}
	if (unwind->outer_count++ == RUBY_OUTER_MAX)
		return true;
	if (!(environment->flags & RUBY_ENVIRONMENT_LOCAL))
		return !ruby_read_environment(environment->outer & ~3ULL, environment);
	if (!entry || read_word(entry, &flags) ||
	    (flags & RUBY_IMEMO_MASK) != RUBY_IMEMO_SPECIAL_VARIABLES ||
	    read_word(entry + RUBY_SPECIAL_VARIABLES_METHOD, &inner))
		return true;
	environment->method = inner;
	return false;
}

/* Returns the position of the frame of a sequence that was read. */
static __always_inline __u64 ruby_position(const struct ruby_unwind *unwind,
					   const struct ruby_known_object *known)
{
	__u32 position = (unwind->frame.pc - known->instructions) / 8;

	return unwind->is_approximate ? (position & RUBY_POSITION_MASK) | RUBY_IS_APPROXIMATE :
					position;
}

/*
 * Takes a step with the frame of a sequence that was read. Where names have classes, the frame around a rescue or ensure is
 * left out, as in backtraces of the runtime since then.
 */
static __always_inline enum unwind_error ruby_push_sequence(struct unwind_state *state,
							    bool *is_done)
{
	struct ruby_unwind *unwind = &state->ruby;
	__u64 word = frame_word(FRAME_RUBY, 0, unwind->frame.sequence);
	const struct ruby_known_object *known = ruby_known(unwind, unwind->frame.sequence, true);
	__u64 position = ruby_position(unwind, known);
	__u64 fingerprint = known->fingerprint;
	bool is_hidden = unwind->is_hidden;

	if (!unwind->process.class_path)
		return push_frame(state, word, position << 32 | fingerprint);
	if (!unwind->outer_count) {
		unwind->is_hidden = ruby_is_rescue(known->kind);
		if (is_hidden)
			return UNWIND_OK;
		unwind->environment = unwind->frame.environment;
	}
	if (!ruby_find_method(unwind, &known)) {
		*is_done = false;
		return UNWIND_OK;
	}
	unwind->outer_count = 0;
	if (!known)
		return push_frame(state, word, position << 32 | fingerprint);
	if (fingerprint)
		fingerprint = fingerprint_end(fingerprint_mix(fingerprint, known->fingerprint));
	return push_owned_frame(state, word, position << 32 | fingerprint, known->address);
}

/* Adds the frame that was read if it is that of a C method, and not one of the runtime's own. */
static __always_inline enum unwind_error ruby_push_method(struct unwind_state *state)
{
	struct ruby_unwind *unwind = &state->ruby;
	const struct ruby_environment *environment = &unwind->frame.environment;
	const struct ruby_known_object *known;

	if ((environment->flags & RUBY_FRAME_KIND_MASK) != RUBY_FRAME_KIND_C)
		return UNWIND_OK;
	known = ruby_known(unwind, environment->method, false);
	return push_frame(state, frame_word(FRAME_RUBY, 0, environment->method),
			  (__u64)RUBY_METHOD_ENTRY << 32 | known->fingerprint);
}

/* Adds the frame that was read; *@is_done: it takes no further step. */
static __always_inline enum unwind_error ruby_push(struct unwind_state *state, bool *is_done)
{
	*is_done = true;
	if (ruby_is_sequence(&state->ruby.frame))
		return ruby_push_sequence(state, is_done);
	return ruby_push_method(state);
}

/* Takes a step to add the next frame. */
static __always_inline enum unwind_error ruby_add_frame(struct unwind_state *state)
{
	struct ruby_unwind *unwind = &state->ruby;
	enum unwind_error error;
	bool is_done;

	if (!unwind->outer_count) {
		if (!ruby_read_frame(unwind))
			return ruby_lose(state, UNWIND_INTERPRETER_FRAMES);
		unwind->next += unwind->process.frame_bytes;
		unwind->is_approximate = unwind->is_in_code;
		unwind->is_in_code = 0;
	}
	error = ruby_push(state, &is_done);
	if (error || !is_done)
		return error;
	return unwind->frame.environment.flags & RUBY_FRAME_FINISH ? ruby_leave(state) : UNWIND_OK;
}

/* Adds the next of the frames that are left at the beginning of a stack: C methods that no loop has called. */
static __always_inline enum unwind_error ruby_add_rest(struct unwind_state *state)
{
	struct ruby_unwind *unwind = &state->ruby;

	if (!ruby_read_frame(unwind) || ruby_is_sequence(&unwind->frame)) {
		unwind->is_lost = 1;
		return push_interpreter_error(state, UNWIND_INTERPRETER_FRAMES);
	}
	unwind->next += unwind->process.frame_bytes;
	return ruby_push_method(state);
}

/* Steps from the outermost frame of a fiber's stack to the fiber that has resumed it, if any: that waits in a C method. */
static __always_inline enum unwind_error ruby_leave_stack(struct unwind_state *state)
{
	struct ruby_unwind *unwind = &state->ruby;
	const struct ruby_process *process = &unwind->process;
	__u64 fiber = 0, resumer = 0, sp = 0, fp = 0, return_address = 0;

	if (!unwind->is_lost && unwind->next < unwind->end)
		return ruby_add_rest(state);
	state->language = FRAME_NONE;
	if (unwind->is_lost || read_word(unwind->context + process->context_fiber, &fiber) ||
	    !fiber || read_word(fiber + process->fiber_resumer, &resumer) || !resumer)
		return UNWIND_OK;
	state->at_end = 0;
	if (state->stack_switch_count++ >= STACK_SWITCHES_MAX)
		return UNWIND_NO_PROGRESS;
	if (read_word(resumer + process->fiber_stack_pointer, &sp) ||
	    read_word_pair(sp + RUBY_SAVED_RBP, &fp, &return_address) ||
	    !ruby_load_context(unwind, resumer + process->fiber_context, sp))
		return UNWIND_STACK_SWITCH;
	state->pc = code_address(return_address);
	state->sp = sp + RUBY_SAVED_BYTES + RETURN_ADDRESS_BYTES;
	state->fp = fp;
	state->fp_known = 1;
	state->sp_known = 1;
	state->rbx_location = sp + RUBY_SAVED_RBX;
	state->registers_known = 0;
	state->frame_flags = FRAME_RETURN_ADDRESS;
	return UNWIND_OK;
}

/* True if @address is a return address in vm_exec(), or in the function that executes instructions. */
static __always_inline bool ruby_is_loop_return(struct unwind_state *state, __u64 address)
{
	const struct ruby_process *process = &state->ruby.process;
	__u64 offset = address - 1 - process->bias;

	return (ruby_is_in(&process->core, offset) || ruby_is_in(&process->loop, offset)) &&
	       is_call_in_memory(state, address);
}

/* Goes on with the loop that has called the generated code, if @slot has the return address there. */
static __always_inline bool ruby_enter_caller(struct unwind_state *state, __u64 slot)
{
	__u64 address = 0;

	if (read_word(slot, &address) || !ruby_is_loop_return(state, address))
		return false;
	state->pc = address;
	state->sp = slot + RETURN_ADDRESS_BYTES;
	state->sp_known = 1;
	state->registers_known = 0;
	state->frame_flags = FRAME_RETURN_ADDRESS;
	return true;
}

/*
 * Steps out of code that YJIT has generated, if pc is in some: that code has a frame pointer, but for the first and the last
 * instructions.
 */
static __always_inline bool ruby_step_out_of_code(struct unwind_state *state)
{
	__u64 sp = state->sp, fp = state->fp, saved = 0;

	if (RETURN_ADDRESS_BYTES > 0 && !(state->frame_flags & FRAME_RETURN_ADDRESS)) {
		if (ruby_enter_caller(state, sp))
			return true;
		if (!read_word(sp, &saved) && ruby_enter_caller(state, sp + 8)) {
			state->fp = saved;
			state->fp_known = 1;
			return true;
		}
	}
	if (!state->fp_known || fp < sp || read_word(fp, &saved) ||
	    !ruby_enter_caller(state, fp + 8))
		return false;
	state->fp = saved;
	/* Otherwise it is in the register, as yet or again. */
	if (sp <= fp - RUBY_CODE_SAVED_RBX)
		state->rbx_location = fp - RUBY_CODE_SAVED_RBX;
	return true;
}

static __always_inline enum unwind_error ruby_leave_code(struct unwind_state *state)
{
	struct ruby_unwind *unwind = &state->ruby;
	bool is_innermost = unwind->cell != state->language_cell;
	__u64 leaf = state->frame_flags & FRAME_RETURN_ADDRESS ? 0 : state->pc;

	if (is_innermost && !read_cells(&unwind->process, state->language_cell, RUBY_PROCESS_CELLS))
		return UNWIND_INTERPRETER_THREAD;
	if (!ruby_step_out_of_code(state)) {
		decline_code(state);
		return UNWIND_OK;
	}
	unwind->is_in_code = is_innermost;
	unwind->code_pc = leaf;
	state->language = FRAME_NONE;
	return UNWIND_OK;
}

/** Takes one step while state->language is FRAME_RUBY. */
static __always_inline enum unwind_error ruby_step(struct unwind_state *state)
{
	struct ruby_unwind *unwind = &state->ruby;

	if (state->wait == WAIT_STACK)
		return ruby_leave_stack(state);
	if (state->wait == WAIT_CODE)
		return ruby_leave_code(state);
	if (unwind->cell != state->language_cell || !unwind->in_frames)
		return ruby_enter(state);
	return ruby_add_frame(state);
}

#endif
