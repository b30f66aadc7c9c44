/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/** The helpers: libbpf's in the kernel, emulated ones (ebpf/host) in user space and in tests. */
#ifndef EBPF_HELPERS_BPF_H
#define EBPF_HELPERS_BPF_H

#ifdef __bpf__

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

/* After the helpers: it uses them. */
#include <bpf/bpf_core_read.h>

/**
 * In front of a function that the verifier looks at by itself, for any arguments, and not again wherever it is
 * called: what it takes pointers to has to be in a map, and it has to ask whether they are NULL. For programs
 * that only kernels from 5.12 on load.
 */
#define VERIFIED_ONCE __attribute__((noinline))

#else
#include "ebpf/host/emulated_helpers.h"

#define VERIFIED_ONCE static __always_inline
#endif

#endif
