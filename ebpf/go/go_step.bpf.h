/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * go_step(): steps from a function of Go's runtime that may have switched stacks (abi/go.h) to its
 * caller, which may be on the other stack. The stack pointer shows whether the stack is switched at the
 * moment: it is on the stack of the thread's goroutine, or not.
 *
 * Nothing of the process is trusted: pointers lead to stacks that are read like any other, and the
 * number of switches in an unwind is limited.
 */
#ifndef EBPF_GO_STEP_BPF_H
#define EBPF_GO_STEP_BPF_H

#include "ebpf/abi/go.h"
#include "ebpf/go/go_machine.bpf.h"
#include "ebpf/languages.bpf.h"
#include "ebpf/native_step.bpf.h"
#include "ebpf/safe_reads.bpf.h"
#include "ebpf/state.bpf.h"
#include "ebpf/tables.bpf.h"

enum {
	GO_STEPS_MAX = USER_FRAMES_MAX + STACK_SWITCHES_MAX,
	GO_PROCESS_CELLS = sizeof(struct go_process) / CELL_BYTES,
	/**
	 * arm64: the return address is in a register at first, and functions overwrite it before they
	 * switch stacks. Rows distinguish these parts of a function (stackdeltas/go_arm64.h).
	 */
	GO_HAS_LINK = LINK_REGISTER < REGISTER_COUNT,
};

/*
 * The rules as in stackdeltas/go_rules.c: that of all Go functions, and on arm64 that of functions without a
 * frame. The section is that of their type information; compilers put small constants elsewhere.
 */
SEC(".rodata")
static const struct unwind_rule go_rule = {
	.cfa = CFA_SP,
	.fp = SAVED_UNDEFINED,
	.rbx_slot = RBX_LOST,
#ifdef __TARGET_ARCH_arm64
	.ra = SAVED_AT_SP,
#else
	.ra = SAVED_AT_CFA,
	.ra_offset = -RETURN_ADDRESS_BYTES,
#endif
};

SEC(".rodata")
static const struct unwind_rule go_rule_at_call = {
	.cfa = CFA_SP,
	.fp = SAVED_UNDEFINED,
	.ra = SAVED_SAME,
};

/* Loads the data of the runtime whose function was reached last; false if there is none. */
static __always_inline bool go_load_process(struct unwind_state *state)
{
	const struct cell *row;

	for (int i = 0; state->runtime_cell && i < RUNTIMES_MAX; i++) {
		row = cell_at(state->runtime_cell + i);
		if (!row || !row->words[0])
			return false;
		if (row->words[0] != state->left_executable || (__u8)row->words[1] != FRAME_GO)
			continue;
		return read_cells(&state->go.process, row->words[1] >> 32, GO_PROCESS_CELLS);
	}
	return false;
}

/* Finds the thread's g, m and curg, as far as they can be read, by the loaded data. */
static __always_inline void go_find_thread(struct unwind_state *state)
{
	struct go_unwind *unwind = &state->go;
	__u64 g = 0, m = 0, g0 = 0;

	unwind->m = 0;
	unwind->g0 = 0;
	unwind->curg = 0;
	unwind->stack_low = 0;
	unwind->stack_high = 0;
	unwind->callback_sp = 0;
	unwind->is_left = 0;
	unwind->is_recovering = 0;
	unwind->is_moving = 0;
	unwind->executable_id = state->left_executable;
	if (unwind->process.g.depth)
		g = follow_thread_path(state->thread_pointer, &unwind->process.g);
	else if ((int)GO_REGISTER < (int)REGISTER_COUNT)
		g = state->registers[GO_REGISTER % REGISTER_COUNT_MAX];
	unwind->g = g;
	if (!g || read_word(g + GO_G_M, &m) || !m || read_word(m + GO_M_G0, &g0) || !g0 ||
	    read_word(m + unwind->process.m_curg, &unwind->curg))
		return;
	unwind->m = m;
	unwind->g0 = g0;
	if (unwind->curg &&
	    read_word_pair(unwind->curg + GO_G_STACK_LOW, &unwind->stack_low, &unwind->stack_high))
		unwind->curg = 0;
}

static __always_inline bool go_is_on_goroutine(const struct go_unwind *unwind, __u64 sp)
{
	return unwind->curg && sp >= unwind->stack_low && sp < unwind->stack_high;
}

