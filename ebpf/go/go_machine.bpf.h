/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/** The differences of Go between x86-64 and arm64. */
#ifndef EBPF_GO_MACHINE_BPF_H
#define EBPF_GO_MACHINE_BPF_H

#include "ebpf/architecture.bpf.h"

#ifdef __TARGET_ARCH_arm64

enum {
	GO_REGISTER = 28,
	GO_CALLBACK_SP_OFFSET = 16,
	GO_GROWING_REGISTER = 3,
	GO_RETURN_REGISTER = 27,
};

#else

enum {
	/** DWARF number of the register that holds g in all of Go's code; there is none. */
	GO_REGISTER = REGISTER_COUNT_MAX,
	/** Offset above its stack pointer at which cgocallback() keeps g0's previous stack pointer. */
	GO_CALLBACK_SP_OFFSET = 0,
	/**
	 * DWARF numbers of the registers with the return address of a function that calls morestack(), and with the
	 * address at which an injected function resumes. There are none.
	 */
	GO_GROWING_REGISTER = REGISTER_COUNT_MAX,
	GO_RETURN_REGISTER = REGISTER_COUNT_MAX,
};

#endif

#endif
