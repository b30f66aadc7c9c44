/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Counters of the kernel side: elements of the per-CPU array `counters`, __u64 each. They only
 * grow. COUNTER_ERRORS + e counts the unwinds that ended with unwind error e.
 *
 * Every run of sample_entry adds to exactly one of idle, unselected, samples and lost. Their sum and
 * the number of runs that the kernel skipped are all ticks of the perf events.
 */
#ifndef EBPF_ABI_COUNTERS_H
#define EBPF_ABI_COUNTERS_H

#include "ebpf/abi/frame.h"

/* name, unit, meaning */
#define COUNTERS(X)                                                                                \
	X(RUNS, "runs", "times the sampling program was entered")                                  \
	X(IDLE, "samples", "ticks on an idle CPU, dropped")                                        \
	X(UNSELECTED, "samples", "busy ticks of processes that are not selected")                  \
	X(SAMPLES, "samples", "samples put on the ring")                                           \
	X(LOST_RING_FULL, "samples", "samples lost because the ring was full")                     \
	X(KERNEL_THREAD, "samples", "samples of kernel threads")                                   \
	X(REACHED_END, "samples", "user unwinds that reached the outermost frame")                 \
	X(FIRST, "samples", "samples of processes that were not known yet")                        \
	X(RESUMED, "samples", "samples whose unwind goes on in user space")                        \
	X(USER_FRAMES, "frames", "user frames unwound")                                            \
	X(KERNEL_FRAMES, "frames", "kernel frames unwound")                                        \
	X(PROCESS_EVENTS, "events", "process events put on their ring")                            \
	X(PROCESS_EVENTS_LOST, "events", "process events lost because their ring was full")        \
	X(TORN_ENTRIES, "entries", "process entries that changed while they were read")            \
	X(TAIL_CALL_FAILED, "calls", "tail calls that did not happen")                             \
	X(UNFOLLOWED, "processes", "children of the command that there was no room to follow")     \
	X(TIME, "ns", "time from the begin of a sample to the end of its unwind, in the kernel")

/* clang-format off */
enum counter {
#define X(name, unit, meaning) COUNTER_##name,
	COUNTERS(X)
#undef X
	COUNTER_ERRORS,
	COUNTER_COUNT = COUNTER_ERRORS + UNWIND_ERROR_COUNT,
};
/* clang-format on */

#endif
