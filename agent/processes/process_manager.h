/* SPDX-License-Identifier: Apache-2.0 */
/**
 * processes/ keeps the kernel side's data of every process up to date and converts raw records to traces. This
 * is its main interface. agent.c creates it, passes it the events of agent/tracing, and gives it a map_writer,
 * a reporter and the kernel's symbols.
 *
 *	ring thread (agent/tracing)  event handler below: only puts records into bounded queues
 *	sync                         reads maps, opens local files, owns the map_writer
 *	load, load_small             parse ELF, attach to runtimes; load_small only what takes a moment
 *	load_remote                  the same of files on network or FUSE file systems, which other processes read
 *	work                         trace handler: converts samples and reports them
 *
 * If process events or side-band events do not fit their queue, all processes are synced. Of samples the oldest are
 * dropped and counted (METRIC_SAMPLES_DROPPED).
 */
#ifndef AGENT_PROCESSES_PROCESS_MANAGER_H
#define AGENT_PROCESSES_PROCESS_MANAGER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/processes/user_unwinder.h"
#include "lib/model/events.h"
#include "lib/model/map_writer.h"
#include "reporter/reporter.h"

struct delta_cache;
struct elf_image;
struct file_home;
struct runtime_file;
struct kernel_symbols;
struct listed_runtime;
struct proc_home;
struct process_manager;
struct runtime_home;

/** Everything is borrowed and must outlive the manager. */
struct process_manager_config {
	/** Used by the sync thread alone, from start to stop. */
	struct map_writer *writer;
	/** Used by the work thread alone, from start to stop. */
	struct reporter *reporter;
	/** "/proc", or a test's folder. */
	const char *proc_root;
	/** Used by the load threads; NULL: no disk cache. */
	struct delta_cache *delta_cache;
	/** Used by the work thread alone, which refreshes them too; NULL: no kernel names. */
	struct kernel_symbols *kernel_symbols;
	/** Used by the work thread alone; NULL: deferred samples have kernel frames only. */
	struct user_unwinder *user_unwinder;
	/**
	 * Detects whether a file is a runtime of one of @languages (languages_probe()); NULL: no languages.
	 * Called by the load threads.
	 */
	int (*probe)(uint32_t languages, const struct elf_image *image, const char *path,
		     struct runtime_file **file);
	/** Detects libraries that copy stacks (languages_copy_stacks()). NULL with `probe`. Called by the load threads. */
	bool (*copies_stacks)(uint32_t languages, const struct elf_image *image);
	uint32_t languages;
	/** Reports that a file is a runtime of the language with index @language. Load threads. May be NULL. */
	void (*runtime_found)(void *context, uint32_t language);
	/** sync_loop.h: which processes are read before they are sampled. May be NULL. */
	bool (*is_selected)(void *context, uint32_t pid, bool is_new);
	/** For both functions. */
	void *context;
	/** The home that parses executables; NULL: the threads here do. Borrowed. */
	struct elf_home *parser;
	/** The home that attaches to runtimes and reads memory; NULL: neither is done. */
	struct runtime_home *home;
	/** The home that reads files that may never answer; NULL: they are not read. */
	struct file_home *files;
	/** The homes that read maps, one for the sync thread and one for load_remote. */
	struct proc_home *reads;
	struct proc_home *load_reads;
	/** Sampling rate of each CPU. */
	uint32_t samples_per_second;
	/** Leaves out frames of a runtime's own code (frame_converter.h). */
	bool fold_runtime_frames;
	/** Copies anonymous code (code_copies.h), whose rows the kernel side uses. With @home only. */
	bool copies_code;
};

/** Starts no thread yet. -ENOMEM. */
int process_manager_create(const struct process_manager_config *config,
			   struct process_manager **manager);

/** Stops first if need be. Takes NULL. */
void process_manager_destroy(struct process_manager *manager);

/**
 * Fills *@handler, valid from create to destroy. Its functions never block on I/O. They may be called before
 * start; records are queued then.
 */
void process_manager_handler(struct process_manager *manager, struct event_handler *handler);

/**
 * Starts the threads and syncs the processes in @tasks (copied; kernel threads are skipped). Read the tasks
 * after the programs have been attached, so that no process is missed.
 */
int process_manager_start(struct process_manager *manager, const struct task_snapshot *tasks,
			  uint32_t task_count);

/**
 * Waits until every process of process_manager_start() has been published and all its executables are loaded or
 * have failed. 0 or -EAGAIN after @timeout_ns.
 */
int process_manager_wait_loaded(struct process_manager *manager, uint64_t timeout_ns);

/**
 * Waits until every sample so far has been reported, including deferred samples. No more samples may come
 * meanwhile. 0 or -EAGAIN after @timeout_ns.
 */
int process_manager_flush(struct process_manager *manager, uint64_t timeout_ns);

/**
 * Sets METRIC_PROCESSES_HANGING, METRIC_OLDEST_SAMPLE_AGE and METRIC_OLDEST_EVENT_AGE: how far the work and the
 * sync thread are behind; METRIC_STALLED; and the lengths of the queues. Samples that wait for their process, for a
 * bounded time, do not count as old. Between create and destroy, by one thread.
 */
void process_manager_note_delays(struct process_manager *manager);

/**
 * Any thread. A host process of runtimes was lost while it read memory or files of process @pid (0: of none;
 * runtime_hosts_options.lost).
 */
void process_manager_runtimes_lost(struct process_manager *manager, uint32_t pid);

/** Any thread. Files that other processes held were lost (file_hosts_options.lost). */
void process_manager_files_lost(struct process_manager *manager);

/**
 * Calls @take for each runtime (runtime_list.h) of the known processes, in no order. The texts are borrowed for
 * the call. Between process_manager_stop() and process_manager_destroy().
 */
void process_manager_list_runtimes(const struct process_manager *manager,
				   void (*take)(void *context,
						const struct listed_runtime *runtime),
				   void *context);

/** Ends the threads; samples still in the queues are dropped (flush first). Files of binaries can still be read. */
void process_manager_stop(struct process_manager *manager);

#endif
