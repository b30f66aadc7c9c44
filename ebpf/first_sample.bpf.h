/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * The first sample of a process that user space has not told of yet: it takes its registers and the
 * top of its stack along, to be unwound in user space (abi/sample.h).
 */
#ifndef EBPF_FIRST_SAMPLE_BPF_H
#define EBPF_FIRST_SAMPLE_BPF_H

#include "ebpf/maps.bpf.h"
#include "ebpf/safe_reads.bpf.h"
#include "ebpf/state.bpf.h"

enum {
	STACK_CHUNK_BYTES = 256,
	STACK_CHUNK_MIN_BYTES = 8,
	/* Whole chunks, and what is tried on the way down to the smallest part of one. */
	STACK_READS_MAX = FIRST_STACK_MAX_BYTES / STACK_CHUNK_BYTES + 10,
};

/** Adds the registers to the record, whose frames so far are there already. */
static __always_inline void begin_first_sample(struct walk_state *state)
{
	for (int i = 0; i < REGISTER_COUNT_MAX; i++)
		state->first.registers[i] = i < REGISTER_COUNT ? state->registers[i] : 0;
	state->first.stack_bytes = 0;
	state->first.below_bytes = 0;
	state->first.unknown = 0;
	state->first.frame_flags = state->frame_flags;
	state->record_bytes = __builtin_offsetof(struct first_sample, stack);
}

/**
 * True if the walk stopped at what user space knows soon, and can go on from there. Interpreted frames are
 * not in the stack alone.
 */
static __always_inline bool may_be_resumed(const struct walk_state *state)
{
	return state->record.type == RECORD_TRACE &&
	       (state->error == UNWIND_NOT_LOADED || state->error == UNWIND_NO_MAPPING) &&
	       state->sp_known && !state->runtime_cell &&
	       state->record.word_count >= RESUMED_FRAME_WORDS &&
	       state->record.word_count <= FIRST_MAX_WORDS - RESUMED_FRAME_WORDS &&
	       !(state->record.flags & RECORD_PARENT_ENTRY);
}

/** Has this frame's rbx in the registers, from where it was saved; false if that is not known. */
static __always_inline bool fetch_rbx(struct walk_state *state)
{
	__u64 value;

	if (state->rbx_place == RBX_IN_REGISTER)
		return true;
	if (RBX_REGISTER >= REGISTER_COUNT || state->rbx_place == RBX_NOWHERE ||
	    read_word(state->rbx_place, &value))
		return false;
	state->registers[RBX_REGISTER % REGISTER_COUNT] = value;
	return true;
}

/** Makes the trace a first sample that goes on where the walk stopped. */
static __always_inline void begin_resumed_sample(struct walk_state *state)
{
	__u8 unknown = state->registers_known ? 0 : FIRST_UNKNOWN_REGISTERS;

	/* The frame without rows was added already, and stays behind the others. */
	if (state->error == UNWIND_NOT_LOADED)
		state->record.word_count -= RESUMED_FRAME_WORDS;
	if (state->error == UNWIND_NO_MAPPING)
		unknown |= FIRST_UNKNOWN_MAPPING;
	if (!state->fp_known)
		unknown |= FIRST_UNKNOWN_FP;
	if (!state->registers_known && !fetch_rbx(state))
		unknown |= FIRST_UNKNOWN_RBX;
	state->registers[PC_REGISTER] = state->pc;
	state->registers[SP_REGISTER] = state->sp;
	state->registers[FP_REGISTER] = state->fp;
	begin_first_sample(state);
	state->first.unknown = unknown;
	state->record.type = RECORD_FIRST;
	state->record.flags |= RECORD_RESUMED;
	count(COUNTER_RESUMED);
}

/** Adds what lies right below state->sp; false if it cannot be read. */
static __always_inline bool add_stack_below(struct walk_state *state)
{
	__u64 below[FIRST_BELOW_BYTES / 8];

	if (bpf_probe_read_user(below, sizeof(below), (const void *)(state->sp - sizeof(below))))
		return false;
	__builtin_memcpy(state->first.stack, below, sizeof(below));
	state->first.below_bytes = sizeof(below);
	state->first.stack_bytes = sizeof(below);
	return true;
}

/**
 * Adds the stack around state->sp, as far as it can be read. Reads go by the BPF stack (see
 * safe_reads.bpf.h), in chunks that become smaller once one fails: the end of a stack is rarely
 * that of a chunk. Both counts live in the state, where the verifier does not know their values:
 * it would follow every combination.
 */
static __always_inline void add_stack_copy(struct walk_state *state)
{
	__u64 chunk[STACK_CHUNK_BYTES / 8];
	__u64 start = state->sp;

	if (add_stack_below(state))
		start -= FIRST_BELOW_BYTES;
	state->chunk_bytes = STACK_CHUNK_BYTES;
	for (int i = 0; i < STACK_READS_MAX; i++) {
		__u32 copied = state->first.stack_bytes, chunk_bytes = state->chunk_bytes;
		__u64 *destination = (__u64 *)state->first.stack + copied / 8;

		if (copied > FIRST_STACK_MAX_BYTES - STACK_CHUNK_BYTES)
			break;
		if (chunk_bytes < STACK_CHUNK_MIN_BYTES || chunk_bytes > STACK_CHUNK_BYTES)
			break;
		if (bpf_probe_read_user(chunk, chunk_bytes, (const void *)(start + copied))) {
			state->chunk_bytes = chunk_bytes / 2;
			continue;
		}
		/* What is not read is overwritten by the next chunk, or cut off. */
		__builtin_memcpy(destination, chunk, sizeof(chunk));
		state->first.stack_bytes = copied + chunk_bytes;
	}
	state->record_bytes =
		__builtin_offsetof(struct first_sample, stack) + state->first.stack_bytes;
}

#endif
