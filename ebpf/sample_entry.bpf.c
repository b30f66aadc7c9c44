// SPDX-License-Identifier: GPL-2.0-only
/*
 * sample_entry
 * enter: the perf event of a CPU, in an interrupt
 * leave: tail call to UNWINDER_NATIVE if there are user frames to unwind, else to UNWINDER_STOP;
 *        by return if the tick is idle or the task not selected
 * reads: processes, selected_pids, selected_cgroup, written by user space; the task
 * bound: KERNEL_FRAMES_MAX kernel frames
 */
#include "ebpf/take_sample.bpf.h"

SEC("perf_event")
int sample_entry(void *ctx)
{
	return take_sample(ctx, ORIGIN_CLOCK, 1, true);
}
