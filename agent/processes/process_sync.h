/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Syncing one process: its maps are read, compared with what was known, and only what is new is
 * looked at. The result is published to the kernel side with the stamp of the notice, which was
 * taken before the maps were read, so that a table that comes too late is unused, never wrong.
 *
 * Everything here belongs to the sync thread. Whatever the process does meanwhile (exit, exec, map
 * and unmap) is normal and silent; files are opened only if they lie on local file systems.
 */
#ifndef AGENT_PROCESSES_PROCESS_SYNC_H
#define AGENT_PROCESSES_PROCESS_SYNC_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/processes/executable_cache.h"
#include "agent/processes/gone_process.h"
#include "agent/processes/local_devices.h"
#include "agent/processes/mapping_log.h"
#include "agent/processes/process.h"
#include "agent/processes/runtimes/attachments.h"
#include "agent/runtimes/proc_home.h"
#include "lib/host/proc_maps.h"
#include "lib/model/map_writer.h"

struct process_sync {
	struct map_writer *writer;
	struct process_table *table;
	struct executable_cache *executables;
	/** Borrowed. */
	const char *proc_root;
	/** As struct attachments has it. Borrowed. */
	struct runtime_home *home;
	/** Where what a process can keep waiting is read. Borrowed. */
	struct proc_home *reads;
	/** Has load_remote open the file of a mapping; its answer goes to process_sync_identified(). */
	void (*request_file)(void *context, const struct process *process,
			     const struct proc_mapping *mapping);
	/** As struct attachments has it. */
	void (*request_attach)(void *context, struct attach_request *request);
	void *context;
	/** Borrowed. */
	struct mapping_log *mapping_log;
	/** The agent's own vDSO; 0 bytes: there is none. */
	const void *vdso;
	size_t vdso_bytes;
	/** The agent's own. */
	pid_t own_pid;
	struct local_devices devices;
	struct gone_files gone_files;
	struct attachments attachments;
	/** Rows of all processes on the kernel side. */
	uint64_t published_bytes;
};

/** Sets up vdso and what follows it; the other fields are the caller's. */
void process_sync_init(struct process_sync *sync);
void process_sync_deinit(struct process_sync *sync);

/** Addresses in which files are looked at again, though the line in maps is as it was. */
struct address_range {
	uint64_t start;
	uint64_t end;
};

/**
 * Syncs and publishes @process; *@has_changed tells whether its rows did. -ESRCH: the process is
 * gone, and then it has the rows of the parent that it is a fork of, if that is certain, else what the log
 * of mappings tells, else those it had. -EAGAIN: it is gone, and what happened to it is not all known yet.
 * -EHOSTDOWN, -EBUSY: its memory does not answer, and it may be tried again (proc_home.h). Others as
 * reading maps says.
 */
int process_sync_run(struct process_sync *sync, struct process *process,
		     const struct address_range *touched, bool *has_changed);

/**
 * The answer to request_file() for the mapping at @start with the inode @inode: @executable, a
 * reference of which it takes over, or NULL if the file cannot be had. Publishes the process again.
 */
void process_sync_identified(struct process_sync *sync, struct process *process, uint64_t start,
			     uint64_t inode, struct executable *executable);

/**
 * The maps of @process were read, but may have been those of the program that came after it in the
 * same pid: gives it the rows of the parent that it is a fork of, or none.
 */
void process_sync_doubt(struct process_sync *sync, struct process *process);

/** Whether the next sync of @process opens files that it has mapped, since they were closed or lost. */
bool process_sync_lacks_file(const struct process *process);

/** Runtimes of @process changed: publishes it again, if it is published. */
void process_sync_republish(struct process_sync *sync, struct process *process);

/** Says that @process ended at @now_ns, if it had not before: it runs no files any more. */
void process_sync_end(struct process_sync *sync, struct process *process, uint64_t now_ns);

/** Takes the process out of the kernel side's maps. */
void process_sync_retire(struct process_sync *sync, struct process *process);

/** Gives back what the process holds; then it may be removed from the table. */
void process_sync_release(struct process_sync *sync, struct process *process);

#endif
