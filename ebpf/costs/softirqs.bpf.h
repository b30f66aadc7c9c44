/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cost_softirq, cost_softirq_raw
 * enter: tp_btf/softirq_entry, or the raw tracepoint where the kernel refuses that
 * leave: by return
 * reads: nothing
 * bound: no loops
 */
#ifndef EBPF_COSTS_SOFTIRQS_BPF_H
#define EBPF_COSTS_SOFTIRQS_BPF_H

#include "ebpf/costs/cost_rows.bpf.h"

/* Counts for the interrupted process. User space adds up the host's counts from all rows. */
static __always_inline int count_softirq(__u64 vector)
{
	struct cost_row *row = current_row();

	if (row && vector < COST_SOFTIRQ_COUNT)
		row->softirqs[vector]++;
	return 0;
}

SEC("tp_btf/softirq_entry")
int cost_softirq(__u64 *ctx)
{
	return count_softirq((__u32)ctx[0]);
}

SEC("raw_tp/softirq_entry")
int cost_softirq_raw(__u64 *ctx)
{
	return count_softirq((__u32)ctx[0]);
}

#endif
