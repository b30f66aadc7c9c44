// SPDX-License-Identifier: GPL-2.0-only
#include "ebpf/maps.bpf.h"

SEC("perf_event")
int sample_entry(void *ctx)
{
	__u32 key = 0;

	count(COUNTER_RUNS);
	if ((__u32)bpf_get_current_pid_tgid() == 0) {
		count(COUNTER_IDLE);
		return 0;
	}
	bpf_map_lookup_elem(&slabs, &key);
	bpf_map_lookup_elem(&executables, &key);
	bpf_map_lookup_elem(&processes, &key);
	bpf_map_lookup_elem(&selected_pids, &key);
	if (config.select_cgroup)
		bpf_current_task_under_cgroup(&selected_cgroup, 0);
	bpf_ringbuf_query(&samples, BPF_RB_RING_SIZE);
	bpf_tail_call(ctx, &unwinders, UNWINDER_NATIVE);
	return 0;
}
