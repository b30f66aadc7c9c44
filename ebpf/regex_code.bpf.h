/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Steps from code that PCRE2 has compiled for a regular expression to the function that called it, pcre2_jit_match(), on
 * x86-64. Such code has neither rows nor a frame pointer. It has its only argument in rbp (ARGUMENTS in pcre2_jit_compile.c, and
 * reg_map[] of sljit): the address of a struct in the caller's frame. At first that is in rdi, and while the groups are reset,
 * in rbx; while text is compared to what a group has matched, it is in one of the first words of the code's frame. The return
 * address is just below the caller's frame, so it is few words below the struct, and the code in front of it has passed the
 * struct:
 *
 *	lea	N(%rsp),%rdi		or mov %rsp,%rdi
 *	mov	%rax,N(%rsp)
 *	call	*%rsi
 *
 * The result is no guess, since that code passes the very address that was found. It is looked for in a leaf only: such
 * code seldom calls functions.
 *
 * At the end the register has the caller's value again, but what is left is to pop registers and to return.
 */
#ifndef EBPF_REGEX_CODE_BPF_H
#define EBPF_REGEX_CODE_BPF_H

#include "ebpf/architecture.bpf.h"
#include "ebpf/process_mappings.bpf.h"
#include "ebpf/safe_reads.bpf.h"
#include "ebpf/state.bpf.h"

enum {
	/** DWARF numbers of rdi and rbx, and the words of the frame that may have the struct's address (LOCAL1, iref_ptr). */
	REGEX_FIRST_REGISTER = 5,
	REGEX_RESET_REGISTER = 3,
	REGEX_FRAME_WORD = 2,
	REGEX_FRAME_WORDS = 7,
	/** Number of locations of the address: those, and rbp. */
	REGEX_LOCATIONS = 3 + REGEX_FRAME_WORDS,
	/** Limit of the words below the struct that are read, one in each step of the unwind. N fits into 7 bits. */
	REGEX_MAX_WORDS = 16,
	REGEX_MAX_STEPS = REGEX_LOCATIONS * REGEX_MAX_WORDS,
	/** Code in front of the return address that is looked at, and the size of the call at its end. */
	REGEX_CODE_BYTES = 16,
	REGEX_CALL_BYTES = 2,
	/** Limit of the distance from sp to the struct: a frame of compiled code has a word or two for each group. */
	REGEX_FRAME_MAX_BYTES = 1 << 16,
	/** Limit of the registers that are popped when rbp has been. */
	REGEX_MAX_POPS = 4,
	/** The code passes no address in its frame. */
	REGEX_NO_DISTANCE = 0xffff,
};

/** Begins the search, if the leaf whose caller is to be guessed can be in code of a regular expression. */
static __always_inline void regex_code_begin(struct unwind_state *state)
{
	if (state->guess_for != UNWIND_ANONYMOUS || !state->registers_known ||
	    state->frame_flags & FRAME_RETURN_ADDRESS || !RETURN_ADDRESS_BYTES)
		return;
	state->regex_words_left = REGEX_MAX_STEPS;
}

/*
 * If @first and @second are the last bytes of code that calls a function with an address in its own frame as the first argument:
 * the distance of that address from the stack pointer; else REGEX_NO_DISTANCE.
 */
static __always_inline __u32 passed_distance(__u64 first, __u64 second)
{
	__u32 distance = REGEX_NO_DISTANCE;

	for (int i = 0; i < REGEX_CODE_BYTES - REGEX_CALL_BYTES - 2; i++) {
		__u64 code = i >= 8 ? second >> 8 * (i - 8) :
			     i	    ? first >> 8 * i | second << (64 - 8 * i) :
				      first;

		/* lea N(%rsp),%rdi; mov %rsp,%rdi */
		distance = (__u32)code == 0x247c8d48 ? code >> 32 & 0xff : distance;
		distance = (code & 0xffffff) == 0xe78948 ? 0 : distance;
	}
	/* call *%reg */
	return (second >> 48 & 0xf8ff) == 0xd0ff ? distance : REGEX_NO_DISTANCE;
}

/*
 * Sets the state to the caller if the word at @slot is a return address behind a call that passes the address @distance above
 * its stack pointer; REGEX_NO_DISTANCE: any address in its frame.
 */
static __always_inline void regex_code_leave(struct unwind_state *state, __u64 slot, __u32 distance)
{
	__u64 word = 0, first = 0, second = 0;
	__u32 passed;

	if (read_word(slot, &word) || read_word_pair(word - REGEX_CODE_BYTES, &first, &second))
		return;
	passed = passed_distance(first, second);
	if (passed == REGEX_NO_DISTANCE || (distance != REGEX_NO_DISTANCE && passed != distance) ||
	    find_mapping(state, word - 1))
		return;
	state->regex_words_left = 0;
	state->guess_for = UNWIND_OK;
	state->guess_count--;
	state_go_on(state, word, slot + RETURN_ADDRESS_BYTES, FRAME_RETURN_ADDRESS);
	state->fp_known = 0;
	state->rbx_location = RBX_NOWHERE;
}

/* The same if the code at pc pops registers and returns. */
static __always_inline void regex_code_return(struct unwind_state *state)
{
	__u64 code = 0, slot = state->sp;

	if (read_word(state->pc, &code))
		return;
	for (int i = 0; i < REGEX_MAX_POPS; i++) {
		/* pop of r8 to r15, and of the others */
		__u32 bytes = (code & 0xf8ff) == 0x5841 ? 2 : (code & 0xf8) == 0x58 ? 1 : 0;

		slot += bytes ? 8 : 0;
		code >>= 8 * bytes;
	}
	if ((__u8)code == 0xc3)
		regex_code_leave(state, slot, REGEX_NO_DISTANCE);
}

/* The value in location @index of the struct's address. */
static __always_inline __u64 regex_address(const struct unwind_state *state, __u32 index)
{
	__u64 address = 0;

	if (index == 0)
		return state->registers[FP_REGISTER];
	if (index == 1)
		return state->registers[REGEX_RESET_REGISTER];
	if (index == 2)
		return state->registers[REGEX_FIRST_REGISTER];
	if (read_word(state->sp + 8 * (__u64)(index - 3 + REGEX_FRAME_WORD), &address))
		return 0;
	return address;
}

/**
 * Reads one word of the search while state->regex_words_left is set. Sets the state to the caller if it is found. If the
 * search ends without it, state->guess_for is still set.
 */
static __always_inline void regex_code_step(struct unwind_state *state)
{
	__u32 step = REGEX_MAX_STEPS - state->regex_words_left, index = step / REGEX_MAX_WORDS;
	__u32 distance = 8 * (step % REGEX_MAX_WORDS);
	__u64 slot = regex_address(state, index) - distance - RETURN_ADDRESS_BYTES;

	state->regex_words_left--;
	if (slot & 7 || slot - state->sp >= REGEX_FRAME_MAX_BYTES)
		/* No other word below this address will do. */
		state->regex_words_left = REGEX_MAX_STEPS - (index + 1) * REGEX_MAX_WORDS;
	else
		regex_code_leave(state, slot, distance);
	if (state->guess_for && !state->regex_words_left)
		regex_code_return(state);
}

#endif
