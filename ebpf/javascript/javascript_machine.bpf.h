/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/** The position of a leaf by the instructions of V8's code, on the target architecture. */
#ifndef EBPF_JAVASCRIPT_MACHINE_BPF_H
#define EBPF_JAVASCRIPT_MACHINE_BPF_H

#include "ebpf/architecture.bpf.h"

#if defined(__TARGET_ARCH_x86)
#include "ebpf/javascript/javascript_leaf_x86.bpf.h"
#else
#include "ebpf/javascript/javascript_leaf_arm64.bpf.h"
#endif

#endif
