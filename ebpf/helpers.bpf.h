/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/** The BPF helpers: libbpf's in the kernel, emulated ones (ebpf/host) in user space and in tests. */
#ifndef EBPF_HELPERS_BPF_H
#define EBPF_HELPERS_BPF_H

#ifdef __bpf__

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

/* It uses the helpers, so it comes after them. */
#include <bpf/bpf_core_read.h>

/**
 * Marks a function that the verifier checks once, for any arguments, instead of at each call. Its pointer
 * arguments must point into maps, and it must check them for NULL. For programs that only kernels from 5.12 on
 * load.
 */
#define VERIFIED_ONCE __attribute__((noinline))

#else
#include "ebpf/host/emulated_helpers.h"

#define VERIFIED_ONCE static __always_inline
#endif

#endif
