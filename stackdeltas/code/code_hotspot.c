/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of HotSpot's stubs; for all other code those of compilers. */
#include "stackdeltas/code/code_hotspot.h"

#include <elf.h>
#include <string.h>

#include "lib/elf/dwarf_constants.h"
#include "lib/isa/arm64_decode.h"

enum {
	WORD_BYTES = 8,
	STACK_ALIGNMENT = 16,
	/* Offsets from the CFA. */
	RA_SLOT = -8,
	FP_SLOT = -16,
	/* Size of the two instructions that copy the return address from the thread structure to the stack. */
	X86_RETURN_BYTES = 11,
	/* Limit of the code that saves all registers, vector registers included. */
	MAX_SAVING_BYTES = 2048,
	/* arm64's register with the address of the thread structure. */
	ARM64_THREAD = 28,
};

/* mov rsp, [r15 + d32]. A return barrier begins with it too, but is on that stack already. */
static const char GO_TO_ENTRY[] = "\x49\x8b\xa7";
/* push rbx */
static const char MAKE_ROOM[] = "\x53";

bool code_hotspot_is_entry(const struct code_chunk *chunk, const struct code_state *state)
{
	struct code_state compared = *state;

	compared.rbx_is_callers |= chunk->is_hotspot;
	/* A stub may return a result in rbp: the frames of its callers are found by their size. */
	if (chunk->is_hotspot && compared.fp.kind == CODE_UNKNOWN)
		compared.fp.kind = CODE_CALLERS;
	return code_state_is_entry(&compared, chunk->machine);
}

bool code_hotspot_is_exit(const struct code_chunk *chunk, const struct code_state *state)
{
	bool is_anew = state->sp.kind == CODE_UNKNOWN;
	bool has_popped = chunk->machine == EM_X86_64 && state->sp.kind == CODE_FROM_CFA &&
			  !state->sp.offset;

	return chunk->is_hotspot && (is_anew || has_popped);
}

bool code_hotspot_is_good_exit(const struct code_chunk *chunk, const struct code_state *state)
{
	return chunk->is_hotspot && state->sp.kind == CODE_FROM_CFA && !state->sp.offset &&
	       state->fp.kind == CODE_CALLERS && state->ra_register != CODE_NO_REGISTER;
}

bool code_hotspot_starts(const struct code_chunk *chunk, const struct code_state *state)
{
	return !chunk->is_hotspot || code_hotspot_is_entry(chunk, state);
}

static bool is_at(const struct code_chunk *chunk, uint32_t offset, const char *bytes,
		  uint32_t count)
{
	return chunk->size - offset >= count && !memcmp(chunk->bytes + offset, bytes, count);
}

/* Switches to the stack of the continuation's entry, which is followed by frames of its own, without return address. */
static void go_to_entry(const struct code_chunk *chunk, struct code_state *state)
{
	code_state_init(state, chunk->machine);
	state->sp.offset = 0;
	state->ra_slot = 0;
	state->fp.kind = CODE_UNKNOWN;
	state->rbx_is_callers = 0;
	state->continuation = CODE_AT_ENTRY;
}

/* True for a load or store of 8 bytes at a fixed offset from arm64's register @base. */
static bool is_word_at(const struct arm64_instruction *instruction, uint8_t base)
{
	return instruction->mode == ARM64_OFFSET && !instruction->is_vector &&
	       instruction->bytes == WORD_BYTES && instruction->rn == base;
}

/*
 * Size of the code at @offset that copies the return address from @thread_offset in the thread to the stack; 0: the code
 * does something else.
 */
static uint32_t return_from_thread(const struct code_chunk *chunk, uint32_t offset,
				   int32_t *thread_offset)
{
	const uint8_t *bytes = chunk->bytes + offset;
	struct arm64_instruction load, store;
	uint32_t words[2];

	if (chunk->machine == EM_X86_64) {
		/* mov reg, [r15 + d32]; mov [rbp + 8], reg */
		if (chunk->size - offset < X86_RETURN_BYTES || memcmp(bytes, "\x49\x8b", 2) ||
		    (bytes[2] & 0xc7) != 0x87 || memcmp(bytes + 7, "\x48\x89", 2) ||
		    bytes[9] != (bytes[2] & 0x38) + 0x45 || bytes[10] != WORD_BYTES)
			return 0;
		memcpy(thread_offset, bytes + 3, sizeof(*thread_offset));
		return X86_RETURN_BYTES;
	}
	/* ldr reg, [x28, #n]; str reg, [x29, #8] */
	if (offset % sizeof(words[0]) || chunk->size - offset < sizeof(words))
		return 0;
	memcpy(words, bytes, sizeof(words));
	arm64_decode(words[0], 0, &load);
	arm64_decode(words[1], 0, &store);
	if (load.operation != ARM64_LOAD || !is_word_at(&load, ARM64_THREAD) ||
	    store.operation != ARM64_STORE || !is_word_at(&store, ARM64_FP) ||
	    store.immediate != WORD_BYTES || store.rd != load.rd || load.immediate < 0)
		return 0;
	*thread_offset = (int32_t)load.immediate;
	return sizeof(words);
}

