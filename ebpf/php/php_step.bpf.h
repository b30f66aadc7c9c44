/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * php_step(): adds the frames of PHP's functions that the pending execute_ex() runs (languages.bpf.h), one in each call, and
 * at last that native frame. C functions have an execute_data as well, in front of those of the execute_ex() that called
 * them; their native frames come before.
 *
 * The last execute_data of an execute_ex() is pushed to the list by the caller of execute_ex(), and popped before execute_ex()
 * returns. So a loop may have no execute_data in the list, and must not take its caller's. Three things decide:
 *
 *	entering	addresses at which the innermost execute_data is that of an execute_ex() that is yet to be called, or
 *			of a generator's that has returned
 *	register	VM code has its execute_data in a register, and that one is not in the list any more
 *	left		return addresses of calls that execute_ex(), or a callee, makes after that
 *
 * A generator that delegates (yield from) is in the list as a placeholder, which leads to all generators between it and the
 * one that runs. One that delegates to an iterator has an execute_data that no execute_ex() runs.
 *
 * A fiber has a native stack of its own. Where it begins, the unwind goes on with that of what has resumed it (php_leave_stack());
 * the list goes on there by itself.
 *
 * Code that the JIT has generated runs in the frame of execute_ex(), which is shown instead (php_leave_code()).
 *
 * No pointer of the process is trusted: memory that cannot be read ends the frames with an error frame, and the number of
 * steps is limited.
 */
#ifndef EBPF_PHP_STEP_BPF_H
#define EBPF_PHP_STEP_BPF_H

#include "ebpf/abi/php.h"
#include "ebpf/jit_entry.bpf.h"
#include "ebpf/languages.bpf.h"
#include "ebpf/safe_reads.bpf.h"
#include "ebpf/state.bpf.h"
#include "ebpf/tables.bpf.h"

enum {
	/* Includes native steps. */
	PHP_STEPS_MAX = 2 * USER_FRAMES_MAX,
	PHP_PROCESS_CELLS = sizeof(struct php_process) / CELL_BYTES,
	/* Zend/zend_compile.h: flags of a call, behind the type of the object; the same since 7.4. */
	PHP_CALL_TOP = 1 << 17,
	PHP_CALL_GENERATOR = 1 << 24,
	PHP_TYPE_MASK = 0xff,
	PHP_TYPE_OBJECT = 8,
	/* An opcode; it follows the line of an instruction. */
	PHP_INCLUDE_OR_EVAL = 73,
	/* Limit of the code in a handler's label up to the end of its call: maybe an endbr64, and a direct call. */
	PHP_HANDLER_BYTES = 9,
	/*
	 * Limit of the words that generated code has pushed below the frame of execute_ex(): up to 2 in 8.0 to 8.3 (HYBRID_SPAD,
	 * zend_jit_x86.dasc), a return address, and one more. The code that leaves a trace saves all registers
	 * (zend_jit_trace_exit_stub): so many bytes in 8.0 to 8.3, and two words more from 8.4 on.
	 */
	PHP_CODE_WORDS = 4,
	PHP_EXIT_BYTES = 0x100,
	/*
	 * Zend/asm/jump_x86_64_sysv_elf_gas.S: what a context that waits has on its stack, from its saved stack pointer on: rbx, rbp, a
	 * return address; and all of it.
	 */
	PHP_SAVED_RBX = 0x30,
	PHP_SAVED_RBP = 0x38,
	PHP_SAVED_BYTES = 0x48,
	/* In an execute_data: prev_execute_data. */
	PHP_FRAME_PREVIOUS = 48,
	/* DWARF numbers of the registers in which VM code has the execute_data and the instruction: r14, r15; x27, x28. */
	PHP_FRAME_REGISTER = (int)REGISTER_COUNT == (int)REGISTER_COUNT_X86 ? 14 : 27,
	PHP_OPLINE_REGISTER = (int)REGISTER_COUNT == (int)REGISTER_COUNT_X86 ? 15 : 28,
};

