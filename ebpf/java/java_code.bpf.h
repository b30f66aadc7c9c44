/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * HotSpot's code cache (abi/java.h): finds the CodeBlob of an address. A heap has a map with a byte for each
 * segment, which leads back to the first segment of the block with the blob. Source:
 * CodeHeap::find_block_for() of share/memory/heap.cpp, OpenJDK 8 to 27.
 *
 * The maps change while they are read, and may be forged: a blob that does not contain the address is refused.
 */
#ifndef EBPF_JAVA_CODE_BPF_H
#define EBPF_JAVA_CODE_BPF_H

#include "ebpf/abi/java.h"
#include "ebpf/languages.bpf.h"
#include "ebpf/safe_reads.bpf.h"
#include "ebpf/state.bpf.h"
#include "ebpf/tables.bpf.h"

enum {
	JAVA_PROCESS_CELLS = sizeof(struct java_process) / CELL_BYTES,
	/** Limit of the steps back; one goes back over at most 254 segments. So code may have up to half a MiB. */
	JAVA_HOPS_MAX = 16,
};

static __always_inline void java_load_stubs(struct unwind_state *state)
{
	const struct unwind_header *header = &state->java.process.stubs;
	struct cached_mapping *stubs = &state->java.stubs;

	stubs->text_start = header->text_start;
	stubs->page_count = header->page_count;
	stubs->page_index_cell = state->language_cell + header->page_index_cell;
	stubs->row_cell = state->language_cell + header->row_cell;
	stubs->row_count = header->row_count;
	stubs->rule_cell = state->language_cell + header->rule_cell;
	stubs->rule_count = header->rule_count;
}

/*
 * Methods are freed with their classes, or at a safepoint, and only afterwards their memory is used again. So a Method
 * that is executed is the same as before if the counters have not changed. Without the counters it is the same only
 * within one unwind.
 */
static __always_inline void java_load_counters(struct java_unwind *unwind)
{
	__u64 safepoints = 0;

	unwind->unloads = 0;
	unwind->method_number = unwind->number << 1;
	if (!unwind->process.unloads || read_word(unwind->process.unloads, &unwind->unloads))
		return;
	if (unwind->process.safepoints && !read_word(unwind->process.safepoints, &safepoints))
		unwind->method_number = (__u32)(unwind->unloads + safepoints) << 1 | 1;
}

/** Loads the data of the JVM at state->language_cell, if it is not loaded yet; false if it cannot be read. */
static __always_inline bool java_load_process(struct unwind_state *state)
{
	if (state->java.cell == state->language_cell)
		return true;
	state->java.cell = 0;
	if (!read_cells(&state->java.process, state->language_cell, JAVA_PROCESS_CELLS))
		return false;
	java_load_stubs(state);
	state->java.process_key = process_key(state);
	state->java.number++;
	java_load_counters(&state->java);
	state->java.cell = state->language_cell;
	return true;
}

/*
 * All ones if heap @i contains @address, else 0. It has no branch, since the verifier would follow both paths of
 * each.
 */
static __always_inline __u64 java_heap_mask(const struct java_unwind *unwind, __u32 i,
					    __u64 address)
{
	__u64 offset = address - unwind->process.heaps[i].start;
	__u64 is_below_end = (offset - unwind->process.heaps[i].bytes) & ~offset;

	return -(is_below_end >> 63);
}

/** Returns the index of the heap of @address; JAVA_CODE_HEAPS_MAX: none. */
static __always_inline __u32 java_heap_of(const struct java_unwind *unwind, __u64 address)
{
	__u64 index = JAVA_CODE_HEAPS_MAX;

	for (__u32 i = 0; i < JAVA_CODE_HEAPS_MAX; i++)
		index ^= java_heap_mask(unwind, i, address) & (i ^ JAVA_CODE_HEAPS_MAX);
	return index;
}

static __always_inline bool java_is_code(const struct java_unwind *unwind, __u64 address)
{
	return address - unwind->process.code_start < unwind->process.code_bytes;
}

static __always_inline bool java_is_interpreter(const struct java_unwind *unwind, __u64 address)
{
	return address >= unwind->process.interpreter_start &&
	       address < unwind->process.interpreter_end;
}

