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

#else
#include "ebpf/host/emulated_helpers.h"
#endif

#endif