/* Steps to the caller by the ordinary rule, with @sp as the stack pointer. */
static __always_inline enum unwind_error go_step_from(struct unwind_state *state, __u64 sp)
{
	const struct unwind_rule *rule = state->left_offset ? &go_rule : &go_rule_at_call;

	if (sp != state->sp && state->stack_switch_count++ >= STACK_SWITCHES_MAX)
		return UNWIND_NO_PROGRESS;
	state->sp = sp;
	return restore_caller(state, rule, sp + state->left_offset);
}

/* Goes on in a function that resumes at @pc behind a call, with the stack pointer @sp. */
static __always_inline enum unwind_error go_go_on(struct unwind_state *state, __u64 pc, __u64 sp)
{
	if (state->stack_switch_count++ >= STACK_SWITCHES_MAX)
		return UNWIND_NO_PROGRESS;
	state->pc = pc;
	state->sp = sp;
	state->fp_known = 0;
	state->sp_known = 1;
	state->rbx_location = RBX_NOWHERE;
	state->registers_known = 0;
	state->frame_flags = FRAME_RETURN_ADDRESS;
	return UNWIND_OK;
}

/* Sets the link register for the function that was gone on to: at its beginning it has its return address there. */
static __always_inline void go_set_link(struct unwind_state *state, __u64 link)
{
	state->registers[LINK_REGISTER % REGISTER_COUNT_MAX] = link;
	state->registers_known = 1;
}

/* Reads a word of curg's gobuf; UNWIND_STACK_SWITCH if there is no curg, or the word cannot be read. */
static __always_inline enum unwind_error go_sched_word(const struct go_unwind *unwind, __u32 offset,
						       __u64 *word)
{
	if (!unwind->curg || read_word(unwind->curg + GO_G_SCHED + offset, word))
		return UNWIND_STACK_SWITCH;
	return UNWIND_OK;
}

static __always_inline enum unwind_error go_leave_systemstack(struct unwind_state *state)
{
	struct go_unwind *unwind = &state->go;
	enum unwind_error error;
	__u64 sp = 0;

	if (go_is_on_goroutine(unwind, state->sp))
		return go_step_from(state, state->sp);
	error = go_sched_word(unwind, GO_GOBUF_SP, &sp);
	if (error)
		return error;
	return go_is_on_goroutine(unwind, sp) ? go_step_from(state, sp) : UNWIND_STACK_SWITCH;
}

/*
 * Steps out of mcall() and morestack() to the goroutine, as long as that is the thread's. A scheduler's
 * stack that belongs to no goroutine any more ends here.
 */
static __always_inline enum unwind_error go_leave_mcall(struct unwind_state *state)
{
	struct go_unwind *unwind = &state->go;
	enum unwind_error error;
	__u64 pc = 0, sp = 0, lr = 0;

	if (!GO_HAS_LINK && go_is_on_goroutine(unwind, state->sp))
		return go_step_from(state, state->sp);
	if (unwind->m && (!unwind->curg || unwind->is_left)) {
		state->at_end = 1;
		return UNWIND_OK;
	}
	error = go_sched_word(unwind, GO_GOBUF_SP, &sp);
	if (!error)
		error = go_sched_word(unwind, GO_GOBUF_PC, &pc);
	if (error)
		return error;
	/* While morestack() moves the goroutine to a larger stack, the old one is not the goroutine's any more. */
	if (state->left_kind != GO_SWITCH_MORESTACK && !go_is_on_goroutine(unwind, sp))
		return UNWIND_STACK_SWITCH;
	/* recovery() writes the stack pointer before the pc. Below either stack pointer is that function's last call. */
	if (unwind->is_moving && read_word(sp - 8, &pc))
		return UNWIND_STACK_SWITCH;
	error = go_go_on(state, code_address(pc), sp);
	if (unwind->is_recovering && !unwind->is_moving)
		state->frame_flags = 0;
	if (error || !GO_HAS_LINK || state->left_kind != GO_SWITCH_MORESTACK)
		return error;
	if (read_word(unwind->curg + unwind->process.g_sched_lr, &lr))
		return UNWIND_STACK_SWITCH;
	go_set_link(state, lr);
	return UNWIND_OK;
}

