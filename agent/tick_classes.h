/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Classifies the remaining ticks at the end of sampling, as metrics. Reported samples, idle and unselected
 * ticks, and ticks lost to a full ring or queue were counted when they occurred. The rest of the ticks of the
 * perf events is classified here from several counts, so that every tick is in exactly one class of the summary
 * (reporter/summary.h).
 */
#ifndef AGENT_TICK_CLASSES_H
#define AGENT_TICK_CLASSES_H

#include "agent/missed_ticks.h"
#include "agent/tracing/bpf_loader.h"
#include "agent/tracing/perf_sampler.h"

/**
 * Copies the kernel side's counters to the metrics, and sets METRIC_IDLE_UNSEEN, METRIC_TICKS_STOLEN,
 * METRIC_SAMPLES_SKIPPED and the metrics of tick_classes_note_unread(). To be called when sampling is off and
 * the ring thread has ended. 0 or -errno.
 */
int tick_classes_count(const struct bpf_fds *fds, struct perf_sampler *sampler,
		       const struct tick_clock *clock, uint32_t samples_per_second);

/**
 * For metrics while sampling goes on: raises METRIC_SAMPLES_SKIPPED to the ticks that were skipped for certain so far. The
 * rest of them, and ticks that idle CPUs delayed or a hypervisor took, are known at the end. 0 or -errno.
 */
int tick_classes_note_skipped(const struct bpf_fds *fds, struct perf_sampler *sampler,
			      const struct tick_clock *clock, uint32_t samples_per_second);

/**
 * Sets METRIC_SAMPLES_UNSENT and METRIC_SAMPLES_UNREAD from other metrics: the samples that were lost between a
 * run of the sampling program and the agent's queue. Both are 0 unless something has failed, such as the ring
 * thread.
 */
void tick_classes_note_unread(void);

#endif
