// SPDX-License-Identifier: GPL-2.0-only
/*
 * ruby_unwind, ruby_unwind_chain
 * enter: tail call to UNWINDER_RUBY, from another unwinder at the first native frame of an unwind that runs methods of Ruby;
 *        the loader puts one of the two there, as for UNWINDER_NATIVE
 * leave: tail call to UNWINDER_STOP, or to the unwinder of another language
 * reads: slabs and executables, written by user space; the task; the process's memory
 * bound: ruby_unwind RUBY_STEPS_MAX steps, native ones included; ruby_unwind_chain RUBY_CHAIN_STEPS a run, in the runs
 *        that the native chain has left of CHAIN_RUNS
 */
#include "ebpf/language_unwind.bpf.h"
#include "ebpf/ruby/ruby_step.bpf.h"

enum {
	RUBY_CHAIN_STEPS = 12,
};

LANGUAGE_PROGRAMS(RUBY, ruby, RUBY_STEPS_MAX, ruby_step, RUBY_CHAIN_STEPS, ruby_step)
