// SPDX-License-Identifier: GPL-2.0-only
/*
 * perl_unwind, perl_unwind_chain
 * enter: tail call to UNWINDER_PERL, from another unwinder at the first native frame of an unwind that runs subs of Perl; the
 *        loader puts one of the two there, as for UNWINDER_NATIVE
 * leave: tail call to UNWINDER_STOP, or to the unwinder of another language
 * reads: slabs and executables, written by user space; the task; the process's memory
 * bound: perl_unwind PERL_STEPS_MAX steps, native ones included; perl_unwind_chain PERL_CHAIN_STEPS a run, in the runs
 *        that the native chain has left of CHAIN_RUNS
 */
#include "ebpf/language_unwind.bpf.h"
#include "ebpf/perl/perl_step.bpf.h"

enum {
	PERL_CHAIN_STEPS = 10,
};

LANGUAGE_PROGRAMS(PERL, perl, PERL_STEPS_MAX, perl_step, PERL_CHAIN_STEPS, perl_step)
