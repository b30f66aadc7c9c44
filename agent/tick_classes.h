/* SPDX-License-Identifier: Apache-2.0 */
/**
 * At the end of sampling: what is known of ticks by counts that only together make sense, as metrics. The samples
 * that were reported, the idle and unselected ticks and those that a full ring or queue cost have been counted when
 * they came; the rest of the ticks that the perf events have counted is told apart here, so that every tick is in
 * exactly one class of the summary (reporter/summary.h).
 */
#ifndef AGENT_TICK_CLASSES_H
#define AGENT_TICK_CLASSES_H

#include "agent/missed_ticks.h"
#include "agent/tracing/bpf_loader.h"
#include "agent/tracing/perf_sampler.h"

/**
 * Brings the kernel side's counters into the metrics and sets METRIC_IDLE_UNSEEN, METRIC_TICKS_STOLEN and
 * METRIC_SAMPLES_SKIPPED, and what tick_classes_note_unread() does. When sampling is off and the ring thread has
 * ended. 0 or -errno.
 */
int tick_classes_count(const struct bpf_fds *fds, struct perf_sampler *sampler,
		       const struct tick_clock *clock, uint32_t samples_per_second);

/**
 * Sets METRIC_SAMPLES_UNSENT and METRIC_SAMPLES_UNREAD from other metrics: what is missing between a run of the
 * sampling program and the agent's queue. Both are 0 unless something has failed, such as the ring thread.
 */
void tick_classes_note_unread(void);

#endif
