// SPDX-License-Identifier: GPL-2.0-only
/*
 * java_unwind, java_unwind_chain
 * enter: tail call to UNWINDER_JAVA, from another unwinder at the first code outside of files in a
 *        process with a JVM; the loader puts one of the two there, as for UNWINDER_NATIVE. On arm64 the chain
 *        is never entered (CHAINS_UNWIND_OWN_CODE)
 * leave: tail call to UNWINDER_STOP, or to the unwinder of another language
 * reads: slabs and executables, written by user space; the task; the process's memory
 * bound: java_unwind JAVA_STEPS_MAX steps, native ones included; java_unwind_chain JAVA_CHAIN_STEPS a run, in
 *        the runs that the native chain has left of CHAIN_RUNS
 */
#include "ebpf/java/java_step.bpf.h"
#include "ebpf/language_unwind.bpf.h"

enum {
	JAVA_CHAIN_STEPS = 4,
};

LANGUAGE_PROGRAMS(JAVA, java, JAVA_STEPS_MAX, java_step, JAVA_CHAIN_STEPS,
		  CHAINS_UNWIND_OWN_CODE ? java_step : no_step)