/* Returns the field of @bytes bytes at @offset in unwind->head, the object that was read last. */
static __always_inline __u64 java_head_field(const struct java_unwind *unwind, __u32 offset,
					     __u32 bytes)
{
	__u32 index = offset / 8;
	__u64 word;

	/* The verifier must see the check of the range, which the compiler may drop. */
	barrier_var(index);
	word = unwind->head[index % JAVA_HEAD_WORDS] >> 8 * (offset % 8);
	if (bytes == 1)
		return (__u8)word;
	if (bytes == 2)
		return (__u16)word;
	return bytes == 4 ? (__u32)word : word;
}

static __always_inline __u64 java_blob_field(const struct java_unwind *unwind, __u32 offset,
					     __u32 bytes)
{
	return java_head_field(unwind, unwind->process.block_bytes + offset, bytes);
}

/* Reads the blob at unwind->blob, which must contain @address, and its block, which must be in use. */
static __always_inline enum unwind_error java_read_blob(struct java_unwind *unwind, __u64 address)
{
	const struct java_process *process = &unwind->process;
	/* 1 to JAVA_HEAD_MAX_BYTES, in a form that all verifiers understand. */
	__u32 bytes = ((process->head_bytes - 1) & (JAVA_HEAD_MAX_BYTES - 1)) + 1;
	__u64 head[JAVA_HEAD_MAX_BYTES / 8] = { 0 };
	__u64 complete, code_end;
	__s32 words;

	if (bpf_probe_read_user(head, bytes, (const void *)(unwind->blob - process->block_bytes)))
		return UNWIND_NO_INFO;
	__builtin_memcpy(unwind->head, head, sizeof(head));
	if (!java_head_field(unwind, process->block_used, 1))
		return UNWIND_NO_INFO;
	words = java_blob_field(unwind, process->blob_frame_size, 4);
	complete = java_blob_field(unwind, process->blob_frame_complete,
				   process->frame_complete_bytes);
	unwind->code_start = process->code_is_address ?
				     java_blob_field(unwind, process->blob_code, 8) :
				     unwind->blob + java_blob_field(unwind, process->blob_code, 4);
	code_end = unwind->blob + java_blob_field(unwind, process->blob_data, 4);
	/* Some blobs without a frame have -1. */
	unwind->frame_bytes = words > 0 && words < 1 << 24 ? 8 * words : 0;
	unwind->frame_complete = process->frame_complete_bytes == 2 ? (__s16)complete :
								      (__s32)complete;
	unwind->is_nmethod = java_blob_field(unwind, process->blob_header_size,
					     process->header_size_bytes) == process->nmethod_bytes;
	return address >= unwind->code_start && address < code_end ? UNWIND_OK : UNWIND_NO_INFO;
}

/* Finds unwind->blob by the segment map of the heap of @address. */
static __always_inline enum unwind_error java_search_blob(struct java_unwind *unwind, __u64 address)
{
	__u32 heap = java_heap_of(unwind, address);
	const struct java_code_heap *row = &unwind->process.heaps[heap % JAVA_CODE_HEAPS_MAX];
	__u64 segment = (address - row->start) >> row->log2_segment_size % 64;
	__u8 back = JAVA_SEGMENT_FREE;

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
	unwind->blob =
		row->start + (segment << row->log2_segment_size % 64) + unwind->process.block_bytes;
	return UNWIND_OK;
}

static __always_inline bool java_is_cached(const struct java_unwind *unwind,
					   const struct java_cached *cached, __u64 address)
{
	return cached->address == address && cached->process_key == unwind->process_key;
}

static __always_inline struct java_cached *java_cache_entry(struct java_unwind *unwind, __u32 index)
{
	/* As in java_head_field(). */
	barrier_var(index);
	return &unwind->cached[index % JAVA_CACHE_COUNT];
}

/*
 * Index of one of the two cache entries for @address, of code or of a Method. Addresses of code are multiples of a
 * size, for which one multiplication is not enough.
 */
static __always_inline __u32 java_cache_index(__u64 address, bool is_other)
{
	__u64 mix = fingerprint_mix(fingerprint_mix(0, address), 0);

	return mix >> (64 - JAVA_CACHE_SHIFT * (1 + is_other)) & (JAVA_CACHE_COUNT - 1);
}

/* Returns the cache entry with @address, else the second one of its two entries. */
static __always_inline struct java_cached *java_cached_at(struct java_unwind *unwind, __u64 address)
{
	struct java_cached *cached = java_cache_entry(unwind, java_cache_index(address, false));

	return java_is_cached(unwind, cached, address) ?
		       cached :
		       java_cache_entry(unwind, java_cache_index(address, true));
}

