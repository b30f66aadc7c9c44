// SPDX-License-Identifier: GPL-2.0-only
/*
 * python_unwind, python_unwind_chain
 * enter: tail call to UNWINDER_PYTHON, from native_unwind at the first native frame of an unwind that
 *        runs functions of CPython; the loader puts one of the two there, as for UNWINDER_NATIVE
 * leave: tail call to UNWINDER_STOP, or to the unwinder of another language
 * reads: slabs and executables, written by user space; the task; the process's memory
 * bound: python_unwind PYTHON_STEPS_MAX steps, native ones included; python_unwind_chain PYTHON_CHAIN_STEPS a run, in
 *        the runs that the native chain has left of CHAIN_RUNS
 */
#include "ebpf/language_unwind.bpf.h"
#include "ebpf/python/python_step.bpf.h"

enum {
	PYTHON_CHAIN_STEPS = 12,
};

LANGUAGE_PROGRAMS(PYTHON, python, PYTHON_STEPS_MAX, python_step, PYTHON_CHAIN_STEPS, python_step)