/*
 * A poll in a method jumps here, as if it had called: only the thread structure has the return address, until all
 * registers are saved and it is stored into the frame, SharedRuntime::generate_handler_blob().
 */
static bool enter_at_poll(const struct code_chunk *chunk, struct code_state *state)
{
	bool makes_room = chunk->is_thrown_to && is_at(chunk, 0, MAKE_ROOM, 1);
	int32_t thread_offset = 0;

	if (chunk->machine == EM_X86_64 && !makes_room)
		return false;
	for (uint32_t i = 0; i < chunk->size && i < MAX_SAVING_BYTES && !thread_offset; i++)
		return_from_thread(chunk, i, &thread_offset);
	if (!thread_offset && !makes_room)
		return false;
	state->sp.offset = 0;
	state->ra_slot = 0;
	state->ra_register = CODE_NO_REGISTER;
	state->ra_in_thread = thread_offset;
	return true;
}

void code_hotspot_enter(const struct code_chunk *chunk, uint32_t offset, struct code_state *state)
{
	bool is_first = chunk->is_hotspot && !offset;

	if (is_first && enter_at_poll(chunk, state))
		return;
	is_first = is_first && chunk->machine == EM_X86_64;
	if (chunk->is_hotspot && is_at(chunk, offset, GO_TO_ENTRY, 3)) {
		go_to_entry(chunk, state);
	} else if (is_first && chunk->is_thrown_to) {
		state->sp.offset = 0;
		state->ra_slot = 0;
		state->ra_register = DWARF_X86_RDX;
	} else if (is_first && chunk->frame_bytes >= -FP_SLOT &&
		   chunk->frame_bytes <= CODE_MAX_OFFSET) {
		state->sp.offset = -(int32_t)chunk->frame_bytes;
		state->fp = (struct code_value){ CODE_FROM_CFA, FP_SLOT };
		state->fp_slot = state->fp;
	}
}

bool code_hotspot_is_data(const struct code_chunk *chunk, const struct code_marks *marks,
			  uint32_t offset, uint32_t length)
{
	for (uint32_t i = 1; chunk->is_hotspot && i < length; i++)
		if (marks->marks[offset + i] & CODE_MARK_GIVEN)
			return true;
	return false;
}

/* True if the stub has built the stack again: the CFA cannot be computed. */
static bool is_anew(const struct code_state *state)
{
	return state->sp.kind == CODE_UNKNOWN && state->fp.kind < CODE_FROM_CFA &&
	       state->other.kind != CODE_FROM_CFA && !state->is_outermost && !state->continuation;
}

int code_hotspot_merge(const struct code_chunk *chunk, struct code_state *into,
		       const struct code_state *from)
{
	if (!chunk->is_hotspot || is_anew(into) == is_anew(from))
		return code_state_merge(into, from);
	if (is_anew(into))
		return 0;
	*into = *from;
	return 1;
}

bool code_hotspot_proves(const struct code_chunk *chunk, bool is_known,
			 const struct code_state *state)
{
	return chunk->is_hotspot && is_known && !is_anew(state);
}

/* A value that a stub stores in the slot of the return address is its new return address. */
static void keep_return(const struct code_state *last, struct code_state *state)
{
	bool is_given_back = state->sp.kind == CODE_FROM_CFA && state->sp.offset > last->ra_slot;

	if (!state->ra_slot && !is_given_back)
		state->ra_slot = last->ra_slot;
}

/* Sets the slot of the return address once the second of the two instructions that store it has been executed. */
static void take_return_from_thread(const struct code_chunk *chunk, uint32_t offset,
				    const struct code_state *last, struct code_state *state)
{
	uint32_t load_bytes = chunk->machine == EM_X86_64 ? 7 : 4;
	int32_t thread_offset;

	if (!last->ra_in_thread || last->fp.kind != CODE_FROM_CFA || offset < load_bytes ||
	    !return_from_thread(chunk, offset - load_bytes, &thread_offset))
		return;
	state->ra_slot = last->fp.offset + WORD_BYTES;
	state->ra_in_thread = 0;
}

/* Sets the state of a function behind: push rbp; mov rbp, rsp. */
static void make_frame(struct code_state *state)
{
	state->sp = (struct code_value){ CODE_FROM_CFA, FP_SLOT };
	state->fp = state->sp;
	state->fp_slot = state->sp;
	state->ra_slot = RA_SLOT;
}

/* Sets the state at frames that were copied back: return address and frame pointer of the innermost are below the CFA. */
static void know_thawed(struct code_state *state, struct code_value sp)
{
	state->sp = sp;
	state->fp.kind = CODE_UNKNOWN;
	state->fp_slot = (struct code_value){ CODE_FROM_CFA, FP_SLOT };
	state->ra_slot = RA_SLOT;
}

