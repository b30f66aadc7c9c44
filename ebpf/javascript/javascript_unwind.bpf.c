// SPDX-License-Identifier: GPL-2.0-only
/*
 * javascript_unwind, javascript_unwind_chain
 * enter: tail call to UNWINDER_JAVASCRIPT, from another unwinder at the first frame of a builtin of V8, or at the first
 *        code outside of files in a process with V8; the loader puts one of the two there, as for UNWINDER_NATIVE
 * leave: tail call to UNWINDER_STOP, or to the unwinder of another language
 * reads: slabs and executables, written by user space; the task; the process's memory
 * bound: javascript_unwind JAVASCRIPT_STEPS_MAX steps, native ones included; javascript_unwind_chain
 *        JAVASCRIPT_CHAIN_STEPS a run, in the runs that the native chain has left of CHAIN_RUNS
 */
#include "ebpf/javascript/javascript_step.bpf.h"
#include "ebpf/language_unwind.bpf.h"

enum {
	JAVASCRIPT_CHAIN_STEPS = 4,
};

LANGUAGE_PROGRAMS(JAVASCRIPT, javascript, JAVASCRIPT_STEPS_MAX, javascript_step,
		  JAVASCRIPT_CHAIN_STEPS, CHAINS_UNWIND_OWN_CODE ? javascript_step : no_step)
