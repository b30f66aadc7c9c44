/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Looks up V8's code by address: finds the object of a code page that contains an address, and reads it. Up to V8 11.3 a
 * page has a list of its objects; from 12.4 on there is one std::map for the process, with a std::map for each page.
 * Source: heap/memory-chunk-layout.h, heap/code-object-registry.cc, common/code-memory-access.cc, objects/code.h @ V8
 * 9.4 to 14.6.
 *
 * Lists and maps change while they are read, and may be forged: an object whose code does not contain the address is
 * refused.
 */
#ifndef EBPF_JAVASCRIPT_CODE_BPF_H
#define EBPF_JAVASCRIPT_CODE_BPF_H

#include "ebpf/abi/javascript.h"
#include "ebpf/languages.bpf.h"
#include "ebpf/safe_reads.bpf.h"
#include "ebpf/state.bpf.h"
#include "ebpf/tables.bpf.h"

enum {
	JAVASCRIPT_PROCESS_CELLS = sizeof(struct javascript_process) / CELL_BYTES,
	/* A page with a list; no object is smaller than 32 bytes, so 13 halvings of the list leave one. */
	JAVASCRIPT_PAGE_BYTES = 1 << 18,
	JAVASCRIPT_LIST_BYTES_MAX = JAVASCRIPT_PAGE_BYTES / 32 * 8,
	JAVASCRIPT_LIST_HALVES_MAX = 14,
	/* Limit of the unsorted part at the end of a page's list, which is read in parts. */
	JAVASCRIPT_APPENDED_MAX = 128,
	JAVASCRIPT_APPENDED_WORDS = 8,
	/* In a page with a list: start and end of its objects. */
	JAVASCRIPT_PAGE_AREA = 24,
	/* An object that is too large for a page has a page of its own, of up to this many times the size. */
	JAVASCRIPT_LARGE_PAGES_MAX = 8,
	/* Limit of the depth of a red-black tree of 2^14 nodes. */
	JAVASCRIPT_MAP_DEPTH_MAX = 28,
	/* In a std::map of libstdc++: its root. In a node: its children, key and value, one after the other. */
	JAVASCRIPT_MAP_ROOT = 16,
	JAVASCRIPT_NODE_LEFT = 16,
	/* Limit of the instructions of one object. */
	JAVASCRIPT_CODE_MAX_BYTES = 1 << JAVASCRIPT_CODE_SHIFT,
};

/** Position of a leaf in code that V8 has generated (javascript_machine.bpf.h). */
enum javascript_position {
	JAVASCRIPT_IN_FRAME,
	/** The stack pointer is at the return address. */
	JAVASCRIPT_AT_CALL,
	/** The stack pointer is at the saved frame pointer, below the return address. */
	JAVASCRIPT_AT_SAVED_FP,
	/** The stack pointer is at another return address, below that of the caller. */
	JAVASCRIPT_BELOW_CALL,
	/** The return address is in a register: r8, r9 or r10. */
	JAVASCRIPT_RETURN_IN_R8,
	JAVASCRIPT_RETURN_IN_R9,
	JAVASCRIPT_RETURN_IN_R10,
};

/* A node of a map, from its left child on. */
struct javascript_node {
	__u64 left;
	__u64 right;
	__u64 key;
	__u64 value;
};

/** Loads the data of the V8 at state->language_cell, if it is not loaded yet; false if it cannot be read. */
static __always_inline bool javascript_load_process(struct unwind_state *state)
{
	struct javascript_unwind *unwind = &state->javascript;

	if (unwind->cell == state->language_cell)
		return true;
	unwind->cell = 0;
	if (!read_cells(&unwind->process, state->language_cell, JAVASCRIPT_PROCESS_CELLS))
		return false;
	if (unwind->process_key != process_key(state))
		unwind->builtins = 0;
	unwind->process_key = process_key(state);
	unwind->cell = state->language_cell;
	return true;
}

/** Returns the field of @bytes bytes at @offset in unwind->head, the object that was read last. */
static __always_inline __u64 javascript_head_field(const struct javascript_unwind *unwind,
						   __u32 offset, __u32 bytes)
{
	__u32 index = offset / 8;
	__u64 word;

	/* The verifier has to see that it is in range, which the compiler may think that it knows. */
	barrier_var(index);
	word = unwind->head[index % JAVASCRIPT_CODE_WORDS] >> 8 * (offset % 8);
	return bytes == 4 ? (__u32)word : word;
}

