/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * HotSpot's code cache (abi/java.h): which CodeBlob an address lies in. A heap has a map with a byte for
 * each segment, which leads back to the first segment of a block, in which the blob lies. Source:
 * CodeHeap::find_block_for() of share/memory/heap.cpp, OpenJDK 8 to 27.
 *
 * The maps change while they are read, and may be forged: what is found holds the address, or is nothing.
 */
#ifndef EBPF_JAVA_CODE_BPF_H
#define EBPF_JAVA_CODE_BPF_H

#include "ebpf/abi/java.h"
#include "ebpf/safe_reads.bpf.h"
#include "ebpf/state.bpf.h"
#include "ebpf/tables.bpf.h"

enum {
	JAVA_PROCESS_CELLS = sizeof(struct java_process) / CELL_BYTES,
	JAVA_HEAD_WORDS = JAVA_HEAD_MAX_BYTES / 8,
	/** One leads back over 254 segments at most: code of up to half a MiB. */
	JAVA_HOPS_MAX = 16,
};

/** Where a walk stands in Java's frames. */
struct java_walk {
	/** First cell of the struct java_process that `process` is a copy of; 0: none yet. */
	__u32 cell;
	/** The frame at hand was interrupted, or has called a stub: it may have pushed more words. */
	__u32 is_checked;
	/** The blob that was found last: its address, and where its code is. */
	__u64 blob;
	__u64 code_start;
	__u64 code_end;
	/** In bytes; 0: none. */
	__u32 frame_bytes;
	/** From code_start; negative: never. */
	__s32 frame_complete;
	__u32 is_nmethod;
	/** An answer of a check: not in a local variable, whose values the verifier would follow. */
	__u32 check;
	struct java_process process;
	__u64 head[JAVA_HEAD_WORDS];
};

static __always_inline void java_begin(struct java_walk *walk)
{
	walk->cell = 0;
	walk->is_checked = 1;
}

/** Loads what is known of the process's HotSpot; false if that is nothing. */
static __always_inline bool java_load_process(struct walk_state *state, struct java_walk *walk)
{
	const struct cell *row, *data;
	__u32 first = 0;

	if (walk->cell)
		return true;
	for (int i = 0; state->interpreter_cell && i < INTERPRETER_MAX_COUNT; i++) {
		row = cell_at(state->interpreter_cell + i);
		if (!row || !row->words[0])
			break;
		if ((__u32)row->words[1] == FRAME_JAVA)
			first = row->words[1] >> 32;
	}
	if (!first)
		return false;
	for (int i = 0; i < JAVA_PROCESS_CELLS; i++) {
		data = cell_at(first + i);
		if (!data)
			return false;
		__builtin_memcpy((struct cell *)&walk->process + i, data, sizeof(*data));
	}
	walk->cell = first;
	return true;
}

/** The index of the heap that @address lies in; JAVA_CODE_HEAPS_MAX: none. */
static __always_inline __u32 java_heap_of(const struct java_walk *walk, __u64 address)
{
	for (__u32 i = 0; i < JAVA_CODE_HEAPS_MAX; i++)
		if (address - walk->process.heaps[i].start < walk->process.heaps[i].bytes)
			return i;
	return JAVA_CODE_HEAPS_MAX;
}

static __always_inline bool java_is_code(const struct java_walk *walk, __u64 address)
{
	return java_heap_of(walk, address) < JAVA_CODE_HEAPS_MAX;
}

static __always_inline bool java_is_interpreter(const struct java_walk *walk, __u64 address)
{
	return address >= walk->process.interpreter_start &&
	       address < walk->process.interpreter_end;
}

/* The field of @bytes bytes at @offset of what was read of the blob. */
static __always_inline __u64 java_head_field(const struct java_walk *walk, __u32 offset,
					     __u32 bytes)
{
	__u64 word = walk->head[offset / 8 % JAVA_HEAD_WORDS] >> 8 * (offset % 8);

	if (bytes == 2)
		return (__u16)word;
	return bytes == 4 ? (__u32)word : word;
}

