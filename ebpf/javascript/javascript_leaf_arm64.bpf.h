/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * The instructions of code that V8 generates on arm64 are not analysed yet: a leaf is assumed to be in its frame. So
 * interpreters/javascript refuses files of arm64.
 */
#ifndef EBPF_JAVASCRIPT_LEAF_ARM64_BPF_H
#define EBPF_JAVASCRIPT_LEAF_ARM64_BPF_H

#include "ebpf/javascript/javascript_code.bpf.h"

enum {
	/* DWARF numbers. */
	JAVASCRIPT_FUNCTION_REGISTER = 1,
	JAVASCRIPT_OFFSET_REGISTER = 19,
	JAVASCRIPT_BYTECODES_REGISTER = 20,
	JAVASCRIPT_ROOT_REGISTER = 26,
	JAVASCRIPT_MOVED_REGISTER = 8,
	JAVASCRIPT_INSTANCE_REGISTER = 7,
};

/** Returns the position of the leaf at @pc in the code that was found last. */
static __always_inline enum javascript_position
javascript_leaf_position(struct javascript_unwind *unwind, __u64 pc, bool is_baseline)
{
	(void)unwind;
	(void)pc;
	(void)is_baseline;
	return JAVASCRIPT_IN_FRAME;
}

/** Returns the position of the leaf at @pc in wasm's code from @start on. */
static __always_inline enum javascript_position javascript_wasm_position(__u64 start, __u64 pc,
									 __u64 sp, __u64 *instance)
{
	(void)start;
	(void)pc;
	(void)sp;
	*instance = 0;
	return JAVASCRIPT_IN_FRAME;
}

/** True if the leaf at @pc, in the interpreter and without a frame, is behind that. */
static __always_inline bool javascript_is_interpreter_end(__u64 pc, __u64 sp, __u64 *function)
{
	(void)pc;
	(void)sp;
	*function = 0;
	return false;
}

/** Returns the position of the leaf in the builtin that makes the frame of Sparkplug's code. */
static __always_inline enum javascript_position
javascript_prologue_position(struct javascript_unwind *unwind, __u64 pc)
{
	(void)unwind;
	(void)pc;
	return JAVASCRIPT_IN_FRAME;
}

/** Returns the position of the leaf in the builtin that leaves that frame. */
static __always_inline enum javascript_position javascript_leave_position(__u64 pc, __u64 sp,
									  __u64 *function)
{
	(void)pc;
	(void)sp;
	*function = 0;
	return JAVASCRIPT_IN_FRAME;
}

/** Returns the return address of the leaf at @pc in a builtin that has left its frame; 0: it is not known. */
static __always_inline __u64 javascript_exit_address(struct javascript_unwind *unwind,
						     const __u64 *registers, __u64 pc, __u64 sp)
{
	(void)unwind;
	(void)registers;
	(void)pc;
	(void)sp;
	return 0;
}

#endif