/* Reads the execute_data at @address. */
static __always_inline bool php_read_frame(struct php_unwind *unwind, __u64 address)
{
	__u64 words[PHP_FRAME_WORDS];
	struct php_frame *frame = &unwind->frame;

	if (!address || bpf_probe_read_user(words, sizeof(words), (const void *)address))
		return false;
	frame->address = address;
	frame->opline = words[0];
	frame->return_value = words[2];
	frame->function = words[3];
	frame->object = words[4];
	frame->flags = words[5];
	frame->previous = words[6];
	return true;
}

/* 1 if @address is @start or above and below @end, without a branch. */
static __always_inline __u64 php_is_within(__u64 address, __u32 start, __u32 end)
{
	__u64 offset = address - start, size = (__u64)end - start;

	/* Both are far below 2^63, or the offset is far above the size. */
	return (offset - size) >> 63 & ~(offset >> 63);
}

static __always_inline bool php_is_in_one(const struct php_code_range *ranges, int count,
					  __u64 address)
{
	__u64 is_found = 0;

	for (int i = 0; i < count; i++)
		is_found |= php_is_within(address, ranges[i].start, ranges[i].end);
	return is_found;
}

/* True if the call that returns to @address is made after the last execute_data was popped. */
static __always_inline bool php_is_left(const struct php_process *process, __u64 address)
{
	__u64 is_found = 0;

	for (int i = 0; i < PHP_LEFT_MAX; i++)
		is_found |= ((process->left[i] ^ address) - 1) >> 63;
	/* Unused elements are 0. */
	return address && is_found;
}

/* Mixes in the zend_string at @string; 0: there is none. */
static __always_inline bool php_mix_text(__u64 string, __u64 *sum)
{
	__u64 words[PHP_TEXT_WORDS] = { 0 }, length = 0;
	__u32 bytes = PHP_TEXT_BYTES;

	if (!string)
		return true;
	if (read_word(string + PHP_STRING_LENGTH, &length))
		return false;
	if (length < PHP_TEXT_BYTES)
		bytes = length;
	*sum = fingerprint_mix(*sum, length);
	if (!length)
		return true;
	for (int part = 0; part < 2; part++) {
		/* The verifier knows less about another copy of the value. */
		barrier_var(bytes);
		bytes = ((bytes - 1) & (PHP_TEXT_BYTES - 1)) + 1;
		if (bpf_probe_read_user(words, bytes,
					(const void *)php_text_part(string, length, part)))
			return false;
		for (int i = 0; i < PHP_TEXT_WORDS; i++)
			*sum = fingerprint_mix(*sum, words[i]);
		if (length <= PHP_TEXT_BYTES)
			break;
	}
	return true;
}

static __always_inline bool php_mix_class(__u64 class, __u64 *sum)
{
	__u64 name = 0;

	return !class || (!read_word(class + PHP_CLASS_NAME, &name) && php_mix_text(name, sum));
}

/* Mixes in the fields that only PHP functions have. */
static __always_inline bool php_read_code(const struct php_process *process,
					  struct php_known_function *known, __u64 *sum)
{
	__u64 last = 0, opcodes = 0, file = 0, lines = 0;

	if (read_word_pair(known->address + process->code, &last, &opcodes) ||
	    read_word_pair(known->address + process->file, &file, &lines))
		return false;
	*sum = fingerprint_mix(*sum, last);
	*sum = fingerprint_mix(*sum, opcodes);
	*sum = fingerprint_mix(*sum, file);
	*sum = fingerprint_mix(*sum, lines);
	known->opcodes = opcodes;
	known->count = last >> (process->last_shift & 32);
	known->line = lines;
	if (known->file) {
		known->file = file;
		*sum = 0;
	}
	return php_mix_text(file, sum);
}

static __always_inline void php_read_function(const struct php_process *process,
					      struct php_known_function *known)
{
	__u64 words[PHP_FUNCTION_WORDS], sum = 0;

