// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel programs of -accounting: an object of their own, which is loaded only with that option.
 */
#include "ebpf/kernel_types.bpf.h"

#include "ebpf/costs/page_cache.bpf.h"
#include "ebpf/costs/run_time.bpf.h"
#include "ebpf/costs/softirqs.bpf.h"

const volatile struct agent_config config = {};
const volatile struct cost_config cost_config = {};

char program_license[] SEC("license") = "GPL";
