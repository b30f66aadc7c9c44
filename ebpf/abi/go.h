/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * What the kernel side knows of Go's runtime in a process: struct go_process, filled by attach in
 * interpreters/go and published as abi/runtime.h says. Frames of Go's functions are native ones,
 * walked by rows; the language is entered only where the runtime may have gone from one stack to
 * another, at rows of CFA_LANGUAGE.
 *
 * A thread (struct m) has a stack of its own (g0), one for signals (gsignal), and that of the goroutine
 * that it runs (curg). Which function changes between them how: enum go_switch. Source: runtime/asm_*.s,
 * runtime/sys_linux_*.s, runtime/stubs.go of Go 1.16 to 1.27.
 */
#ifndef EBPF_ABI_GO_H
#define EBPF_ABI_GO_H

#include <linux/types.h>

#include "ebpf/abi/runtime.h"

/** What is the same in all versions: offsets in struct g and m. */
enum {
	GO_G_STACK_LOW = 0,
	GO_G_STACK_HIGH = 8,
	GO_G_M = 48,
	/** struct gobuf, where a goroutine goes on; and in it. */
	GO_G_SCHED = 56,
	GO_GOBUF_SP = 0,
	GO_GOBUF_PC = 8,
	GO_M_G0 = 0,
};

/** Functions at which a stack goes on elsewhere. */
enum go_switch {
	/** Runs a function on g0, and waits on the goroutine's stack. */
	GO_SWITCH_SYSTEMSTACK = 1,
	/** Runs a function on g0 for a goroutine that is left, and may be no thread's afterwards. */
	GO_SWITCH_MCALL = 2,
	/** The same from the beginning of a function whose stack is too small. */
	GO_SWITCH_MORESTACK = 3,
	/** Runs a function of C on g0. */
	GO_SWITCH_ASMCGOCALL = 4,
	/** Runs a function of Go for C, which is on g0, on the goroutine's stack. */
	GO_SWITCH_CGOCALLBACK = 5,
	/** Runs the vDSO's code on g0. */
	GO_SWITCH_VDSO = 6,
	/** Goes to a goroutine. */
	GO_SWITCH_GOGO = 7,
	/** Makes a thread the goroutine's: what stands below was for another one. */
	GO_SWITCH_EXECUTE = 8,
	/** Makes a thread; in that there is no caller. */
	GO_SWITCH_CLONE = 9,
	/** Called by nobody: a signal handler has put the call where it interrupted its caller. */
	GO_SWITCH_INJECTED = 10,
	/** Has changed where the goroutine goes on, to what is no return address. */
	GO_SWITCH_RECOVERY = 11,
	/** arm64: about to do GO_SWITCH_MORESTACK, and has that function's return address in x3. */
	GO_SWITCH_GROWING = 12,
};

/** Three cells. */
struct go_process {
	/** To the thread's g; no depth: it is in a register (arm64 without C). */
	struct thread_local_path g;
	/** Offsets in struct m. */
	__u16 m_curg;
	__u16 m_vdso_sp;
	__u16 m_vdso_pc;
	/** Where asmcgocall() keeps the goroutine and how deep its stack was, above its sp. */
	__u16 call_g;
	__u16 call_depth;
	/** arm64: gobuf's link register, in g. */
	__u16 g_sched_lr;
	/** A goroutine's labels, 0: the program sets none; and its number, 0: not known. */
	__u16 g_labels;
	__u16 g_id;
	/** The labels are a slice and no map. */
	__u32 has_label_slice;
	__u32 reserved[3];
};

_Static_assert(sizeof(struct go_process) == 48, "struct go_process is three cells");

#endif