	if (bpf_probe_read_user(words, sizeof(words), (const void *)known->address))
		return;
	known->type = (__u8)words[0];
	/* Only a flag here; php_read_code() sets the name itself. */
	known->file = !words[1] && known->type != PHP_FUNCTION_INTERNAL;
	sum = fingerprint_mix(sum, known->type);
	sum = fingerprint_mix(sum, words[1]);
	sum = fingerprint_mix(sum, words[2]);
	if (known->type != PHP_FUNCTION_INTERNAL && !php_read_code(process, known, &sum))
		return;
	if (known->file || (php_mix_text(words[1], &sum) && php_mix_class(words[2], &sum)))
		known->fingerprint = fingerprint_end(sum);
}

/* Returns the function at @address, cached during an unwind, since stacks repeat functions. */
static __always_inline struct php_known_function *php_known(struct php_unwind *unwind,
							    __u64 address)
{
	__u32 index = (__u32)(address >> 3 ^ address >> 9) % PHP_KNOWN_FUNCTIONS;
	struct php_known_function *known = &unwind->known[index];

	if (known->address != address) {
		known->address = address;
		known->fingerprint = 0;
		known->opcodes = 0;
		known->count = 0;
		known->line = 0;
		known->type = 0;
		known->file = 0;
		php_read_function(&unwind->process, known);
	}
	return known;
}

/*
 * True if the execute_data that was read is that of a generator that delegates to a running iterator. It has not delegated yet
 * if the first loop runs it: then VM code has its execute_data in the register, or execute_ex() is at its end.
 */
static __always_inline bool php_is_delegating(const struct unwind_state *state)
{
	const struct php_unwind *unwind = &state->php;
	const struct php_code_range *end = &unwind->process.end;
	__u64 pc = state->registers[PC_REGISTER] - unwind->process.bias, type = 0;

	return unwind->frame.flags & PHP_CALL_GENERATOR &&
	       (unwind->frame.address != unwind->first ||
		(state->registers[PHP_FRAME_REGISTER] != unwind->first &&
		 !php_is_within(pc, end->start, end->end))) &&
	       !read_word(unwind->frame.return_value + unwind->process.generator_values, &type) &&
	       type & PHP_TYPE_MASK;
}

/* True if the execute_data that was read ends those of an execute_ex(). */
static __always_inline bool php_ends_group(const struct unwind_state *state, __u32 type)
{
	return state->php.frame.flags & PHP_CALL_TOP && type != PHP_FUNCTION_INTERNAL &&
	       !php_is_delegating(state);
}

/* Loads the data of the process, with the addresses of the thread's globals. False if the thread has none. */
static __always_inline bool php_read_process(struct unwind_state *state)
{
	struct php_process *process = &state->php.process;
	__u64 memory;

	if (!read_cells(process, state->language_cell, PHP_PROCESS_CELLS))
		return false;
	if (!process->thread.depth)
		return true;
	memory = follow_thread_path(state->thread_pointer, &process->thread);
	process->current += memory;
	process->before_exception += memory;
	return memory;
}

/* Loads the data of the process, and the beginning of the list. */
static __always_inline enum unwind_error php_begin(struct unwind_state *state)
{
	struct php_unwind *unwind = &state->php;

	unwind->cell = state->language_cell;
	unwind->is_lost = 1;
	unwind->is_first = 1;
	unwind->is_innermost = 1;
	unwind->in_frames = 0;
	unwind->generator_count = 0;
	for (int i = 0; i < PHP_KNOWN_FUNCTIONS; i++)
		unwind->known[i].address = 0;
	if (!php_read_process(state) || read_word(unwind->process.current, &unwind->next))
		return UNWIND_INTERPRETER_THREAD;
	unwind->first = unwind->next;
	unwind->fiber = 0;
	unwind->is_lost = 0;
	if (unwind->process.fibers)
		state->stack_language = FRAME_PHP;
	return UNWIND_OK;
}

