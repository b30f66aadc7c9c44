/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Syncs one process: reads its maps, compares them with the known mappings, and identifies only new ones. The
 * result is published to the kernel side with the identity of its process event, which was taken before the maps were
 * read. So a table that comes too late is unused, never wrong.
 *
 * Everything here belongs to the sync thread. The process may exit, exec, map and unmap meanwhile; this is
 * normal and not logged. Files are opened only if they are on local file systems.
 */
#ifndef AGENT_PROCESSES_PROCESS_SYNC_H
#define AGENT_PROCESSES_PROCESS_SYNC_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/processes/code_copies.h"
#include "agent/processes/executable_cache.h"
#include "agent/processes/gone_process.h"
#include "agent/processes/local_devices.h"
#include "agent/processes/mapping_log.h"
#include "agent/processes/process.h"
#include "agent/processes/process_attributes.h"
#include "agent/processes/runtimes/attachments.h"
#include "agent/runtimes/proc_home.h"
#include "lib/host/proc_maps.h"
#include "lib/host/user_names.h"
#include "lib/model/map_writer.h"

struct process_sync {
	struct map_writer *writer;
	struct process_table *table;
	struct executable_cache *executables;
	/** Borrowed. */
	const char *proc_root;
	/** As in struct attachments. Borrowed. */
	struct runtime_home *home;
	/** The home for reads that a process can delay. Borrowed. */
	struct proc_home *reads;
	/** Requests load_remote to open the file of a mapping; the answer goes to process_sync_identified(). */
	void (*request_file)(void *context, const struct process *process,
			     const struct proc_mapping *mapping);
	/** As in struct attachments. */
	void (*request_attach)(void *context, struct attach_request *request);
	void *context;
	/** Borrowed. */
	struct mapping_log *mapping_log;
	/** The agent's own vDSO; 0 bytes: there is none. */
	const void *vdso;
	size_t vdso_bytes;
	/** The agent's own pid. */
	pid_t own_pid;
	struct local_devices devices;
	struct user_names users;
	struct gone_files gone_files;
	struct attachments attachments;
	/** Its first three fields and `context` are set by process_sync_init(), `request` is the caller's. */
	struct code_copies copies;
	/** Size of the rows of all processes on the kernel side. */
	uint64_t published_bytes;
};

/** Sets up vdso and what follows it; the other fields are the caller's. */
void process_sync_init(struct process_sync *sync);
void process_sync_deinit(struct process_sync *sync);

static inline struct attribute_sources process_sync_sources(struct process_sync *sync)
{
	return (struct attribute_sources){ .proc_root = sync->proc_root, .users = &sync->users };
}

/** Addresses where files are identified again even if the line in maps has not changed. */
struct address_range {
	uint64_t start;
	uint64_t end;
};

/**
 * Syncs and publishes @process; *@has_changed tells whether its rows changed. -ESRCH: the process is gone. It
 * then has the rows of its parent if it is certainly a fork, otherwise those from the log of mappings,
 * otherwise its old ones. -EAGAIN: it is gone, and not all of its events are known yet. -EHOSTDOWN, -EBUSY: its
 * memory does not answer, and the sync may be tried again (proc_home.h). Other errors are those of reading
 * maps.
 */
int process_sync_run(struct process_sync *sync, struct process *process,
		     const struct address_range *touched, bool *has_changed);

/**
 * The answer to request_file() for the mapping at @start with the inode @inode: @executable, of which it takes
 * over a reference, or NULL if the file cannot be had. Publishes the process again.
 */
void process_sync_identified(struct process_sync *sync, struct process *process, uint64_t start,
			     uint64_t inode, struct executable *executable);

/**
 * The maps that were read for @process may have been those of the next program in the same pid. Gives it the
 * rows of its parent if it is a fork, otherwise none; then it is new again if it was sampled, and the next sync makes its rows from the
 * side-band.
 */
void process_sync_doubt(struct process_sync *sync, struct process *process);

/** Whether the next sync of @process opens mapped files again that were closed or lost. */
bool process_sync_lacks_file(const struct process *process);

/** Publishes @process again, if it is published, since its runtimes changed. */
void process_sync_republish(struct process_sync *sync, struct process *process);

/** Notes that @process ended at @now_ns, unless it had ended before, and that it runs no files any more. */
void process_sync_end(struct process_sync *sync, struct process *process, uint64_t now_ns);

/** Takes the process out of the kernel side's maps. */
void process_sync_retire(struct process_sync *sync, struct process *process);

/** Releases everything that the process holds; then it may be removed from the table. */
void process_sync_release(struct process_sync *sync, struct process *process);

#endif