/* Steps out of morestack() before it has stored its caller in the goroutine. */
static __always_inline enum unwind_error go_leave_growing(struct unwind_state *state)
{
	__u64 link = state->registers[GO_GROWING_REGISTER % REGISTER_COUNT_MAX];
	enum unwind_error error;

	if (!GO_HAS_LINK)
		return UNWIND_UNSUPPORTED_RULE;
	if (!state->registers_known)
		return UNWIND_REGISTER_UNKNOWN;
	error = go_step_from(state, state->sp);
	if (!error)
		go_set_link(state, link);
	return error;
}

/*
 * asmcgocall() keeps the goroutine and the distance of its stack pointer below the stack's upper end,
 * since the stack may be moved. If it has not switched stacks, it keeps 0 and the stack pointer.
 */
static __always_inline enum unwind_error go_leave_asmcgocall(struct unwind_state *state)
{
	struct go_unwind *unwind = &state->go;
	__u64 g = 0, depth = 0, low = 0, high = 0;

	if (go_is_on_goroutine(unwind, state->sp))
		return go_step_from(state, state->sp);
	if (read_word(state->sp + unwind->process.call_g, &g) ||
	    read_word(state->sp + unwind->process.call_depth, &depth))
		return UNWIND_STACK_UNREADABLE;
	if (!g)
		return depth > state->sp ? go_step_from(state, depth) : UNWIND_STACK_SWITCH;
	if (read_word_pair(g + GO_G_STACK_LOW, &low, &high) || depth > high - low)
		return UNWIND_STACK_SWITCH;
	return go_step_from(state, high - depth);
}

/*
 * C's stack continues at the thread's own stack pointer at the time of the call. g0 has that, and at that
 * address is the stack pointer of the call before.
 */
static __always_inline enum unwind_error go_leave_cgocallback(struct unwind_state *state)
{
	struct go_unwind *unwind = &state->go;
	__u64 sp = unwind->callback_sp;

	/* Once g0 has this stack pointer, the next call further out has the one that is kept here. */
	if (!go_is_on_goroutine(unwind, state->sp)) {
		if (unwind->g0 && !read_word(unwind->g0 + GO_G_SCHED + GO_GOBUF_SP, &sp) &&
		    sp == state->sp && read_word(sp + GO_CALLBACK_SP_OFFSET, &unwind->callback_sp))
			return UNWIND_STACK_UNREADABLE;
		return go_step_from(state, state->sp);
	}
	if (!sp && read_word(unwind->g0 + GO_G_SCHED + GO_GOBUF_SP, &sp))
		return UNWIND_STACK_SWITCH;
	if (read_word(sp + GO_CALLBACK_SP_OFFSET, &unwind->callback_sp))
		return UNWIND_STACK_UNREADABLE;
	return go_step_from(state, sp);
}

/* The runtime stores the caller in m before it switches stacks. */
static __always_inline enum unwind_error go_leave_vdso(struct unwind_state *state)
{
	struct go_unwind *unwind = &state->go;
	__u64 pc = 0, sp = 0;

	if (go_is_on_goroutine(unwind, state->sp))
		return go_step_from(state, state->sp);
	if (!unwind->m || read_word(unwind->m + unwind->process.m_vdso_sp, &sp))
		return UNWIND_STACK_SWITCH;
	if (!sp)
		return go_step_from(state, state->sp);
	if (read_word(unwind->m + unwind->process.m_vdso_pc, &pc))
		return UNWIND_STACK_SWITCH;
	return go_go_on(state, code_address(pc), sp);
}

/*
 * On its last instructions gogo() has the goroutine's stack pointer, and pops nothing. The goroutine may
 * resume at the beginning of a function. On arm64 gogo() has lost its caller before.
 */