static __always_inline enum unwind_error php_leave(struct unwind_state *state)
{
	state->php.in_frames = 0;
	/* The count of words is read again, since the verifier loses the bound of a value that was just set. */
	barrier();
	return release_frame(state);
}

static __always_inline enum unwind_error php_lose(struct unwind_state *state)
{
	enum unwind_error error = push_interpreter_error(state, UNWIND_INTERPRETER_FRAMES);

	state->php.is_lost = 1;
	return error ? error : php_leave(state);
}

/* Returns the first word of the native frame of the runtime's file that was added last, the pending frame's callee; 0: none. */
static __always_inline __u64 php_callee(const struct unwind_state *state)
{
	__u64 index = state->record.word_count, word;

	/* The verifier of Linux 5.10 needs the check and the access to be of one register. */
	barrier_var(index);
	if (index < 2 || index > TRACE_MAX_WORDS)
		return 0;
	word = state->record_words[RECORD_HEADER_WORDS + index - 2];
	if (frame_kind(word) != FRAME_NATIVE ||
	    state->record_words[RECORD_HEADER_WORDS + index - 1] != state->pending_words[1])
		return 0;
	return word;
}

/* True if the frame with @word is in a call that is made after the last execute_data was popped. */
static __always_inline bool php_is_left_by(const struct php_process *process, __u64 word)
{
	return frame_flags(word) & FRAME_RETURN_ADDRESS &&
	       php_is_left(process, frame_address(word));
}

/*
 * True if the pending frame has called zend_objects_store_del(), and a C function is at the front of the list. That would have its
 * own native frame here if the pending frame had an execute_data.
 */
static __always_inline bool php_is_releasing(struct unwind_state *state)
{
	struct php_unwind *unwind = &state->php;
	const struct php_code_range *releasing = &unwind->process.releasing;
	__u64 word = php_callee(state), type = 0;

	return word && php_is_within(frame_address(word), releasing->start, releasing->end) &&
	       php_read_frame(unwind, unwind->next) && !read_word(unwind->frame.function, &type) &&
	       (__u8)type == PHP_FUNCTION_INTERNAL;
}

/* True if the pending frame has no execute_data in the list any more, but is in a call. */
static __always_inline bool php_has_left(struct unwind_state *state)
{
	const struct php_process *process = &state->php.process;

	return php_is_left_by(process, state->pending_words[0]) ||
	       php_is_left_by(process, php_callee(state)) || php_is_releasing(state);
}

/* True if VM code has an execute_data in its register that has been popped from the front of the list. */
static __always_inline bool php_register_has_left(const struct unwind_state *state)
{
	__u64 frame = state->registers[PHP_FRAME_REGISTER], flags = 0, previous = 0;

	return frame != state->php.next && !read_word(frame + 40, &flags) &&
	       !read_word(frame + PHP_FRAME_PREVIOUS, &previous) && flags & PHP_CALL_TOP &&
	       previous == state->php.next;
}

/* True if the leaf or its caller is within @ranges. */
static __always_inline bool php_leaf_is_in(const struct unwind_state *state,
					   const struct php_code_range *ranges, int count)
{
	__u64 index;

	if (php_is_in_one(ranges, count, state->registers[PC_REGISTER] - state->php.process.bias))
		return true;
	index = *(const volatile __u32 *)&state->record.kernel_word_count;
	index += 2;
	/* The verifier of Linux 5.10 needs the check and the access to be of one register. */
	barrier_var(index);
	if (index + 2 > state->record.word_count || index > TRACE_MAX_WORDS - 2 ||
	    state->record_words[RECORD_HEADER_WORDS + index + 1] != state->pending_words[1])
		return false;
	return php_is_in_one(ranges, count,
			     frame_address(state->record_words[RECORD_HEADER_WORDS + index]) - 1);
}

/*
 * True if the execute_data at the front of the list belongs to no execute_ex() on the stack. It has been read, and is that of
 * a PHP function that ends a group.
 */
