/* SPDX-License-Identifier: Apache-2.0 */
/** Brings the counters of the kernel side, summed over all CPUs, into the table of metrics. */
#ifndef AGENT_TRACING_BPF_METRICS_H
#define AGENT_TRACING_BPF_METRICS_H

#include "agent/tracing/bpf_loader.h"

/** Sets every metric_of_counter() (agent/base/metrics.h). 0 or -errno. For any thread. */
int bpf_metrics_update(const struct bpf_fds *fds);

#endif
