// SPDX-License-Identifier: GPL-2.0-only
/*
 * The baselines of the agent's unwinder: the kernel's own unwind of frame pointers, and a program that
 * does nothing. Such a program for task switches shows what the kernel's statistics take themselves.
 *
 * enter: the perf event, or the tracepoint; leave: returns; reads: its buffer; bound: the kernel's 127 frames
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

enum { BUFFER_BYTES = 127 * 8 };

struct stack_buffer {
	__u64 words[BUFFER_BYTES / 8];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stack_buffer);
} buffers SEC(".maps");

struct unwind_count {
	__u64 unwinds;
	__u64 frames;
};

/* So that the bench can check that the unwinds went as deep as they should. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_count);
} counts SEC(".maps");

static __always_inline int unwind(void *ctx, __u64 flags)
{
	__u32 zero = 0;
	struct stack_buffer *buffer = bpf_map_lookup_elem(&buffers, &zero);
	struct unwind_count *count = bpf_map_lookup_elem(&counts, &zero);
	long bytes;

	if (!buffer || !count)
		return 0;
	bytes = bpf_get_stack(ctx, buffer, sizeof(*buffer), flags);
	if (bytes > 0) {
		count->unwinds++;
		count->frames += bytes / 8;
	}
	return 0;
}

SEC("perf_event")
int base_user(void *ctx)
{
	return unwind(ctx, BPF_F_USER_STACK);
}

SEC("perf_event")
int base_kernel(void *ctx)
{
	return unwind(ctx, 0);
}

SEC("perf_event")
int base_empty(void *ctx)
{
	(void)ctx;
	return 0;
}

SEC("tp_btf/sched_switch")
int base_switch(void *ctx)
{
	(void)ctx;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