static __always_inline bool php_is_pending(const struct unwind_state *state)
{
	const struct php_process *process = &state->php.process;

	if (php_leaf_is_in(state, process->entering, PHP_ENTERING_MAX))
		return true;
	return state->php.frame.flags & PHP_CALL_GENERATOR &&
	       php_leaf_is_in(state, process->resumed, PHP_RESUMED_MAX);
}

/* True if the first execute_ex() of an unwind has no execute_data in the list. Skips that of one that is not on the stack. */
static __always_inline bool php_first_has_none(struct unwind_state *state)
{
	struct php_unwind *unwind = &state->php;
	const struct php_code_range *end = &unwind->process.end;
	__u64 pc = state->registers[PC_REGISTER] - unwind->process.bias, type = 0;
	bool is_read = php_read_frame(unwind, unwind->next);

	if (is_read && !read_word(unwind->frame.function, &type) &&
	    php_ends_group(state, (__u8)type) && php_is_pending(state)) {
		unwind->is_innermost = 0;
		unwind->next = unwind->frame.previous;
		return php_has_left(state);
	}
	/* A generator's execute_data stays in the list until the generator has returned to what resumed it. */
	if (php_is_within(pc, end->start, end->end))
		return !php_is_in_one(unwind->process.resumed, PHP_RESUMED_MAX,
				      state->pc - unwind->process.bias) ||
		       !is_read || !(unwind->frame.flags & PHP_CALL_GENERATOR);
	return php_has_left(state) ||
	       (php_register_has_left(state) &&
		!php_leaf_is_in(state, unwind->process.preparing, PHP_PREPARING_MAX));
}

/* Begins with the frames of the pending frame. */
static __always_inline enum unwind_error php_enter(struct unwind_state *state)
{
	struct php_unwind *unwind = &state->php;
	enum unwind_error error;

	if (unwind->cell != state->language_cell) {
		error = php_begin(state);
		if (error) {
			error = push_interpreter_error(state, error);
			return error ? error : php_leave(state);
		}
	}
	if (unwind->is_lost)
		return php_leave(state);
	/* A guess may have missed an execute_ex(), whose frames must not be taken for this one's. */
	if (state->guess_count)
		return php_lose(state);
	unwind->in_frames = 1;
	if (!unwind->is_first)
		return php_has_left(state) ? php_leave(state) : UNWIND_OK;
	unwind->is_first = 0;
	if (!php_first_has_none(state))
		return UNWIND_OK;
	unwind->first = 0;
	unwind->is_innermost = 0;
	return php_leave(state);
}

/* Returns the line of the instruction at @opline if it is in the function; else 0. */
static __always_inline __u32 php_line_at(const struct php_known_function *known, __u64 opline)
{
	__u64 offset = opline - known->opcodes, word = 0;

	if (offset % PHP_OPCODE_BYTES || offset / PHP_OPCODE_BYTES >= known->count ||
	    read_word(opline + PHP_OPCODE_LINE, &word))
		return 0;
	return (__u32)word;
}

/*
 * True if the stored instruction is the executed one: it compiles a file or a string, and the pending frame has called its
 * handler, whose label is at that call. Such an instruction is always stored.
 */
static __always_inline bool php_is_including(const struct unwind_state *state, __u64 opline)
{
	__u64 handler = 0, word = 0;

	return !read_word(opline, &handler) && !read_word(opline + PHP_OPCODE_LINE, &word) &&
	       (__u8)(word >> 32) == PHP_INCLUDE_OR_EVAL &&
	       frame_address(state->pending_words[0]) - (handler - state->php.process.bias) <=
		       PHP_HANDLER_BYTES;
}

/*
 * Returns the line of the frame that was read, and whether it is approximate. An instruction is stored in the execute_data
 * before any call that may read it; for the innermost execute_data it is in the register.
 */
