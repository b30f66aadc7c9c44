/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The threads that read files. `load` makes unwind rows of files on this host's own file systems, and attaches
 * to runtimes in processes. `load_small` does the same, but only work of a few milliseconds (load_queue.h), so
 * that a small program gets its rows at once while a large one's are made. `load_remote` handles files on
 * network and FUSE file systems, where a read may never return, and perf maps and jitdump files, whose paths
 * the process chooses. Other processes open and read these files (agent/runtimes/file_hosts.h), and load_remote
 * waits some seconds for their answers or copies.
 *
 * `load` and `load_remote` run at low priority, so that a slow file costs the host and the other threads
 * little. While samples wait for its work, `load` has normal priority; `load_small` is urgent then
 * (urgent_thread.h).
 */
#ifndef AGENT_PROCESSES_LOAD_THREADS_H
#define AGENT_PROCESSES_LOAD_THREADS_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/processes/code_copy_request.h"
#include "agent/processes/executable_cache.h"
#include "agent/processes/load_queue.h"
#include "agent/processes/perf_maps.h"
#include "agent/processes/runtimes/attachments.h"
#include "agent/runtimes/elf_home.h"
#include "agent/runtimes/file_home.h"
#include "ebpf/abi/process.h"
#include "lib/base/bounded_queue.h"
#include "lib/host/proc_maps.h"

/** The mapping that a file was requested for; it identifies the answer. */
struct file_request {
	uint32_t pid;
	struct process_identity identity;
	uint64_t start;
	uint64_t inode;
};

struct load_threads {
	/** Set by the owner, borrowed. */
	struct executable_cache *executables;
	struct perf_maps *perf_maps;
	const char *proc_root;
	/** The home that attaches to runtimes (attachments.h). */
	struct runtime_home *home;
	/** The home that opens files that may never answer; NULL: they are not opened. */
	struct file_home *files;
	/** The home that parses executables; NULL: these threads do. */
	struct elf_home *parser;
	/** The answer to a request: an executable with a reference, or NULL. Called by any thread. */
	void (*identified)(void *context, const struct file_request *request,
			   struct executable *executable);
	/** The answer to a request to attach. Called by any thread. */
	void (*attached)(void *context, const struct attach_answer *answer);
	/** The answer to a request to copy code, whose deltas are the receiver's. Called by any thread. */
	void (*copied)(void *context, const struct code_copy_answer *answer);
	void *context;

	/** Atomic: `load` has normal priority. */
	bool is_hurried;
	/** Atomic: tid of the thread load, 0 before it runs. */
	pid_t load_tid;
	struct load_queue loads;
	struct bounded_queue remote_loads;
	pthread_t load_thread;
	pthread_t small_thread;
	pthread_t remote_thread;
	bool has_load_thread;
	bool has_small_thread;
	bool has_remote_thread;
	/** load_remote waits for this after the stop. */
	sem_t may_end;
};

/** The first nine fields are the caller's. -ENOMEM. */
int load_threads_init(struct load_threads *threads);
/** To be called after load_threads_stop(). Ends load_remote, and with it the processes that read files. */
void load_threads_deinit(struct load_threads *threads);

int load_threads_start(struct load_threads *threads);

/** Any thread. Requests the rows of an executable (executable_load()). */
void load_threads_request(struct load_threads *threads, uint64_t executable_id, bool is_remote);

/** Any thread. A sample waits for these requested rows, so they are made before others. */
void load_threads_hurry(struct load_threads *threads, uint64_t executable_id);

/** Any thread. Requests that the file of a mapping on a remote file system is opened and identified. */
void load_threads_request_file(struct load_threads *threads, const struct file_request *request,
			       const struct proc_mapping *mapping);

/** Any thread. Requests to attach to a runtime; takes over @request. */
void load_threads_request_attach(struct load_threads *threads, struct attach_request *request);

/** Any thread. Requests a copy of code; takes over @request, which is on the heap. */
void load_threads_request_copy(struct load_threads *threads, struct code_copy_request *request);

/** Any thread. Requests a read of a process's perf map and jitdump file (perf_maps_read()). */
void load_threads_request_names(struct load_threads *threads, uint32_t pid,
				const struct process_identity *identity);

/** Any thread. Number of requests that wait for a thread. */
size_t load_threads_waiting(struct load_threads *threads);

/**
 * Drops queued requests and ends the threads except load_remote. That one gives up work of more than a second
 * and then idles, so that files that other processes hold can be read until load_threads_deinit().
 */
void load_threads_stop(struct load_threads *threads);

#endif
