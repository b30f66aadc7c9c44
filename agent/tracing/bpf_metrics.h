/* SPDX-License-Identifier: Apache-2.0 */
/** The counters of the kernel side: each CPU's own, and their sums in the table of metrics. */
#ifndef AGENT_TRACING_BPF_METRICS_H
#define AGENT_TRACING_BPF_METRICS_H

#include <stdint.h>

#include "agent/tracing/bpf_loader.h"
#include "ebpf/abi/counters.h"

/**
 * Sets every metric_of_counter() (lib/model/metrics.h) to the clock's count, and the metrics of other origins.
 * 0 or -errno. For any thread.
 */
int bpf_metrics_update(const struct bpf_fds *fds);

/** Number of possible CPUs, online or not; -errno. */
int bpf_metrics_cpu_count(void);

/** Sets @values[0 .. bpf_metrics_cpu_count() - 1] to each CPU's own count of the clock. 0 or -errno. */
int bpf_metrics_read_cpus(const struct bpf_fds *fds, enum counter counter, uint64_t *values);

#endif