static __always_inline __u32 php_position_of(struct unwind_state *state,
					     const struct php_known_function *known,
					     __u32 is_innermost)
{
	struct php_unwind *unwind = &state->php;
	/* Generated code stores an instruction before calls, and seldom has one in the register. */
	bool is_register = is_innermost && !unwind->is_in_code &&
			   state->registers[PHP_FRAME_REGISTER] == unwind->frame.address;
	bool is_called = unwind->is_in_code ||
			 frame_flags(state->pending_words[0]) & FRAME_RETURN_ADDRESS;
	__u64 thrown = 0;
	__u32 line = 0;

	if (is_register)
		line = php_line_at(known, state->registers[PHP_OPLINE_REGISTER]);
	if (line)
		return line & PHP_LINE_MASK;
	line = php_line_at(known, unwind->frame.opline);
	if (line)
		return (line & PHP_LINE_MASK) |
		       (is_innermost && (is_register || is_called) &&
					!php_is_including(state, unwind->frame.opline) ?
				PHP_IS_APPROXIMATE :
				0);
	if (!read_word(unwind->process.before_exception, &thrown))
		line = php_line_at(known, thrown);
	return line ? line & PHP_LINE_MASK : (known->line & PHP_LINE_MASK) | PHP_IS_APPROXIMATE;
}

/* Returns how the code of a file that was read was included, by the instruction that its caller executes. */
static __always_inline __u32 php_include_of(const struct php_frame *frame)
{
	__u64 opline = 0;
	__u32 words[3] = { 0 };

	if (!frame->previous || read_word(frame->previous, &opline) ||
	    bpf_probe_read_user(words, sizeof(words),
				(const void *)(opline + PHP_OPCODE_EXTENDED)) ||
	    (__u8)words[2] != PHP_INCLUDE_OR_EVAL)
		return PHP_INCLUDE_NONE;
	/* ZEND_EVAL, ZEND_INCLUDE, ...: a bit for each. */
	for (__u32 i = PHP_INCLUDE_EVAL; i < PHP_INCLUDE_COUNT; i++)
		if (words[0] >> (i - 1) & 1)
			return i;
	return PHP_INCLUDE_NONE;
}

/* Adds the frame that was read. */
static __always_inline enum unwind_error php_push(struct unwind_state *state,
						  const struct php_known_function *known)
{
	struct php_unwind *unwind = &state->php;
	__u32 position = PHP_IS_INTERNAL, is_innermost = unwind->is_innermost;
	__u64 address = known->address, code_word = 0;

	unwind->is_innermost = 0;
	if (known->type != PHP_FUNCTION_INTERNAL) {
		position = php_position_of(state, known, is_innermost);
		if (known->file) {
			position |= PHP_IS_FILE | php_include_of(&unwind->frame)
							  << PHP_INCLUDE_SHIFT;
			address = known->file;
		}
		if (is_innermost && unwind->is_in_code)
			code_word = unwind->code_word;
	}
	if (code_word)
		return push_owned_frame(state, frame_word(FRAME_PHP, 0, address),
					(__u64)position << 32 | known->fingerprint, code_word);
	return push_frame(state, frame_word(FRAME_PHP, 0, address),
			  (__u64)position << 32 | known->fingerprint);
}

/* Reads the generators between the frame that was read, if that is a placeholder, and the one that runs. */
static __always_inline bool php_take_generators(struct php_unwind *unwind)
{
	__u64 generator = unwind->frame.address - unwind->process.generator_fake, parent = 0;
	__u32 count = 0;

	if ((unwind->frame.flags & PHP_TYPE_MASK) != PHP_TYPE_OBJECT ||
	    unwind->frame.object != generator)
		return true;
	for (int i = 0; i < PHP_GENERATORS_MAX; i++) {
		if (read_word(generator + unwind->process.generator_parent, &parent))
			return false;
		if (!parent)
			break;
		unwind->generators[i] = generator;
		count = i + 1;
		generator = parent;
	}
	unwind->generator_count = count;
	return !parent;
}

