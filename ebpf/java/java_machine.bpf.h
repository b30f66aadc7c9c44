/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * The differences in HotSpot's code between x86-64 and arm64: the instructions that show the state of the stack. Each
 * architecture has the same functions. Methods: java_leaf_position(), java_saved_sp(). Stubs: java_stub_position(),
 * java_sender_sp(), java_is_in_fixup(), java_fixup_sender_sp(). The interpreter: java_read_outside(),
 * java_takes_last_sp(). Code that jumps there: java_jump_target().
 */
#ifndef EBPF_JAVA_MACHINE_BPF_H
#define EBPF_JAVA_MACHINE_BPF_H

#include "ebpf/architecture.bpf.h"

#if defined(__TARGET_ARCH_x86)
#include "ebpf/java/java_interpreter_x86.bpf.h"
#include "ebpf/java/java_leaf_x86.bpf.h"
#else
#include "ebpf/java/java_interpreter_arm64.bpf.h"
#include "ebpf/java/java_leaf_arm64.bpf.h"
#endif

#endif
