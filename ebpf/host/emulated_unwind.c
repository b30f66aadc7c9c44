// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * The emulated helpers, and the loop around the steps. In the kernel the loop is the program
 * native_unwind, and from the first frame of an interpreter on that of its language. A map is identified
 * by the address of its variable; an inner map is its cells.
 */
#include "ebpf/host/emulated_unwind.h"

#include <elf.h>
#include <string.h>

#include "build/ebpf/language_steps.h"
#include "ebpf/native_step.bpf.h"

/* The memory of this thread's unwind. */
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

long bpf_find_vma(struct task_struct *task, __u64 address,
		  long (*take)(struct task_struct *, struct vm_area_struct *, void *),
		  void *context, __u64 flags)
{
	struct vm_area_struct area;

	if (flags || !current_memory->find_area ||
	    current_memory->find_area(current_memory->context, address, &area))
		return -1;
	take(task, &area, context);
	return 0;
}

static void set_start(struct unwind_state *state, const struct emulated_start *start)
{
	state_begin(state);
	/* The ids of an earlier unwind may refer to other tables. */
	memset(state->rules, 0, sizeof(state->rules));
#define X(kind, NAME, name, type, frames, files) name##_state_forget(&state->name);
	LANGUAGES(X)
#undef X
	/* An identity of no process; it must differ from the 0 of unused cache entries. */
	state->record.identity = (struct process_identity){ .start_time_ns = 1 };
	/* Its kernel frames, if any, are added by the caller. */
	state->record.kernel_word_count = 0;
	state->record.word_count = 0;
	state->record.flags = 0;
	memcpy(state->registers, start->registers, sizeof(state->registers));
	state->mapping_cell = start->mapping_cell;
	state->mapping_count = start->mapping_count;
	state->uprobe_task = start->uprobe_task;
	state->runtime_cell = start->runtime_cell;
	state->thread_pointer = start->thread_pointer;
	state_start_at_registers(state);
	state->frame_flags = start->frame_flags;
	if (start->unknown & DEFERRED_UNKNOWN_REGISTERS)
		state->registers_known = 0;
	if (start->unknown & DEFERRED_UNKNOWN_FP)
		state->fp_known = 0;
	if (start->unknown & DEFERRED_UNKNOWN_RBX)
		state->rbx_location = RBX_NOWHERE;
}

uint16_t emulated_machine(void)
{
	return LINK_REGISTER < REGISTER_COUNT ? EM_AARCH64 : EM_X86_64;
}

uint64_t emulated_stack_pointer(const struct emulated_start *start)
{
	return start->registers[SP_REGISTER];
}

/*
 * Takes one step; a pending native frame is not in the record yet. False for a language that does not exist.
 */
static bool take_step(struct unwind_state *state)
{
	switch (state->language) {
	case FRAME_NONE:
		state->error = native_step_or_guess(state);
		return true;
#define X(kind, NAME, name, type, frames, files)                                                   \
	case FRAME_##NAME:                                                                         \
		state->error = name##_step(state);                                                 \
		return true;
		LANGUAGES(X)
#undef X
	}
	return false;
}

void emulated_unwind(const struct emulated_memory *memory, const struct emulated_start *start,
		     struct emulated_trace *trace)
{
	struct unwind_state state;
	uint64_t pc = 0;
	int steps_max = USER_FRAMES_MAX;
	bool in_native = true;

	current_memory = memory;
	set_start(&state, start);
	for (int i = 0; i < steps_max && !is_unwind_over(&state); i++) {
		uint32_t word_count = state.record.word_count;

		/* Enter the language's unwinder, which also handles the following native frames. */
		if (state.language && in_native) {
			in_native = false;
			steps_max = i + LANGUAGE_STEPS_MAX;
		}
		if (!state.language || state.wait == WAIT_CODE)
			pc = state.pc;
		if (!take_step(&state))
			break;
		for (; word_count < state.record.word_count; word_count++)
			trace->pcs[word_count] = pc;
	}
	if (state.language)
		state.error = UNWIND_TRUNCATED;
	if (has_pending_frame(&state))
		release_frame(&state);
	if (!state.at_end && !state.error)
		state.error = UNWIND_TRUNCATED;
	if (state.error)
		push_error(&state, state.error);
	current_memory = NULL;

	trace->error = state.error;
	trace->interpreter_error = state.interpreter_error;
	trace->unknown_address = state.unknown_address;
	trace->word_count = state.record.word_count;
	memcpy(trace->words, &state.record_words[RECORD_HEADER_WORDS],
	       trace->word_count * sizeof(trace->words[0]));
}
