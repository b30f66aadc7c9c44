/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Go's data for the kernel side: struct go_process, one for each process. attach() in interpreters/go
 * fills it, and it is published as abi/runtime.h describes. Frames of Go functions are native frames,
 * unwound by rows. Go's unwinder is entered only at rows of CFA_LANGUAGE, where the runtime may have
 * switched stacks.
 *
 * A thread (struct m) uses a stack of its own (g0), one for signals (gsignal), and the stack of the
 * goroutine that it runs (curg). enum go_switch lists the functions that switch between them. Source:
 * runtime/asm_*.s, runtime/sys_linux_*.s, runtime/stubs.go of Go 1.16 to 1.27.
 */
#ifndef EBPF_ABI_GO_H
#define EBPF_ABI_GO_H

#include <linux/types.h>

#include "ebpf/abi/runtime.h"

/** Offsets in struct g and m that are the same in all versions. */
enum {
	GO_G_STACK_LOW = 0,
	GO_G_STACK_HIGH = 8,
	GO_G_M = 48,
	/** struct gobuf: the registers with which a goroutine resumes. GO_GOBUF_... are offsets in it. */
	GO_G_SCHED = 56,
	GO_GOBUF_SP = 0,
	GO_GOBUF_PC = 8,
	GO_M_G0 = 0,
};

/** Functions that may switch stacks: the caller's frame may be on another one. */
enum go_switch {
	/** Runs a function on g0; its own frame waits on the goroutine's stack. */
	GO_SWITCH_SYSTEMSTACK = 1,
	/** Leaves the goroutine and runs a function on g0; afterwards no thread may have the goroutine. */
	GO_SWITCH_MCALL = 2,
	/** GO_SWITCH_MCALL from the beginning of a function whose stack is too small. */
	GO_SWITCH_MORESTACK = 3,
	/** Runs a C function on g0. */
	GO_SWITCH_ASMCGOCALL = 4,
	/** Runs a Go function on the goroutine's stack for C code on g0. */
	GO_SWITCH_CGOCALLBACK = 5,
	/** Runs the vDSO's code on g0. */
	GO_SWITCH_VDSO = 6,
	/** Resumes a goroutine. */
	GO_SWITCH_GOGO = 7,
	/** Gives the thread to a goroutine: the scheduler's stack was entered for another one. */
	GO_SWITCH_EXECUTE = 8,
	/** Creates a thread; the new thread has no caller here. */
	GO_SWITCH_CLONE = 9,
	/** A call that a signal handler inserted where it interrupted the caller. */
	GO_SWITCH_INJECTED = 10,
	/** Has changed where the goroutine resumes, to an address that is no return address. */
	GO_SWITCH_RECOVERY = 11,
	/** arm64: is about to do GO_SWITCH_MORESTACK; the function's return address is in x3. */
	GO_SWITCH_GROWING = 12,
};

struct go_process {
	/** Path to the thread's g; depth 0: it is in a register (arm64 without C). */
	struct thread_local_path g;
	/** Offsets in struct m. */
	__u16 m_curg;
	__u16 m_vdso_sp;
	__u16 m_vdso_pc;
	/** Offsets above asmcgocall()'s sp at which it keeps the goroutine, and how deep its stack was. */
	__u16 call_g;
	__u16 call_depth;
	/** arm64: offset in g of gobuf's link register. */
	__u16 g_sched_lr;
	/** Offsets in g of a goroutine's labels (0: the program sets none) and of its id (0: not known). */
	__u16 g_labels;
	__u16 g_id;
	/** 1: the labels are a slice; 0: a map. */
	__u32 has_label_slice;
	__u32 reserved[3];
};

_Static_assert(sizeof(struct go_process) == 48, "struct go_process is three cells");

#endif
