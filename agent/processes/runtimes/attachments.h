/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The attachments to language runtimes in processes. When a process maps an executable that is a runtime, a
 * load thread is asked to attach, since that reads files and memory. Its answer goes to the sync thread, which
 * publishes the process again with the runtime's data. A runtime that has not initialized itself yet is tried
 * again after ever longer pauses, and soon after a change of its mappings. A runtime that may grow is attached
 * to again a few times, and so is one that was lost with its host (runtime_home.h); its data on the kernel side
 * stay meanwhile. A fork is attached to at once, as its parent is. So is a runtime for which nothing need be
 * read: most programs of Go, which may live for milliseconds only.
 *
 * Owned by the sync thread. At most ATTACHMENTS_MAX runtimes are attached to; beyond that the runtimes of the
 * process that was not sampled for longest are released.
 */
#ifndef AGENT_PROCESSES_RUNTIMES_ATTACHMENTS_H
#define AGENT_PROCESSES_RUNTIMES_ATTACHMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/processes/executable_cache.h"
#include "agent/processes/process.h"
#include "agent/processes/runtimes/attach_request.h"
#include "agent/processes/runtimes/process_runtime.h"
#include "agent/processes/sync_schedule.h"
#include "lib/model/map_writer.h"

enum { ATTACHMENTS_MAX = 1024 };

enum attachment_state {
	/** It is tried again at due_ns. */
	ATTACHMENT_WAITING,
	/** A load thread was asked to attach; it is asked again at due_ns. */
	ATTACHMENT_ASKED,
	/** It is attached to again at due_ns, if that is not 0. */
	ATTACHMENT_ATTACHED,
	/**
	 * Attaching cannot succeed. If runtime is set, it succeeded earlier, but then memory of the process did
	 * not answer.
	 */
	ATTACHMENT_REFUSED,
};

struct attachment {
	enum attachment_state state;
	/** One reference; the file is a runtime. */
	struct executable *executable;
	uint64_t bias;
	uint32_t try_count;
	uint64_t tried_ns;
	uint64_t due_ns;
	/** Number of times that it was attached to again. */
	uint32_t growth_count;
	/** One reference once it was attached to, also while it is requested again; otherwise NULL. */
	struct process_runtime *runtime;
};

/** The attachments of one process. */
struct process_attachments {
	uint32_t count;
	struct attachment items[RUNTIMES_MAX];
};

struct attachments {
	/** Borrowed. */
	struct process_table *table;
	struct executable_cache *executables;
	const char *proc_root;
	/** The home that attaches to runtimes. Borrowed. */
	struct runtime_home *home;
	/**
	 * Requests a load thread to run @request, and takes it over; the answer goes to attachments_answer().
	 * NULL: no runtime is attached to.
	 */
	void (*request)(void *context, struct attach_request *request);
	void *context;

	/** Schedule of processes that need another try. */
	struct sync_schedule due;
	uint32_t attached_count;
	/** Atomic: number of answers that are awaited. */
	uint32_t asked_count;
};

/** The first six fields are the caller's, the others zero. */
void attachments_deinit(struct attachments *attachments);

/**
 * To be called after the mappings of @process were read and before it is published. Releases runtimes that it
 * no longer has, and requests new ones or attaches at once.
 */
void attachments_update(struct attachments *attachments, struct process *process, uint64_t now_ns);

/** Gives @process, a fork of @parent that is gone, the parent's runtimes to name its samples. */
void attachments_lend(struct attachments *attachments, struct process *process,
		      const struct process *parent);

/** To be called before the first update of @process, a fork of @parent that shares its mappings. */
void attachments_inherit(struct attachments *attachments, struct process *process,
			 const struct process *parent);

/** Updates all processes, since an executable was found to be a runtime. */
void attachments_update_all(struct attachments *attachments, uint64_t now_ns);

/** Result of a request. */
struct attach_answer {
	uint32_t pid;
	struct process_identity identity;
	uint64_t executable_id;
	/** 0 or the error of attaching. -EAGAIN also if the request was lost. */
	int err;
	/** One reference; NULL with an error. */
	struct process_runtime *runtime;
};

/**
 * Takes over the reference. Fills @changed with the processes, at most ATTACH_MAX_CHANGED, whose runtimes
 * changed and which must be published again, and returns their number.
 */
enum { ATTACH_MAX_CHANGED = 2 };
uint32_t attachments_answer(struct attachments *attachments, const struct attach_answer *answer,
			    uint64_t now_ns, struct process *changed[ATTACH_MAX_CHANGED]);

/**
 * To be called when a host process was lost. @pid is the process that it was reading, or 0. The runtimes of the lost
 * host are requested again, except those of @pid: these stay attached, and their frames become error frames. The
 * mappings of @pid are not read any more.
 */
void attachments_note_lost(struct attachments *attachments, uint32_t pid, uint64_t now_ns);

/** Requests runtimes that are due; the time of the next one. */
void attachments_run_due(struct attachments *attachments, uint64_t now_ns);
uint64_t attachments_next_due(const struct attachments *attachments);

/** Fills @list for the kernel side, borrowed from the process; returns the number of entries. */
uint32_t attachments_list(const struct process *process,
			  struct published_runtime list[RUNTIMES_MAX]);

/** Whether @process has an attached runtime of @executable. */
bool attachments_have(const struct process *process, const struct executable *executable);

/**
 * Whether @process has mapped a runtime that generates code, attached to or not, supported or not, as far as its files were
 * probed.
 */
bool attachments_may_have_code(const struct process *process);

/** Bytes of map memory that @list takes. */
uint64_t attachments_map_bytes(const struct published_runtime *list, uint32_t count);

/** Any thread. Whether an answer is awaited. */
bool attachments_are_pending(const struct attachments *attachments);

/** Releases all attachments of @process. */
void attachments_release(struct attachments *attachments, struct process *process);

#endif