static __always_inline enum unwind_error go_leave_gogo(struct unwind_state *state)
{
	const struct go_unwind *unwind = &state->go;
	enum unwind_error error;
	__u64 pc = 0, sp = state->sp, lr = 0;

	if (!GO_HAS_LINK && !go_is_on_goroutine(unwind, sp))
		return go_step_from(state, sp);
	if (go_sched_word(unwind, GO_GOBUF_PC, &pc))
		return UNWIND_STACK_SWITCH;
	if (!go_is_on_goroutine(unwind, sp) &&
	    (go_sched_word(unwind, GO_GOBUF_SP, &sp) || !go_is_on_goroutine(unwind, sp)))
		return UNWIND_STACK_SWITCH;
	if (GO_HAS_LINK && read_word(unwind->curg + unwind->process.g_sched_lr, &lr))
		return UNWIND_STACK_SWITCH;
	/* gogo() clears the field once the register has the value. */
	if (GO_HAS_LINK && !lr && state->registers_known)
		lr = state->registers[LINK_REGISTER % REGISTER_COUNT_MAX];
	error = go_go_on(state, code_address(pc), sp);
	state->frame_flags = 0;
	if (GO_HAS_LINK)
		go_set_link(state, lr);
	return error;
}

/*
 * The child runs on another stack, at first with its creator's g or none, and then with one whose stack is
 * empty. Its stack may end where the creator's begins.
 */
static __always_inline enum unwind_error go_leave_clone(struct unwind_state *state)
{
	__u64 low = 0, high = 0;

	if (!state->go.g || read_word_pair(state->go.g + GO_G_STACK_LOW, &low, &high) ||
	    state->sp <= low || state->sp >= high) {
		state->at_end = 1;
		return UNWIND_OK;
	}
	return go_step_from(state, state->sp);
}

/* As go_leave_injected(), once it has popped all of this: the address is in a register, to which it jumps next. */
static __always_inline enum unwind_error go_leave_returned(struct unwind_state *state)
{
	__u64 pc = state->registers[GO_RETURN_REGISTER % REGISTER_COUNT_MAX], lr = 0;
	enum unwind_error error;

	if (!state->registers_known)
		return UNWIND_REGISTER_UNKNOWN;
	if (read_word(state->sp + state->left_offset, &lr))
		return UNWIND_STACK_UNREADABLE;
	error = go_go_on(state, code_address(pc), state->sp);
	state->frame_flags = 0;
	go_set_link(state, lr);
	return error;
}

/*
 * The return address is that of the interrupted instruction. On arm64 the caller's link register is saved
 * above the frame, in 16 bytes.
 */
static __always_inline enum unwind_error go_leave_injected(struct unwind_state *state)
{
	enum unwind_error error;
	__u64 lr = 0;

	if (GO_HAS_LINK && state->left_offset < 0)
		return go_leave_returned(state);
	error = go_step_from(state, state->sp);
	if (error)
		return error;
	state->frame_flags = 0;
	if (!GO_HAS_LINK)
		return UNWIND_OK;
	error = read_word(state->sp, &lr);
	state->sp += 16;
	go_set_link(state, lr);
	return error;
}

/** Steps from the native frame that was added last to its caller. */
static __always_inline enum unwind_error go_step(struct unwind_state *state)
{
	state->language = FRAME_NONE;
	if (state->go.executable_id != state->left_executable) {
		if (!go_load_process(state))
			return UNWIND_STACK_SWITCH;
		go_find_thread(state);
	}
	switch (state->left_kind) {
	case GO_SWITCH_SYSTEMSTACK:
		return go_leave_systemstack(state);
	case GO_SWITCH_MCALL:
	case GO_SWITCH_MORESTACK:
		return go_leave_mcall(state);
	case GO_SWITCH_ASMCGOCALL:
		return go_leave_asmcgocall(state);
	case GO_SWITCH_CGOCALLBACK:
		return go_leave_cgocallback(state);
	case GO_SWITCH_VDSO:
		return go_leave_vdso(state);
	case GO_SWITCH_GOGO:
		return go_leave_gogo(state);
	case GO_SWITCH_EXECUTE:
		state->go.is_left = 1;
		return go_step_from(state, state->sp);
	case GO_SWITCH_CLONE:
		return go_leave_clone(state);
	case GO_SWITCH_INJECTED:
		return go_leave_injected(state);
	case GO_SWITCH_GROWING:
		return go_leave_growing(state);
	case GO_SWITCH_RECOVERY:
		state->go.is_recovering = 1;
		state->go.is_moving = !GO_HAS_LINK && !(state->frame_flags & FRAME_RETURN_ADDRESS);
		return go_step_from(state, state->sp);
	default:
		return UNWIND_UNSUPPORTED_RULE;
	}
}

#endif
