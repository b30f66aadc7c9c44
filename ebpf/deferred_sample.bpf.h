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
	/* A chunk begins at a multiple of its size, so it is in one page. */
	STACK_CHUNK_BYTES = 128,
	STACK_CHUNKS_MAX = DEFERRED_STACK_MAX_BYTES / STACK_CHUNK_BYTES,
	/* Bytes behind the end of a stack that are copied too. */
	BEHIND_STACK_BYTES = 256,
};

/** Adds the registers to the record, which has the frames so far already. */
static __always_inline void begin_deferred_sample(struct unwind_state *state)
{
	for (int i = 0; i < REGISTER_COUNT_MAX; i++)
		state->first.registers[i] = i < REGISTER_COUNT ? state->registers[i] : 0;
	state->first.stack_bytes = 0;
	state->first.below_bytes = 0;
	state->first.missing_pages = 0;
	state->first.reserved = 0;
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
	       (state->error == UNWIND_NO_MAPPING ||
		state->record.word_count >= RESUMED_FRAME_WORDS) &&
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

/*
 * Limit of the copy from @start on, at most @max_bytes. A main thread's stack ends where the kernel put the arguments. Other
 * threads' stacks end below their thread pointers in most C libraries. On another stack that distance is negative or large.
 */
static __always_inline __u32 stack_copy_limit(__u64 start, __u32 max_bytes)
{
	struct task_struct *task = current_task();
	__u64 end = TASK_READ(task, pid) == TASK_READ(task, tgid) ?
			    BPF_CORE_READ(task, mm, start_stack) :
			    read_thread_pointer();
	__u64 bytes = end - start;

	return bytes < max_bytes - BEHIND_STACK_BYTES ? bytes + BEHIND_STACK_BYTES : max_bytes;
}

static __always_inline void begin_stack_copy(struct unwind_state *state, __u32 max_bytes)
{
	__u64 start = (state->sp - DEFERRED_BELOW_BYTES) & ~(STACK_CHUNK_BYTES - 1ULL);

	state->first.below_bytes = state->sp - start;
	state->copy_start = start;
	state->copied_bytes = 0;
	state->copy_bytes = stack_copy_limit(start, max_bytes);
}

/*
 * Adds the next chunk of the stack around state->sp; false if there is no more. It is read to the BPF stack first (see
 * safe_reads.bpf.h). A page that is not there is left out: large frames have pages that nobody has used yet. All counts are
 * in the state, where the verifier does not know their values; else it would follow every combination.
 */
static __always_inline bool add_stack_chunk(struct unwind_state *state)
{
	__u64 chunk[STACK_CHUNK_BYTES / 8];
	__u32 copied = state->copied_bytes;
	__u64 address = state->copy_start + copied;
	__u64 *destination = (__u64 *)state->first.stack + copied / 8;

	if (copied >= state->copy_bytes || copied > DEFERRED_STACK_MAX_BYTES - STACK_CHUNK_BYTES)
		return false;
	if (bpf_probe_read_user(chunk, sizeof(chunk), (const void *)address)) {
		__u64 page = address / DEFERRED_PAGE_BYTES;

		state->first.missing_pages |=
			1 << ((page - state->copy_start / DEFERRED_PAGE_BYTES) % 32);
		state->copied_bytes =
			copied + DEFERRED_PAGE_BYTES - (__u32)address % DEFERRED_PAGE_BYTES;
		return true;
	}
	__builtin_memcpy(destination, chunk, sizeof(chunk));
	state->copied_bytes = copied + STACK_CHUNK_BYTES;
	state->first.stack_bytes = copied + STACK_CHUNK_BYTES;
	return true;
}

static __always_inline void end_stack_copy(struct unwind_state *state)
{
	state->record_bytes =
		__builtin_offsetof(struct deferred_sample, stack) + state->first.stack_bytes;
}

#endif
