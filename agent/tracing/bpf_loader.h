/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Loads and unloads the kernel programs (ebpf/allframes.bpf.c). Nothing is pinned: programs and maps live as
 * long as the descriptors here, so they end with the agent, however it ends. agent/tracing is the only user of
 * libbpf; the rest of the folder works on the descriptors that this file returns.
 *
 * Each origin of samples (ebpf/abi/origins.h) has its own instance of the entry and the unwinders, of its own
 * program type, with its own state, program array and counters; all other maps are shared. If the kernel
 * refuses an origin other than the clock, a warning is logged.
 *
 * The kernel takes several times as long to verify the unwinders of languages as everything else. Each is
 * loaded when it is needed first, and nothing waits for it.
 *
 * The kernel's features are probed by loading the native programs themselves, first in the combination that
 * needs most features (bpf_loop beside tail calls, bpf_task_pt_regs), then in those that need fewer.
 */
#ifndef AGENT_TRACING_BPF_LOADER_H
#define AGENT_TRACING_BPF_LOADER_H

#include <stdbool.h>
#include <stdint.h>

#include "ebpf/abi/config.h"
#include "ebpf/abi/origins.h"
#include "ebpf/abi/process.h"

struct bpf_loader;

struct bpf_loader_options {
	/** Rate and number of sampled CPUs, which determine the size of the rings. */
	uint32_t samples_per_second;
	uint32_t cpu_count;
	/** Memory for stack deltas and mapping tables, rounded down to slabs, at least one. */
	uint64_t map_memory_bytes;
	/** Only these processes (at most SELECTED_PIDS_MAX); NULL and 0: all. Borrowed. */
	const uint32_t *pids;
	uint32_t pid_count;
	/** Also what these processes start from now on, and what that starts. */
	bool follows_children;
	/** Only processes of these names (at most SELECTED_COMMS_MAX), with zeroes behind their ends; NULL and 0: all. Borrowed. */
	const char (*comms)[COMM_BYTES];
	uint32_t comm_count;
	/**
	 * Only tasks below this cgroup: descriptor of its directory, borrowed; -1: all. For a group of version 1 the name of
	 * its controller or hierarchy (lib/host/cgroup_tree.h); "" or NULL for version 2.
	 */
	int cgroup_fd;
	const char *cgroup_controller;
	/** Only tasks of the user with this real id. */
	bool has_user;
	uint32_t user;
	/** Samples include the id that the runtime gives to the current work. */
	bool with_task_ids;
};

/** Descriptors of maps and programs, owned by the loader. */
struct bpf_fds {
	/** The program for the perf events. */
	int sample_entry;
	int slabs;
	int executables;
	int processes;
	int notified;
	int samples;
	int process_events;
	/** Indexed by enum origin; -1 for an origin whose programs the kernel refuses. */
	int counters[ORIGIN_COUNT];
	/** Elements of `slabs`: the map budget in slabs. */
	uint32_t slab_count;
};

/**
 * Loads everything and attaches the programs for processes; from then on process events arrive. The sampler opens the
 * perf events. Errors, with a text for users:
 *
 *	-EPERM		privileges are missing
 *	-EOPNOTSUPP	the kernel lacks something that the agent needs (bpf(), BTF, ring buffers ...)
 *	others		as the system call said, such as -ENOMEM
 */
int bpf_loader_create(const struct bpf_loader_options *options, struct bpf_loader **loader);
void bpf_loader_destroy(struct bpf_loader *loader);

/**
 * Loads the unwinder of the language with index @language. Until then, or if the kernel refuses it, stacks of its
 * programs have native frames only. One thread at a time, once for each language. After all origins were tried, returns the
 * first error, as above.
 */
int bpf_loader_load_language(struct bpf_loader *loader, uint32_t language);

/**
 * Attach and detach the entries of origins other than the clock, whose samples come with perf events. A failure
 * to attach one is logged as a warning. For the thread that starts and stops the sampler.
 */
void bpf_loader_start_origins(struct bpf_loader *loader);
void bpf_loader_stop_origins(struct bpf_loader *loader);

/** The used kernel features, as text for users. */
const char *bpf_loader_features(const struct bpf_loader *loader);

/** Whether the unwinders use rows of copies of anonymous code (ebpf/code_copy.bpf.h). */
bool bpf_loader_uses_code_copies(const struct bpf_loader *loader);

/** Valid until the loader is destroyed. */
const struct bpf_fds *bpf_loader_fds(const struct bpf_loader *loader);

/** The configuration that the programs were loaded with. Valid until the loader is destroyed. */
const struct agent_config *bpf_loader_config(const struct bpf_loader *loader);

/**
 * A new descriptor whose read(2) yields one struct task_snapshot after the other, one per process
 * in the agent's pid namespace; owned by the caller. -errno.
 */
int bpf_loader_open_task_iterator(struct bpf_loader *loader);

#endif
