/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * The deferred sample (abi/sample.h): its record contains the registers and the top of the stack, so
 * that user space can unwind it. It is used for processes that have no entry yet.
 */
#ifndef EBPF_DEFERRED_SAMPLE_BPF_H
#define EBPF_DEFERRED_SAMPLE_BPF_H

#include "ebpf/maps.bpf.h"
#include "ebpf/safe_reads.bpf.h"
#include "ebpf/state.bpf.h"
#include "ebpf/task.bpf.h"

enum {
	STACK_CHUNK_BYTES = 256,
	STACK_CHUNK_MIN_BYTES = 8,
	/* Attempts with smaller and smaller parts of a chunk. */
	STACK_RETRIES_MAX = 10,
	/* Bytes behind the end of a stack that are copied: the first frame may read there. */
	BEHIND_STACK_BYTES = STACK_CHUNK_BYTES,
};

/** Adds the registers to the record, which has the frames so far already. */
static __always_inline void begin_deferred_sample(struct unwind_state *state)
{
	for (int i = 0; i < REGISTER_COUNT_MAX; i++)
		state->first.registers[i] = i < REGISTER_COUNT ? state->registers[i] : 0;
	state->first.stack_bytes = 0;
	state->first.below_bytes = 0;
	state->first.unknown = 0;
	state->first.frame_flags = state->frame_flags;
	state->record_bytes = __builtin_offsetof(struct deferred_sample, stack);
}

/**
 * True if the unwind stopped because of data that user space will have soon, and can be continued from there. With
 * runtimes it cannot, since interpreted frames are not in the stack alone.
 */
static __always_inline bool may_be_resumed(const struct unwind_state *state)
{
	return state->record.type == RECORD_TRACE &&
	       (state->error == UNWIND_NOT_LOADED || state->error == UNWIND_NO_MAPPING) &&
	       state->sp_known && !state->runtime_cell &&
	       state->record.word_count >= RESUMED_FRAME_WORDS &&
	       state->record.word_count <= DEFERRED_MAX_WORDS - RESUMED_FRAME_WORDS &&
	       !(state->record.flags & RECORD_PARENT_ENTRY);
}

/** Loads this frame's rbx into the registers from its saved location; false if that is not known. */
static __always_inline bool fetch_rbx(struct unwind_state *state)
{
	__u64 value;

	if (state->rbx_location == RBX_IN_REGISTER)
		return true;
	if (RBX_REGISTER >= REGISTER_COUNT || state->rbx_location == RBX_NOWHERE ||
	    read_word(state->rbx_location, &value))
		return false;
	state->registers[RBX_REGISTER % REGISTER_COUNT] = value;
	return true;
}

/** Turns the trace into a deferred sample that continues where the unwind stopped. */
static __always_inline void begin_resumed_sample(struct unwind_state *state)
{
	__u8 unknown = state->registers_known ? 0 : DEFERRED_UNKNOWN_REGISTERS;

	/* The frame without rows was added already; its words stay behind those that are counted. */
	if (state->error == UNWIND_NOT_LOADED)
		state->record.word_count -= RESUMED_FRAME_WORDS;
	if (state->error == UNWIND_NO_MAPPING)
		unknown |= DEFERRED_UNKNOWN_MAPPING;
	if (!state->fp_known)
		unknown |= DEFERRED_UNKNOWN_FP;
	if (!state->registers_known && !fetch_rbx(state))
		unknown |= DEFERRED_UNKNOWN_RBX;
	state->registers[PC_REGISTER] = state->pc;
	state->registers[SP_REGISTER] = state->sp;
	state->registers[FP_REGISTER] = state->fp;
	begin_deferred_sample(state);
	state->first.unknown = unknown;
	state->record.type = RECORD_DEFERRED;
	state->record.flags |= RECORD_RESUMED;
	count(COUNTER_RESUMED);
}