/*
 * Reads unwind->object, which must contain @address: its Code, whose fields unwind->head has then, its instructions and
 * kind. False: it is no code.
 */
static __always_inline bool javascript_read_code(struct javascript_unwind *unwind, __u64 address)
{
	const struct javascript_process *process = &unwind->process;
	__u64 head[JAVASCRIPT_CODE_WORDS];

	unwind->code = unwind->object + JAVASCRIPT_TAG;
	if (process->code_object && read_word(unwind->object + process->code_object, &unwind->code))
		return false;
	if (bpf_probe_read_user(head, sizeof(head), (const void *)(unwind->code - JAVASCRIPT_TAG)))
		return false;
	__builtin_memcpy(unwind->head, head, sizeof(head));
	unwind->code_start = unwind->object + process->code_header;
	unwind->code_size = javascript_head_field(unwind, process->code_size, 4);
	unwind->code_data = javascript_head_field(unwind, process->code_data, 8);
	unwind->kind = javascript_head_field(unwind, process->code_flags, 4) & process->kind_mask;
	if (process->code_start &&
	    javascript_head_field(unwind, process->code_start, 8) != unwind->code_start)
		return false;
	return unwind->code_size <= JAVASCRIPT_CODE_MAX_BYTES &&
	       address - unwind->code_start < unwind->code_size;
}

/* Finds the node with the largest key that is not above @key in the map at @map: unwind->node_...; false: none. */
static __always_inline bool javascript_find_node(struct javascript_unwind *unwind, __u64 map,
						 __u64 key)
{
	struct javascript_node node = { 0 };
	__u64 next = 0;

	unwind->node_key = 0;
	if (read_word(map + JAVASCRIPT_MAP_ROOT, &next))
		return false;
	for (int i = 0; i < JAVASCRIPT_MAP_DEPTH_MAX && next; i++) {
		if (bpf_probe_read_user(&node, sizeof(node),
					(const void *)(next + JAVASCRIPT_NODE_LEFT)))
			return false;
		next = node.left;
		if (node.key <= key) {
			unwind->node_key = node.key;
			unwind->node_value = node.value;
			next = node.right;
		}
	}
	return unwind->node_key;
}

/* Sets unwind->object to the allocation with @address, of node_value bytes; 0 and false: there is none. */
static __always_inline bool javascript_find_in_maps(struct javascript_unwind *unwind, __u64 address)
{
	__u64 pages = 0;

	unwind->object = 0;
	if (read_word(unwind->process.jit_pages, &pages) || !pages ||
	    !javascript_find_node(unwind, pages, address) ||
	    !javascript_find_node(unwind, unwind->node_value + unwind->process.jit_page_allocations,
				  address) ||
	    address - unwind->node_key >= unwind->node_value)
		return false;
	unwind->object = unwind->node_key;
	return true;
}

/*
 * Finds the page with the object at @address, and the start of its objects; false: none. The header of a large object's
 * page is further down, before the object's beginning.
 */
static __always_inline bool javascript_find_page(__u64 address, __u64 *page, __u64 *start,
						 bool *is_large)
{
	__u64 end = 0;

	*page = address & ~(__u64)(JAVASCRIPT_PAGE_BYTES - 1);
	for (int i = 0; i < JAVASCRIPT_LARGE_PAGES_MAX; i++) {
		if (!read_word_pair(*page + JAVASCRIPT_PAGE_AREA, start, &end) &&
		    *start - *page < JAVASCRIPT_PAGE_BYTES && address - *start < end - *start) {
			*is_large = end - *page > JAVASCRIPT_PAGE_BYTES;
			return true;
		}
		*page -= JAVASCRIPT_PAGE_BYTES;
	}
	return false;
}

