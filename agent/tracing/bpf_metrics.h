/* SPDX-License-Identifier: Apache-2.0 */
/** The counters of the kernel side, summed over all CPUs. */
#ifndef AGENT_TRACING_BPF_METRICS_H
#define AGENT_TRACING_BPF_METRICS_H

#include <stdint.h>

#include "agent/tracing/bpf_loader.h"
#include "ebpf/abi/counters.h"

/** Fills @counters, indexed by enum counter. 0 or -errno. For any thread. */
int bpf_metrics_read(const struct bpf_fds *fds, uint64_t counters[COUNTER_COUNT]);

#endif