/** Adds the part of the stack just below state->sp; false if it cannot be read. */
static __always_inline bool add_stack_below(struct unwind_state *state)
{
	__u64 below[DEFERRED_BELOW_BYTES / 8];

	if (bpf_probe_read_user(below, sizeof(below), (const void *)(state->sp - sizeof(below))))
		return false;
	__builtin_memcpy(state->first.stack, below, sizeof(below));
	state->first.below_bytes = sizeof(below);
	state->first.stack_bytes = sizeof(below);
	return true;
}

/*
 * Sets state->copy_bytes to the size of the stack from @start on, if that is known and below @max_bytes. The stack of a main
 * thread ends where the kernel put its arguments. That of another thread ends below its thread pointer in most C libraries;
 * Go has that pointer elsewhere, so no less than DEFERRED_CHAIN_STACK_BYTES is copied because of it.
 */
static __always_inline void find_copy_bytes(struct unwind_state *state, __u64 start,
					    __u32 max_bytes)
{
	struct task_struct *task = current_task();
	bool is_main = TASK_READ(task, pid) == TASK_READ(task, tgid);
	__u64 end = is_main ? BPF_CORE_READ(task, mm, start_stack) : read_thread_pointer();
	__u64 bytes = end - start + BEHIND_STACK_BYTES;

	state->has_stack_end = bytes < max_bytes && (is_main || bytes > DEFERRED_CHAIN_STACK_BYTES);
	state->copy_bytes = max_bytes;
	if (state->has_stack_end)
		state->copy_bytes = bytes;
	else if (bytes <= DEFERRED_CHAIN_STACK_BYTES)
		state->copy_bytes = DEFERRED_CHAIN_STACK_BYTES;
}

static __always_inline void begin_stack_copy(struct unwind_state *state, __u32 max_bytes)
{
	bool has_below = add_stack_below(state);
	__u64 start = has_below ? state->sp - DEFERRED_BELOW_BYTES : state->sp;

	find_copy_bytes(state, start, max_bytes);
	state->chunk_bytes = STACK_CHUNK_BYTES;
	/* Chunks of a stack with holes begin at multiples of their size, so that each is in one page. */
	if (state->has_stack_end)
		state->chunk_bytes -= (start + state->first.stack_bytes) & (STACK_CHUNK_BYTES - 1) &
				      ~7ULL;
}

/*
 * Adds the next chunk of the stack around state->sp; false if there is no more. It is read to the BPF stack first (see
 * safe_reads.bpf.h). A part of a stack may never have been used, as in a large frame, and cannot be read; it is left out,
 * as STACK_HOLE, if the stack's end is known to be behind it. Else less is read once a read fails. All counts are in the
 * state, where the verifier does not know their values; else it would follow every combination.
 */
static __always_inline bool add_stack_chunk(struct unwind_state *state)
{
	__u64 chunk[STACK_CHUNK_BYTES / 8];
	__u32 copied = state->first.stack_bytes, chunk_bytes = state->chunk_bytes;
	__u64 start = state->sp - state->first.below_bytes;
	__u64 *destination = (__u64 *)state->first.stack + copied / 8;

	if (copied >= state->copy_bytes || copied > DEFERRED_STACK_MAX_BYTES - STACK_CHUNK_BYTES)
		return false;
	if (chunk_bytes < STACK_CHUNK_MIN_BYTES || chunk_bytes > STACK_CHUNK_BYTES)
		return false;
	if (bpf_probe_read_user(chunk, chunk_bytes, (const void *)(start + copied))) {
		if (!state->has_stack_end) {
			state->chunk_bytes = chunk_bytes / 2;
			return true;
		}
		for (int i = 0; i < STACK_CHUNK_BYTES / 8; i++)
			chunk[i] = STACK_HOLE;
	}
	if (state->has_stack_end)
		state->chunk_bytes = STACK_CHUNK_BYTES;
	/* The part that was not read is overwritten by the next chunk, or cut off. */
	__builtin_memcpy(destination, chunk, sizeof(chunk));
	state->first.stack_bytes = copied + chunk_bytes;
	return true;
}

static __always_inline void end_stack_copy(struct unwind_state *state)
{
	state->record_bytes =
		__builtin_offsetof(struct deferred_sample, stack) + state->first.stack_bytes;
}

#endif
