/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Brings the kernel programs (ebpf/allframes.bpf.c) into the kernel and takes them out again.
 * Nothing is pinned: programs and maps live as long as the descriptors here, so they are gone when
 * the agent is, however it ends. agent/tracing is the only home of libbpf; the rest of the folder
 * works on the descriptors that this file hands out.
 *
 * Each origin of samples (ebpf/abi/origins.h) has its own instance of the entry and the unwinders, of its own program type,
 * with a state, a program array and counters of its own; all other maps are shared. An origin other than the clock that
 * the kernel refuses is a warning.
 *
 * The unwinders of languages take the kernel several times as long to verify as all else, and come later:
 * nothing waits for them.
 *
 * What the kernel can do is found by loading the native programs themselves, first in the combination that
 * asks for most (bpf_loop beside tail calls, bpf_task_pt_regs), then in those that ask for less.
 */
#ifndef AGENT_TRACING_BPF_LOADER_H
#define AGENT_TRACING_BPF_LOADER_H

#include <stdbool.h>
#include <stdint.h>

#include "ebpf/abi/origins.h"

struct bpf_loader;

struct bpf_loader_options {
	/** Rate and number of CPUs that are sampled: they set the size of the rings. */
	uint32_t samples_per_second;
	uint32_t cpu_count;
	/** Room for stack deltas and mapping tables, rounded down to slabs, at least one. */
	uint64_t map_memory_bytes;
	/** Only these processes (at most SELECTED_PIDS_MAX); NULL and 0: all. Borrowed. */
	const uint32_t *pids;
	uint32_t pid_count;
	/** Only processes of this name (cut to COMM_BYTES - 1); NULL: all. Borrowed. */
	const char *comm;
	/** Only tasks below this cgroup: descriptor of its directory, borrowed; -1: all. */
	int cgroup_fd;
	/** Samples tell the number that the runtime has given to the work. */
	bool with_task_numbers;
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
	int notices;
	/** By enum origin; -1 for one whose programs the kernel refuses. */
	int counters[ORIGIN_COUNT];
	/** Elements of `slabs`: the map budget in slabs. */
	uint32_t slab_count;
};

/**
 * Loads everything and attaches the programs of processes: from then on notices arrive. The sampler opens the perf events. Errors, with error_text() fit for users:
 *
 *	-EPERM		privileges are missing
 *	-EOPNOTSUPP	the kernel lacks something that the agent needs (bpf(), BTF, ring buffers ...)
 *	others		as the system call said, such as -ENOMEM
 */
int bpf_loader_create(const struct bpf_loader_options *options, struct bpf_loader **loader);
void bpf_loader_destroy(struct bpf_loader *loader);

/**
 * Loads the unwinders of languages, one after the other. Until then walks show the native frames of their
 * programs alone; so it is of those that the kernel does not take. Any thread, once. Loads no more when
 * *@is_stopping (atomic) is set. The first error, as above, when all were tried.
 */
int bpf_loader_load_languages(struct bpf_loader *loader, const bool *is_stopping);

/**
 * Attaches the entries of origins other than the clock, whose samples come with perf events, and detaches them. One that
 * cannot be attached is a warning. For the thread that starts and stops the sampler.
 */
void bpf_loader_start_origins(struct bpf_loader *loader);
void bpf_loader_stop_origins(struct bpf_loader *loader);

/** What the kernel has of what the programs would use, as words for users. */
const char *bpf_loader_features(const struct bpf_loader *loader);

/** Valid until the loader is destroyed. */
const struct bpf_fds *bpf_loader_fds(const struct bpf_loader *loader);

/**
 * A new descriptor whose read(2) yields one struct task_snapshot after the other, one per process
 * in the agent's pid namespace; owned by the caller. -errno.
 */
int bpf_loader_open_task_iterator(struct bpf_loader *loader);

#endif
