// SPDX-License-Identifier: GPL-2.0-only
/*
 * All kernel programs as one translation unit, so that they share maps and inline functions. Each
 * included file opens with how its programs are entered and left. language_programs.h, which the Makefile makes,
 * includes those of the languages (abi/languages.h), and origin_programs.h the entries of the origins (abi/origins.h).
 */
#include "ebpf/kernel_types.bpf.h"
#include "ebpf/maps.bpf.h"

const volatile struct agent_config config = {};

#include "build/ebpf/language_programs.h"
#include "build/ebpf/origin_programs.h"
#include "ebpf/followed_processes.bpf.c"
#include "ebpf/native_unwind.bpf.c"
#include "ebpf/process_events.bpf.c"
#include "ebpf/task_snapshot.bpf.c"
#include "ebpf/unwind_stop.bpf.c"

char program_license[] SEC("license") = "GPL";