/* Sets unwind->object to the last object before @address among those at the end of the list from @first to @end. */
static __always_inline void javascript_find_appended(struct javascript_unwind *unwind, __u64 first,
						     __u64 end, __u64 address)
{
	__u64 words[JAVASCRIPT_APPENDED_WORDS], found = 0, bytes;

	for (int i = 0; i < JAVASCRIPT_APPENDED_MAX / JAVASCRIPT_APPENDED_WORDS; i++) {
		bytes = (end - first) & ~7ULL;
		if (bytes > sizeof(words))
			bytes = sizeof(words);
		__builtin_memset(words, 0, sizeof(words));
		if (!bytes || bpf_probe_read_user(words, bytes, (const void *)(end - bytes)))
			break;
		for (int j = 0; j < JAVASCRIPT_APPENDED_WORDS; j++)
			if (words[j] <= address && words[j] > found)
				found = words[j];
		end -= bytes;
	}
	unwind->object = found;
}

/*
 * Finds the object at @address by the list of its page. V8 appends to the list, and sorts it before its own searches:
 * newer objects are behind the sorted part.
 */
static __always_inline bool javascript_find_in_page(struct javascript_unwind *unwind, __u64 address)
{
	__u64 list = 0, first = 0, end = 0, page = 0, middle, object = 0;
	__u64 list_first, list_end;
	bool is_large = false;

	if (!javascript_find_page(address, &page, &unwind->object, &is_large))
		return false;
	if (is_large)
		return true;
	if (read_word(page + unwind->process.page_registry, &list) ||
	    read_word_pair(list, &first, &end) || end - first > JAVASCRIPT_LIST_BYTES_MAX)
		return false;
	list_first = first;
	list_end = end;
	unwind->object = 0;
	for (int i = 0; i < JAVASCRIPT_LIST_HALVES_MAX && first < end; i++) {
		middle = first + ((end - first) / 2 & ~7ULL);
		if (read_word(middle, &object))
			return false;
		if (object <= address) {
			unwind->object = object;
			first = middle + 8;
		} else {
			end = middle;
		}
	}
	if (unwind->object < page || !javascript_read_code(unwind, address))
		javascript_find_appended(unwind, list_first, list_end, address);
	return unwind->object >= page;
}

/* Index of the cache entry for the code or the function at @address. */
static __always_inline __u32 javascript_cache_index(__u64 address)
{
	__u32 index = fingerprint_mix(fingerprint_mix(0, address), 0) >> 32;

	/* The verifier has to see that it is in range, which the compiler may think that it knows. */
	barrier_var(index);
	return index % JAVASCRIPT_CACHE_COUNT;
}

static __always_inline struct javascript_cached_code *
javascript_cached_code_at(struct javascript_unwind *unwind, __u64 address)
{
	return &unwind->cached_code[javascript_cache_index(address)];
}

/** Finds the code that contains @address, and reads it; false: there is none. */
static __always_inline bool javascript_find_code(struct javascript_unwind *unwind, __u64 address)
{
	struct javascript_cached_code *cached = javascript_cached_code_at(unwind, address);
	bool is_found;

	unwind->object = cached->object;
	if (cached->process_key == unwind->process_key && cached->address == address &&
	    javascript_read_code(unwind, address))
		return true;
	is_found = unwind->process.jit_pages ? javascript_find_in_maps(unwind, address) :
					       javascript_find_in_page(unwind, address);
	if (!is_found || !javascript_read_code(unwind, address))
		return false;
	*cached = (struct javascript_cached_code){
		.process_key = unwind->process_key,
		.address = address,
		.object = unwind->object,
	};
	return true;
}

/** Returns the class of the builtin at ELF virtual @address. */
static __always_inline enum javascript_builtin_class
javascript_builtin_class(const struct javascript_unwind *unwind, __u64 address)
{
	__u64 offset = address - unwind->process.builtins_start;
	__u32 found = 0;

	for (__u32 step = JAVASCRIPT_BUILTIN_RANGES_MAX / 2; step; step /= 2) {
		/* It has no branch, since the verifier would follow both paths of each. */
		__u32 next = (found + step) % JAVASCRIPT_BUILTIN_RANGES_MAX;
		__u64 is_before = (unwind->process.ranges[next].start - offset - 1) >> 63;

		found += is_before * step;
	}
	return unwind->process.ranges[found % JAVASCRIPT_BUILTIN_RANGES_MAX].builtin_class;
}

