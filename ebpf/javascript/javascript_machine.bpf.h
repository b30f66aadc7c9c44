/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/** What the instructions of V8's code tell, on the machine that this is built for. */
#ifndef EBPF_JAVASCRIPT_MACHINE_BPF_H
#define EBPF_JAVASCRIPT_MACHINE_BPF_H

#include "ebpf/architecture.bpf.h"

#if defined(__TARGET_ARCH_x86)
#include "ebpf/javascript/javascript_leaf_x86.bpf.h"
#else
#include "ebpf/javascript/javascript_leaf_arm64.bpf.h"
#endif

#endif