/* True for the push of a return address that was popped together with arguments above it. */
static bool pushes_return(const struct code_chunk *chunk, uint32_t offset,
			  const struct code_state *last, const struct code_state *state)
{
	return last->sp.kind == CODE_FROM_CFA && last->sp.offset > 0 && !last->ra_slot &&
	       state->sp.offset == last->sp.offset - WORD_BYTES && last->fp.kind == CODE_CALLERS &&
	       last->ra_register == DWARF_X86_RAX && is_at(chunk, offset, "\x50", 1);
}

/*
 * Follows the stubs that copy frames of a continuation to the stack, StubGenerator::generate_cont_thaw(): they switch
 * to the stack of its entry, make room there, and then switch to the frames that were copied.
 */
static void follow_continuation(const struct code_chunk *chunk, uint32_t offset,
				const struct code_state *last, struct code_state *state)
{
	/* pop rcx; mov rdi, r15, the beginning of the stub */
	if (code_hotspot_is_entry(chunk, last) && is_at(chunk, offset, "\x59\x49\x8b\xff", 4))
		state->continuation = CODE_AT_ENTRY;
	/* Behind an aligned stack pointer the same instruction restores the own one, and rbp has the frame. */
	if (is_at(chunk, offset, GO_TO_ENTRY, 3) && last->fp.kind != CODE_FROM_CFA)
		go_to_entry(chunk, state);
	/* sub rsp, rbx */
	if (last->continuation == CODE_AT_ENTRY && !last->sp.offset &&
	    is_at(chunk, offset, "\x48\x2b\xe3", 3)) {
		state->sp = (struct code_value){ CODE_FROM_BASE, 0 };
		state->continuation = CODE_BELOW_ENTRY;
	}
	/* mov rbx, rax */
	if (last->continuation == CODE_BELOW_ENTRY && is_at(chunk, offset, "\x48\x8b\xd8", 3)) {
		know_thawed(state, (struct code_value){ CODE_UNKNOWN, 0 });
		state->other = (struct code_value){ CODE_FROM_CFA, 0 };
		state->other_register = DWARF_X86_RBX;
		state->continuation = CODE_NO_CONTINUATION;
	}
	/* mov rsp, rbx; sub rsp, 16 */
	if (last->sp.kind == CODE_UNKNOWN && last->other.kind == CODE_FROM_CFA &&
	    is_at(chunk, offset, "\x48\x8b\xe3\x48\x83\xec\x10", 7))
		know_thawed(state, (struct code_value){ CODE_FROM_CFA, 0 });
}

void code_hotspot_amend(const struct code_chunk *chunk, uint32_t offset,
			const struct code_state *last, struct code_state *state)
{
	uint8_t rbx_is_callers = state->rbx_is_callers;

	if (!chunk->is_hotspot)
		return;
	keep_return(last, state);
	take_return_from_thread(chunk, offset, last, state);
	if (chunk->machine != EM_X86_64)
		return;
	/* Java's frames are aligned: the alignment has no effect, and the stack pointer is not saved elsewhere. */
	if (state->sp.kind == CODE_FROM_BASE && last->sp.kind == CODE_FROM_CFA &&
	    last->sp.offset % STACK_ALIGNMENT == 0 && last->fp.kind != CODE_FROM_CFA)
		*state = *last;
	/* mov rdx, [r15 + d32]: loads the address at which an exception was thrown. */
	if (last->ra_register == DWARF_X86_RDX && is_at(chunk, offset, "\x49\x8b\x97", 3))
		state->ra_register = DWARF_X86_RDX;
	if (pushes_return(chunk, offset, last, state)) {
		code_state_init(state, chunk->machine);
		state->rbx_is_callers = rbx_is_callers;
	}
	follow_continuation(chunk, offset, last, state);
	if (last->sp.kind == CODE_UNKNOWN && offset &&
	    is_at(chunk, offset - 1, "\x55\x48\x8b\xec", 4))
		make_frame(state);
	/* leave, after all registers were restored: the own frame pointer was one of them. */
	if (is_at(chunk, offset, "\xc9", 1) && last->fp.kind == CODE_UNKNOWN &&
	    last->own_fp_at.kind == CODE_UNKNOWN && last->sp.kind == CODE_FROM_CFA &&
	    last->fp_slot.kind == CODE_FROM_CFA && last->fp_slot.offset == FP_SLOT &&
	    last->ra_slot == RA_SLOT) {
		state->sp = (struct code_value){ CODE_FROM_CFA, RA_SLOT };
		state->fp = (struct code_value){ CODE_CALLERS, 0 };
		state->fp_slot = (struct code_value){ CODE_UNKNOWN, 0 };
		state->ra_slot = RA_SLOT;
	}
}
