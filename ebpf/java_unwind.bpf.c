// SPDX-License-Identifier: GPL-2.0-only
/*
 * java_unwind, java_unwind_chain
 * enter: tail call to UNWINDER_JAVA, from another unwinder at the first code outside of files in a
 *        process with a JVM; the loader puts one of the two there, as for UNWINDER_NATIVE. On arm64 the chain
 *        is never entered (CHAINS_WALK_JAVA)
 * leave: tail call to UNWINDER_STOP, or to the unwinder of another language
 * reads: slabs and executables, written by user space; the task; the process's memory
 * bound: java_unwind JAVA_STEPS_MAX steps, native ones included; java_unwind_chain JAVA_CHAIN_STEPS a run, in
 *        the runs that the native chain has left of CHAIN_RUNS
 */
#include "ebpf/java_step.bpf.h"
#include "ebpf/language_unwind.bpf.h"

enum {
	JAVA_CHAIN_STEPS = 4,
};

static long java_step_callback(__u32 index, void *context)
{
	return unwind_step(context, FRAME_JAVA, java_step);
}

SEC("perf_event")
int java_unwind(void *ctx)
{
	unwind_language(ctx, FRAME_JAVA, JAVA_STEPS_MAX, java_step_callback);
	return 0;
}

SEC("perf_event")
int java_unwind_chain(void *ctx)
{
	unwind_language_run(ctx, FRAME_JAVA, JAVA_CHAIN_STEPS,
			    CHAINS_WALK_JAVA ? java_step : java_no_step);
	return 0;
}
