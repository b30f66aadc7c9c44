/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The processes that run now, with the identities that the kernel side computes for them. They are synced at the
 * start, and again when process events were lost.
 */
#ifndef AGENT_TRACING_TASK_LIST_H
#define AGENT_TRACING_TASK_LIST_H

#include <stdint.h>

#include "agent/tracing/bpf_loader.h"
#include "ebpf/abi/process.h"

/**
 * Fills *@tasks with one entry per process in the agent's pid namespace, in ascending order of pid; the caller
 * frees it. Processes that start or end meanwhile may be missing. 0 or -errno.
 */
int task_list_read(struct bpf_loader *loader, struct task_snapshot **tasks, uint32_t *task_count);

#endif