static __always_inline enum unwind_error java_read_head(struct java_walk *walk)
{
	__u64 head[JAVA_HEAD_WORDS];
	__u32 bytes = walk->process.head_bytes;

	if (bytes < 1 || bytes > sizeof(head))
		return UNWIND_BAD_TABLE;
	if (bpf_probe_read_user(head, bytes, (const void *)walk->blob))
		return UNWIND_NO_INFO;
	__builtin_memcpy(walk->head, head, sizeof(head));
	return UNWIND_OK;
}

/* Reads the blob at walk->blob, which @address has to lie in. */
static __always_inline enum unwind_error java_read_blob(struct java_walk *walk, __u64 address)
{
	const struct java_process *process = &walk->process;
	enum unwind_error error = java_read_head(walk);
	__u64 complete;
	__s32 words;

	if (error)
		return error;
	words = java_head_field(walk, process->blob_frame_size, 4);
	complete =
		java_head_field(walk, process->blob_frame_complete, process->frame_complete_bytes);
	walk->code_start = process->code_is_address ?
				   java_head_field(walk, process->blob_code, 8) :
				   walk->blob + java_head_field(walk, process->blob_code, 4);
	walk->code_end = walk->blob + java_head_field(walk, process->blob_data, 4);
	/* Some without a frame have -1. */
	walk->frame_bytes = words > 0 && words < 1 << 24 ? 8 * words : 0;
	walk->frame_complete = process->frame_complete_bytes == 2 ? (__s16)complete :
								    (__s32)complete;
	walk->is_nmethod = java_head_field(walk, process->blob_header_size,
					   process->header_size_bytes) == process->nmethod_bytes;
	return address >= walk->code_start && address < walk->code_end ? UNWIND_OK : UNWIND_NO_INFO;
}

/** Finds the blob that executes at @address, which lies in a heap; UNWIND_NO_INFO: there is none. */
static __always_inline enum unwind_error java_find_blob(struct java_walk *walk, __u64 address)
{
	__u32 heap = java_heap_of(walk, address);
	const struct java_code_heap *row = &walk->process.heaps[heap % JAVA_CODE_HEAPS_MAX];
	__u64 segment = (address - row->start) >> row->log2_segment_size % 64;
	__u8 back = JAVA_SEGMENT_FREE, is_used = 0;
	__u64 block;

	if (heap >= JAVA_CODE_HEAPS_MAX)
		return UNWIND_NO_INFO;
	for (int i = 0; i < JAVA_HOPS_MAX; i++) {
		if (bpf_probe_read_user(&back, sizeof(back),
					(const void *)(row->segment_map + segment)))
			return UNWIND_NO_INFO;
		if (!back || back == JAVA_SEGMENT_FREE || back > segment)
			break;
		segment -= back;
	}
	if (back)
		return UNWIND_NO_INFO;
	block = row->start + (segment << row->log2_segment_size % 64);
	if (bpf_probe_read_user(&is_used, sizeof(is_used),
				(const void *)(block + walk->process.block_used)) ||
	    !is_used)
		return UNWIND_NO_INFO;
	walk->blob = block + walk->process.block_bytes;
	return java_read_blob(walk, address);
}

/* HandlerImpl::emit_deopt_handler() up to 25, to which frames return that have been given up: call +0. */
static __always_inline bool java_is_deopt_handler(__u64 code)
{
	return RETURN_ADDRESS_BYTES > 0 && (code & 0xffffffffffULL) == 0xe8;
}

/**
 * walk->check: whether Java code can return to @address: behind a call, to the interpreter, or to what
 * awaits it where its caller was given up.
 */
static __always_inline void java_check_return(struct java_walk *walk, __u64 address)
{
	__u64 code = 0;

	walk->check = 0;
	if (!java_is_code(walk, address))
		return;
	if (java_is_interpreter(walk, address) || address == walk->process.call_stub_return) {
		walk->check = 1;
		return;
	}
	if (read_word(address - sizeof(code), &code))
		return;
	check_call(code, &walk->check);
	if (!walk->check && !read_word(address, &code))
		walk->check = java_is_deopt_handler(code);
}

#endif
