/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * A cache of adjacent words of the process's memory. The frames of a stack are small and adjacent, and a
 * read of user memory costs more than all the rest of a step.
 */
#ifndef EBPF_READ_WINDOW_BPF_H
#define EBPF_READ_WINDOW_BPF_H

#include "ebpf/safe_reads.bpf.h"

enum {
	/** A power of two. */
	WINDOW_WORDS = 32,
	WINDOW_BYTES = 8 * WINDOW_WORDS,
	/** Limit of window_read_exactly(). */
	WINDOW_EXACT_BYTES = WINDOW_BYTES / 2,
	/** The smallest page of any architecture. A part of a page can be read as a whole or not at all. */
	PAGE_BYTES_MIN = 4096,
};

/** The words that were read last. */
struct read_window {
	__u64 start;
	/** 0: the window is empty. */
	__u64 bytes;
	__u64 words[WINDOW_WORDS];
};

static __always_inline void window_clear(struct read_window *window)
{
	window->bytes = 0;
}

/* Returns the offset in the window of the @bytes bytes at @address; WINDOW_BYTES if they are not in it. */
static __always_inline __u64 window_offset(const struct read_window *window, __u64 address,
					   __u32 bytes)
{
	__u64 offset = address - window->start;

	if (offset % 8 || offset > window->bytes || bytes > window->bytes - offset)
		return WINDOW_BYTES;
	return offset;
}

/* Fills the window from @start on, moved so that it is in the page of @address. */
static __always_inline bool window_move(struct read_window *window, __u64 start, __u64 address)
{
	__u64 words[WINDOW_WORDS], page = address & ~(__u64)(PAGE_BYTES_MIN - 1);

	if (start < page)
		start = page;
	if (start > page + PAGE_BYTES_MIN - WINDOW_BYTES)
		start = page + PAGE_BYTES_MIN - WINDOW_BYTES;
	if (bpf_probe_read_user(words, sizeof(words), (const void *)start))
		return false;
	__builtin_memcpy(window->words, words, sizeof(words));
	window->start = start;
	window->bytes = WINDOW_BYTES;
	return true;
}

/** Returns the word at offset @offset in the window. Any @offset is safe: it is aligned and wrapped. */
static __always_inline __u64 window_word(const struct read_window *window, __u64 offset)
{
	__u32 index = offset / 8;

	/* The verifier must see the check of the range, which the compiler may drop. */
	barrier_var(index);
	return window->words[index % WINDOW_WORDS];
}

/**
 * Reads the word at @address by a window that extends to higher addresses. If @address is not aligned, or
 * the window cannot be read, it reads the word alone, as read_word().
 */
static __always_inline enum unwind_error window_read_up(struct read_window *window, __u64 address,
							__u64 *word)
{
	__u64 offset = window_offset(window, address, sizeof(*word));

	if (offset == WINDOW_BYTES) {
		if (address % 8 || !window_move(window, address, address))
			return read_word(address, word);
		offset = address - window->start;
	}
	*word = window_word(window, offset);
	return UNWIND_OK;
}

/** Reads the 1 to WINDOW_EXACT_BYTES bytes at @address into the window, and nothing else. */
static __always_inline bool window_read_exactly(struct read_window *window, __u64 address,
						__u32 bytes)
{
	/* Verifiers before 6.3 require that all words are initialized, since the read may be shorter. */
	__u64 words[WINDOW_EXACT_BYTES / 8] = { 0 };

	window_clear(window);
	if (bytes < 1 || bytes > sizeof(words))
		return false;
	/* The value may be in another register than the checked one, whose range the verifier does not know. */
	barrier_var(bytes);
	bytes = ((bytes - 1) & (sizeof(words) - 1)) + 1;
	if (bpf_probe_read_user(words, bytes, (const void *)address))
		return false;
	__builtin_memcpy(window->words, words, sizeof(words));
	window->start = address;
	window->bytes = bytes;
	return true;
}

/**
 * Reads the 1 to WINDOW_EXACT_BYTES bytes at @address into the window, and as many bytes below them as
 * fit, since these are needed next. If the latter cannot be read, it reads only the former.
 */
static __always_inline bool window_read_down(struct read_window *window, __u64 address, __u32 bytes)
{
	__u64 end = (address + bytes + 7) & ~7ULL;

	if (bytes < 1 || bytes > WINDOW_EXACT_BYTES)
		return false;
	if (window_offset(window, address, bytes) < WINDOW_BYTES)
		return true;
	if (address % 8 == 0 && window_move(window, end - WINDOW_BYTES, address) &&
	    window_offset(window, address, bytes) < WINDOW_BYTES)
		return true;
	return window_read_exactly(window, address, bytes);
}

#endif