/* Reads the next frame. *@is_between: it is that of a delegating generator, which does not end a group. */
static __always_inline bool php_next(struct php_unwind *unwind, bool *is_between)
{
	__u32 index = unwind->generator_count - 1;
	__u64 address = 0;

	*is_between = unwind->generator_count;
	if (!unwind->generator_count) {
		if (!php_read_frame(unwind, unwind->next))
			return false;
		unwind->next = unwind->frame.previous;
		return true;
	}
	unwind->generator_count = index;
	return !read_word(unwind->generators[index % PHP_GENERATORS_MAX] +
				  unwind->process.generator_frame,
			  &address) &&
	       php_read_frame(unwind, address) && unwind->frame.function;
}

/* Adds the next frame. */
static __always_inline enum unwind_error php_add_frame(struct unwind_state *state)
{
	struct php_unwind *unwind = &state->php;
	const struct php_known_function *known;
	enum unwind_error error;
	bool is_between;

	if (!php_next(unwind, &is_between))
		return php_lose(state);
	/* It is a placeholder, or the one that zend_call_function() pushes for a call of something else than a function. */
	if (!unwind->frame.function)
		return php_take_generators(unwind) ? UNWIND_OK : php_lose(state);
	known = php_known(unwind, unwind->frame.function);
	error = php_push(state, known);
	if (error)
		return error;
	return !is_between && php_ends_group(state, known->type) ? php_leave(state) : UNWIND_OK;
}

/* True if @sp can be the stack pointer of execute_ex(): its return address is behind a call, in a function that calls it. */
static __always_inline bool php_is_loop_sp(struct unwind_state *state, __u64 sp)
{
	const struct php_process *process = &state->php.process;
	__u64 address = 0;

	return !read_word(sp + process->frame_bytes - 8, &address) &&
	       php_is_in_one(process->preparing, PHP_PREPARING_MAX, address - 1 - process->bias) &&
	       is_call_in_memory(state, address);
}

/*
 * True if the leaf can be in generated code, which always has an execute_data in a register: that at the front of the list, or
 * while it calls or returns, the one before or behind that. So code of others is recognized, such as PCRE2's.
 */
static __always_inline bool php_has_frame_register(const struct unwind_state *state)
{
	__u64 frame = state->registers[PHP_FRAME_REGISTER], first = 0, previous = 0;

	if (!state->registers_known)
		return true;
	if (read_word(state->php.process.current, &first))
		return false;
	return frame == first ||
	       (!read_word(frame + PHP_FRAME_PREVIOUS, &previous) && previous == first) ||
	       (!read_word(first + PHP_FRAME_PREVIOUS, &previous) && previous == frame);
}

/* The stack pointer of execute_ex() if pc is in generated code, which has pushed words below it; 0: it is not found. */
static __always_inline __u64 php_loop_sp(struct unwind_state *state)
{
	for (int i = 0; i <= PHP_CODE_WORDS + 2; i++) {
		__u64 sp = state->sp + (i <= PHP_CODE_WORDS	? 8 * i :
					i == PHP_CODE_WORDS + 1 ? PHP_EXIT_BYTES :
								  PHP_EXIT_BYTES + 16);

		if (php_is_loop_sp(state, sp))
			return sp;
	}
	return 0;
}

/*
 * Returns word 2 of a frame whose generated code runs @pushed bytes below the stack pointer of execute_ex(), which is @sp. If
 * that code has called a part that all code shares, it is in that call.
 */
static __always_inline __u64 php_code_word(const struct unwind_state *state, __u64 pushed, __u64 sp)
{
	__u64 code_bytes = state->php.process.code_bytes, address = 0;

	if (pushed <= code_bytes)
		return frame_word(FRAME_NONE, state->frame_flags & FRAME_RETURN_ADDRESS, state->pc);
	if (pushed > 8 * PHP_CODE_WORDS || read_word(sp - code_bytes - 8, &address))
		return 0;
	return frame_word(FRAME_NONE, FRAME_RETURN_ADDRESS, address);
}

/*
 * Steps out of code that the JIT has generated, if pc is in some. execute_ex() jumps into it, so it has the frame of execute_ex(),
 * which is added next, at the end of that function.
 */
