// SPDX-License-Identifier: GPL-2.0-only
#include "ebpf/maps.bpf.h"

SEC("perf_event")
int native_unwind(void *ctx)
{
	bpf_tail_call(ctx, &unwinders, UNWINDER_STOP);
	return 0;
}

SEC("perf_event")
int native_unwind_chain(void *ctx)
{
	bpf_tail_call(ctx, &unwinders, UNWINDER_STOP);
	return 0;
}