/* Reads the numbers of the function at tagged unwind->shared: the arguments of javascript_function_fingerprint(). */
static __always_inline bool javascript_read_ids(struct javascript_unwind *unwind, __u64 *ids,
						__u64 *script)
{
	const struct javascript_process *process = &unwind->process;
	const void *from = (const void *)(unwind->shared - JAVASCRIPT_TAG + process->shared_script);
	__u64 words[JAVASCRIPT_SHARED_BYTES / 8] = { 0 };
	__u64 unique = 0;

	/* The object may be just before unmapped memory, so the read must not be larger than the object. */
	if (process->shared_unique_id ?
		    bpf_probe_read_user(words, JAVASCRIPT_SHARED_BYTES, from) :
		    bpf_probe_read_user(words, JAVASCRIPT_SHARED_SHORT_BYTES, from))
		return false;
	__builtin_memcpy(unwind->head, words, sizeof(words));
	*script = words[0];
	*ids = javascript_head_field(unwind, process->shared_literal_id - process->shared_script,
				     4);
	if (process->shared_unique_id)
		unique = javascript_head_field(
			unwind, process->shared_unique_id - process->shared_script, 4);
	*ids |= unique << 32;
	return true;
}

/*
 * Returns the word with the number of the script at @script. Most functions of a stack are of few scripts, one after the
 * other. Functions of V8's own have no script; the value in this field is the same each time as well.
 */
static __always_inline __u64 javascript_read_script_id(struct javascript_unwind *unwind,
						       __u64 script)
{
	__u64 id = 0;

	if (unwind->script == script)
		return unwind->script_id;
	read_word(script + unwind->process.script_id, &id);
	unwind->script = script;
	unwind->script_id = id;
	return id;
}

/** Sets unwind->fingerprint to that of the function whose SharedFunctionInfo is at tagged unwind->shared; false: none. */
static __always_inline bool javascript_find_fingerprint(struct javascript_unwind *unwind)
{
	const struct javascript_process *process = &unwind->process;
	struct javascript_cached_function *cached =
		&unwind->cached_functions[javascript_cache_index(unwind->shared)];
	__u64 ids = 0, script = 0, script_id, source = 0;
	__u32 length = 0;

	if (!javascript_read_ids(unwind, &ids, &script))
		return false;
	script -= JAVASCRIPT_TAG;
	script_id = javascript_read_script_id(unwind, script);
	if (cached->process_key != unwind->process_key || cached->shared != unwind->shared ||
	    cached->ids != ids || cached->script_id != script_id) {
		if (!read_word(script + process->script_source, &source) &&
		    bpf_probe_read_user(
			    &length, sizeof(length),
			    (const void *)(source - JAVASCRIPT_TAG + process->string_length)))
			length = 0;
		*cached = (struct javascript_cached_function){
			.process_key = unwind->process_key,
			.shared = unwind->shared,
			.ids = ids,
			.script_id = script_id,
			.fingerprint = javascript_function_fingerprint(ids, script_id, length),
		};
	}
	unwind->fingerprint = cached->fingerprint;
	return true;
}

static __always_inline bool javascript_read_element(const struct javascript_unwind *unwind,
						    __u32 index, __u64 *word)
{
	return !read_word(unwind->code_data - JAVASCRIPT_TAG + JAVASCRIPT_ARRAY_DATA + 8ULL * index,
			  word);
}

/** Sets unwind->fingerprint to that of the optimized code that was found last, at @address; false: none. */
static __always_inline bool javascript_find_code_fingerprint(struct javascript_unwind *unwind,
							     __u64 address)
{
	const struct javascript_process *process = &unwind->process;
	struct javascript_cached_code *cached = javascript_cached_code_at(unwind, address);
	__u64 optimization = 0;

	if (!javascript_read_element(unwind, process->deopt_optimization_id, &optimization))
		return false;
	optimization >>= 32;
	if (!cached->fingerprint || cached->data != unwind->code_data ||
	    cached->optimization != (__u32)optimization) {
		if (!javascript_read_element(unwind, process->deopt_shared, &unwind->shared))
			return false;
		if (process->wrapper_shared &&
		    read_word(unwind->shared - JAVASCRIPT_TAG + process->wrapper_shared,
			      &unwind->shared))
			return false;
		if (!javascript_find_fingerprint(unwind))
			return false;
		cached->data = unwind->code_data;
		cached->optimization = optimization;
		cached->fingerprint =
			javascript_code_fingerprint(unwind->fingerprint, optimization);
	}
	unwind->fingerprint = cached->fingerprint;
	return true;
}

#endif
