// SPDX-License-Identifier: GPL-2.0-only
/*
 * go_unwind, go_unwind_chain
 * enter: tail call to UNWINDER_GO, from another unwinder at the first native frame of an unwind at which
 *        Go's runtime may have switched stacks; the loader puts one of the two there, as for UNWINDER_NATIVE
 * leave: tail call to UNWINDER_STOP, or to the unwinder of another language
 * reads: slabs and executables, written by user space; the task; the process's memory
 * bound: go_unwind GO_STEPS_MAX steps, native ones included; go_unwind_chain GO_CHAIN_STEPS a run, in
 *        the runs that the native chain has left of CHAIN_RUNS
 */
#include "ebpf/go/go_step.bpf.h"
#include "ebpf/language_unwind.bpf.h"

enum {
	GO_CHAIN_STEPS = 12,
};

LANGUAGE_PROGRAMS(GO, go, GO_STEPS_MAX, go_step, GO_CHAIN_STEPS, go_step)
