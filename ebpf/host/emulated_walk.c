// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * The emulated helpers, and the loop around native_step() that is the program native_unwind in the
 * kernel. A map is known by the address of its variable; an inner map is its cells.
 */
#include "ebpf/host/emulated_walk.h"

#include <elf.h>
#include <string.h>

#include "ebpf/native_step.bpf.h"

_Static_assert(sizeof(((struct emulated_trace *)0)->words) / 8 >= 2 * USER_FRAMES_MAX + 1,
	       "the longest walk fits");

/* Of the walk that this thread is in. */
static __thread const struct emulated_memory *current_memory;

void *bpf_map_lookup_elem(void *map, const void *key)
{
	uint32_t index = *(const uint32_t *)key;

	if (map == &slabs)
		return index < SLAB_MAX_COUNT ?
			       current_memory->slab(current_memory->context, index) :
			       NULL;
	if (map == &executables)
		return index < EXECUTABLE_SLOT_COUNT ?
			       current_memory->executable(current_memory->context, index) :
			       NULL;
	return index < SLAB_CELLS ? (struct cell *)map + index : NULL;
}

long bpf_probe_read_user(void *bytes, __u32 size, const void *address)
{
	return current_memory->read_user(current_memory->context, (uintptr_t)address, bytes, size);
}

long bpf_probe_read_kernel(void *bytes, __u32 size, const void *address)
{
	if (!current_memory->read_kernel)
		return -1;
	return current_memory->read_kernel(current_memory->context, (uintptr_t)address, bytes,
					   size);
}

static void set_start(struct walk_state *state, const struct emulated_start *start)
{
	state_begin(state);
	/* The ids of an earlier walk may have been those of other tables. */
	memset(state->rules, 0, sizeof(state->rules));
	state->record.word_count = 0;
	memcpy(state->registers, start->registers, sizeof(state->registers));
	state->mapping_cell = start->mapping_cell;
	state->mapping_count = start->mapping_count;
	state->uprobe_task = start->uprobe_task;
	state_start_at_registers(state);
	if (start->is_system_call)
		state->frame_flags = FRAME_RETURN_ADDRESS;
}

uint16_t emulated_machine(void)
{
	return LINK_REGISTER < REGISTER_COUNT ? EM_AARCH64 : EM_X86_64;
}

uint64_t emulated_stack_pointer(const struct emulated_start *start)
{
	return start->registers[SP_REGISTER];
}

void emulated_walk(const struct emulated_memory *memory, const struct emulated_start *start,
		   struct emulated_trace *trace)
{
	struct walk_state state;

	current_memory = memory;
	set_start(&state, start);
	for (int i = 0; i < USER_FRAMES_MAX && !state.error && !state.at_end; i++) {
		/* Where a step adds no frame, the next one writes the same place. */
		trace->pcs[state.record.word_count / 2] = state.pc;
		state.error = native_step_or_guess(&state);
	}
	if (!state.at_end && !state.error)
		state.error = UNWIND_TRUNCATED;
	if (state.error)
		push_error(&state, state.error);
	current_memory = NULL;

	trace->error = state.error;
	trace->unknown_address = state.unknown_address;
	trace->word_count = state.record.word_count;
	memcpy(trace->words, &state.record_words[RECORD_HEADER_WORDS],
	       trace->word_count * sizeof(trace->words[0]));
}
