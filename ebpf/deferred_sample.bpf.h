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

enum {
	STACK_CHUNK_BYTES = 256,
	STACK_CHUNK_MIN_BYTES = 8,
	/* Whole chunks, and the attempts with smaller and smaller parts of one. */
	STACK_READS_MAX = DEFERRED_STACK_MAX_BYTES / STACK_CHUNK_BYTES + 10,
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

/**
 * Adds the stack around state->sp, as far as it can be read. It is read to the BPF stack first (see
 * safe_reads.bpf.h), in chunks that become smaller once a read fails, since a stack rarely ends at the
 * end of a chunk. Both counts are in the state, where the verifier does not know their values; else it
 * would follow every combination.
 */
static __always_inline void add_stack_copy(struct unwind_state *state)
{
	__u64 chunk[STACK_CHUNK_BYTES / 8];
	__u64 start = state->sp;

	if (add_stack_below(state))
		start -= DEFERRED_BELOW_BYTES;
	state->chunk_bytes = STACK_CHUNK_BYTES;
	for (int i = 0; i < STACK_READS_MAX; i++) {
		__u32 copied = state->first.stack_bytes, chunk_bytes = state->chunk_bytes;
		__u64 *destination = (__u64 *)state->first.stack + copied / 8;

		if (copied > DEFERRED_STACK_MAX_BYTES - STACK_CHUNK_BYTES)
			break;
		if (chunk_bytes < STACK_CHUNK_MIN_BYTES || chunk_bytes > STACK_CHUNK_BYTES)
			break;
		if (bpf_probe_read_user(chunk, chunk_bytes, (const void *)(start + copied))) {
			state->chunk_bytes = chunk_bytes / 2;
			continue;
		}
		/* The part that was not read is overwritten by the next chunk, or cut off. */
		__builtin_memcpy(destination, chunk, sizeof(chunk));
		state->first.stack_bytes = copied + chunk_bytes;
	}
	state->record_bytes =
		__builtin_offsetof(struct deferred_sample, stack) + state->first.stack_bytes;
}

#endif