/*
 * Replaces the cache entry of @address, else one of its two entries in turns. The replaced address may get its own
 * other entry when it is looked up again. So after a few unwinds all addresses in use have entries, if there are twice as
 * many entries.
 */
static __always_inline struct java_cached *java_new_cached(struct java_unwind *unwind,
							   __u64 address)
{
	struct java_cached *cached = java_cached_at(unwind, address);

	if (!java_is_cached(unwind, cached, address) &&
	    fingerprint_mix(unwind->number, address) >> 63)
		cached = java_cache_entry(unwind, java_cache_index(address, false));
	*cached = (struct java_cached){
		.process_key = unwind->process_key,
		.address = address,
		.number = unwind->number,
	};
	return cached;
}

/*
 * Reads the identity of the nmethod: its compile id, which is unique, and the address of its oop maps. The oop maps
 * exist as long as the nmethod, and the JVM sets their address to 0 before the memory is used for another one. Both
 * are in one read, which costs more than all else here; *@oop_maps is 0 if the two fields are too far apart. With
 * @all the fields between them can be read with java_nmethod_field().
 */
static __always_inline bool java_read_identity(struct java_unwind *unwind, bool all,
					       __u64 *oop_maps, __u32 *compile_id)
{
	enum { HALF_WORDS = JAVA_HEAD_WORDS / 2 };
	const struct java_process *process = &unwind->process;
	__u64 words[JAVA_HEAD_WORDS];
	__u32 offset = process->nmethod_compile_id - process->blob_oop_maps;
	__u32 bytes = offset + sizeof(*compile_id);

	*oop_maps = 0;
	if (offset > sizeof(words) - sizeof(*compile_id))
		return !bpf_probe_read_user(
			compile_id, sizeof(*compile_id),
			(const void *)(unwind->blob + process->nmethod_compile_id));
	/* 1 to sizeof(words), in a form that all verifiers understand. */
	barrier_var(bytes);
	bytes = ((bytes - 1) & (sizeof(words) - 1)) + 1;
	if (bpf_probe_read_user(words, bytes,
				(const void *)(unwind->blob + process->blob_oop_maps)))
		return false;
	/* Verifiers before 5.12 allow no variable offset on the stack; a read directly to a map is slower. */
	if (all || offset < sizeof(words) / 2)
		__builtin_memcpy(unwind->head, words, sizeof(words) / 2);
	__builtin_memcpy(unwind->head + HALF_WORDS, words + HALF_WORDS, sizeof(words) / 2);
	*oop_maps = words[0];
	*compile_id = java_head_field(unwind, offset, 4);
	return true;
}

/* Returns the field at @offset of an nmethod, from the read of java_read_identity(), which has set *@oop_maps. */
static __always_inline __u64 java_nmethod_field(const struct java_unwind *unwind, __u32 offset,
						__u32 bytes)
{
	return java_head_field(unwind, offset - unwind->process.blob_oop_maps, bytes);
}

/* Returns the nmethod's Method, after java_read_identity(); 0: it cannot be read. */
static __always_inline __u64 java_read_method(const struct java_unwind *unwind, __u64 oop_maps)
{
	const struct java_process *process = &unwind->process;
	__u64 method = 0;

	if (oop_maps && process->nmethod_method > process->blob_oop_maps &&
	    process->nmethod_method < process->nmethod_compile_id)
		return java_nmethod_field(unwind, process->nmethod_method, 8);
	read_word(unwind->blob + process->nmethod_method, &method);
	return method;
}

/* Takes the cached data of @address, if it still belongs to the same compilation. */
static __always_inline bool java_take_cached(struct java_unwind *unwind, struct java_cached *cached,
					     __u64 address)
{
	__u64 oop_maps = 0;
	__u32 compile_id = 0;

	if (!java_is_cached(unwind, cached, address))
		return false;
	unwind->blob = cached->object;
	if (cached->number != unwind->number &&
	    (!java_read_identity(unwind, false, &oop_maps, &compile_id) ||
	     oop_maps != cached->oop_maps || compile_id != cached->compile_id))
		return false;
	cached->number = unwind->number;
	unwind->code_start = address - cached->position;
	unwind->frame_bytes = cached->frame_bytes;
	unwind->frame_complete = cached->frame_complete;
	unwind->original_pc_offset = cached->original_pc_offset;
	unwind->fingerprint = cached->fingerprint;
	unwind->is_nmethod = 1;
	return true;
}