static __always_inline enum unwind_error php_leave_code(struct unwind_state *state)
{
	struct php_unwind *unwind = &state->php;
	bool is_innermost = unwind->cell != state->language_cell, is_read;
	__u64 sp;

	is_read = !is_innermost || php_read_process(state);
	sp = is_read && php_has_frame_register(state) ? php_loop_sp(state) : 0;
	if (!sp) {
		decline_code(state);
		return UNWIND_OK;
	}
	unwind->is_in_code = is_innermost;
	unwind->code_word = is_innermost ? php_code_word(state, sp - state->sp, sp) : 0;
	state_go_on(state, unwind->process.end.start + unwind->process.bias, sp, 0);
	state->language = FRAME_NONE;
	return UNWIND_OK;
}

/* Reads the context of the fiber on whose stack @sp is; 0: it is on none, or the main program's stack. */
static __always_inline __u64 php_fiber_at(const struct php_unwind *unwind, __u64 sp)
{
	__u64 fiber = unwind->fiber, main = 0, current = 0, stack = 0, start = 0, bytes = 0;

	if (read_word_pair(unwind->process.current + unwind->process.fibers, &main, &current))
		return 0;
	if (!fiber)
		fiber = current;
	if (!fiber || fiber == main || read_word(fiber + PHP_FIBER_STACK, &stack) ||
	    read_word_pair(stack, &start, &bytes))
		return 0;
	return sp - start <= bytes ? fiber : 0;
}

/*
 * True if the leaf changes stacks, or has begun a fiber: the function at a fiber's beginning is the leaf. The stack pointer that is
 * saved for the resumer may be an old one then.
 */
static __always_inline bool php_is_switching(const struct unwind_state *state)
{
	const struct php_code_range *switching = &state->php.process.switching;

	return state->record.word_count <= state->record.kernel_word_count + 4 ||
	       php_is_within(state->registers[PC_REGISTER] - state->php.process.bias,
			     switching->start, switching->end);
}

/* Steps from the outermost frame of a fiber's stack to what has resumed it, if any: that waits in zend_fiber_switch_context(). */
static __always_inline enum unwind_error php_leave_stack(struct unwind_state *state)
{
	struct php_unwind *unwind = &state->php;
	__u64 fiber, resumer = 0, sp = 0, fp = 0, return_address = 0;

	state->language = FRAME_NONE;
	/* No loop is on this stack: the fiber runs a function in C, or calls its first one. */
	if (!state->stack_language && php_begin(state))
		return UNWIND_OK;
	if (unwind->is_lost || !state->stack_language ||
	    (!unwind->fiber && php_is_switching(state)))
		return UNWIND_OK;
	fiber = php_fiber_at(unwind, state->sp);
	/* A fiber that is about to suspend has none any more. */
	if (!fiber || read_word(fiber + PHP_FIBER_RESUMER, &resumer) || !resumer)
		return UNWIND_OK;
	state->at_end = 0;
	if (state->stack_switch_count++ >= STACK_SWITCHES_MAX)
		return UNWIND_NO_PROGRESS;
	if (read_word(resumer, &sp) || read_word_pair(sp + PHP_SAVED_RBP, &fp, &return_address))
		return UNWIND_STACK_SWITCH;
	unwind->fiber = resumer;
	state_go_on(state, code_address(return_address), sp + PHP_SAVED_BYTES,
		    FRAME_RETURN_ADDRESS);
	state->fp = fp;
	state->fp_known = 1;
	state->rbx_location = sp + PHP_SAVED_RBX;
	return UNWIND_OK;
}

/** Takes one step while state->language is FRAME_PHP. */
static __always_inline enum unwind_error php_step(struct unwind_state *state)
{
	struct php_unwind *unwind = &state->php;

	if (state->wait == WAIT_STACK)
		return php_leave_stack(state);
	if (state->wait == WAIT_CODE)
		return php_leave_code(state);
	if (unwind->cell != state->language_cell || !unwind->in_frames)
		return php_enter(state);
	return php_add_frame(state);
}

#endif