/* True if @address is the handler in the nmethod's field at @offset. */
static __always_inline bool java_is_handler(const struct java_unwind *unwind, __u32 offset,
					    __u64 address)
{
	if (unwind->process.deopt_handler_bytes == 8)
		return java_nmethod_field(unwind, offset, 8) == address;
	return unwind->blob + (__s32)java_nmethod_field(unwind, offset, 4) == address;
}

/* Sets unwind->original_pc_offset if @address is a deopt handler of the nmethod, after java_read_identity(). */
static __always_inline void java_find_original_pc(struct java_unwind *unwind, __u64 address)
{
	const struct java_process *process = &unwind->process;

	if (process->deopt_handler_bytes &&
	    (java_is_handler(unwind, process->nmethod_deopt_handler, address) ||
	     java_is_handler(unwind, process->nmethod_deopt_mh_handler, address)))
		unwind->original_pc_offset =
			java_nmethod_field(unwind, process->nmethod_original_pc, 4);
	barrier();
}

static __always_inline void java_cache_code(struct java_unwind *unwind, __u64 address)
{
	struct java_cached *cached;
	__u64 method, oop_maps = 0;
	__u32 compile_id = 0;

	unwind->fingerprint = 0;
	unwind->original_pc_offset = unwind->frame_bytes;
	if (!java_read_identity(unwind, true, &oop_maps, &compile_id))
		return;
	method = java_read_method(unwind, oop_maps);
	if (!method)
		return;
	unwind->fingerprint = fingerprint_of(method, compile_id);
	if (!oop_maps || !compile_id)
		return;
	java_find_original_pc(unwind, address);
	cached = java_new_cached(unwind, address);
	cached->object = unwind->blob;
	cached->oop_maps = oop_maps;
	cached->compile_id = compile_id;
	cached->fingerprint = unwind->fingerprint;
	cached->position = address - unwind->code_start;
	cached->frame_bytes = unwind->frame_bytes;
	cached->frame_complete = unwind->frame_complete;
	cached->original_pc_offset = unwind->original_pc_offset;
}

/** Finds the blob whose code contains @address, which is in a heap; UNWIND_NO_INFO: there is none. */
static __always_inline enum unwind_error java_find_blob(struct java_unwind *unwind, __u64 address)
{
	enum unwind_error error;

	if (java_take_cached(unwind, java_cached_at(unwind, address), address))
		return UNWIND_OK;
	error = java_search_blob(unwind, address);
	if (!error)
		error = java_read_blob(unwind, address);
	if (!error && unwind->is_nmethod)
		java_cache_code(unwind, address);
	return error;
}

/*
 * True for the return barrier, to which the copied frames of a virtual thread return, so that the next frames are
 * copied to the stack: mov rsp, [r15 + d32]. No call is in front of it.
 */
static __always_inline bool java_is_return_barrier(__u64 code)
{
	/* ldr x8, [x28, #n]; mov sp, x8 */
	if (RETURN_ADDRESS_BYTES == 0)
		return (code & 0xffffffffffc003ffULL) == 0x9100011ff9400388ULL;
	return (code & 0xffffffULL) == 0xa78b49;
}

/*
 * True for a handler to which callees of deoptimized frames return, up to 25: call +0 of
 * HandlerImpl::emit_deopt_handler(), or movabs r10 of its own address, of C1's LIR_Assembler::emit_deopt_handler().
 */
static __always_inline bool java_is_deopt_handler(__u64 code, __u64 address)
{
	__u64 immediate = 0;

	/* adr x30, to itself */
	if (RETURN_ADDRESS_BYTES == 0)
		return (__u32)code == 0x1000001e;
	if ((code & 0xffffffffffULL) == 0xe8)
		return true;
	return (code & 0xffff) == 0xba49 && !read_word(address + 2, &immediate) &&
	       immediate == address;
}

/**
 * Sets unwind->check to whether Java code can return to @address: it is behind a call, in the interpreter, or a deopt
 * handler.
 */
static __always_inline void java_check_return(struct java_unwind *unwind, __u64 address)
{
	__u64 code = 0;

	unwind->check = 0;
	if (!java_is_code(unwind, address))
		return;
	if (java_is_interpreter(unwind, address) || address == unwind->process.call_stub_return) {
		unwind->check = 1;
		return;
	}
	if (read_word(address - sizeof(code), &code))
		return;
	check_call(code, &unwind->check);
	if (!unwind->check && !read_word(address, &code))
		unwind->check = java_is_deopt_handler(code, address) ||
				java_is_return_barrier(code);
}

#endif
