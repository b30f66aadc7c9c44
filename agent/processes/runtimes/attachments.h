/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Which runtimes of languages are attached to in which processes. When a process maps an executable
 * that is a runtime, a load thread is asked to attach, since that reads files and memory; its answer
 * comes back to sync, which publishes the process again with what the kernel side needs. A runtime
 * that has not set itself up yet is tried again, after ever longer pauses, and soon after a change
 * of its mappings. One that may grow is attached to again a few times, and so is one that was lost with what it lived
 * in (runtime_home.h): what the kernel side has of it stays meanwhile. A fork is attached to at once, as its parent is,
 * and so is a runtime for which nothing need be read: most programs of Go, which may live for milliseconds only.
 *
 * Owned by the sync thread. Runtimes in processes are limited to
 * ATTACHMENTS_MAX; beyond it those go whose process was not sampled for longest.
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
	/** To be tried again at due_ns. */
	ATTACHMENT_WAITING,
	/** A load thread is at it; asked again at due_ns. */
	ATTACHMENT_ASKED,
	/** To be asked for again at due_ns, if that is not 0. */
	ATTACHMENT_ATTACHED,
	/** It will not work. With a runtime: it worked until memory of the process did not answer. */
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
	/** Times that it was attached to again. */
	uint32_t growth_count;
	/** One reference once it was attached to, also while it is asked for again; else NULL. */
	struct process_runtime *runtime;
};

/** Of one process. */
struct process_attachments {
	uint32_t count;
	struct attachment items[RUNTIMES_MAX];
};

struct attachments {
	/** Borrowed. */
	struct process_table *table;
	struct executable_cache *executables;
	const char *proc_root;
	/** Where runtimes are attached to. Borrowed. */
	struct runtime_home *home;
	/**
	 * Has a load thread run @request, which it takes over; the answer goes to
	 * attachments_answer(). NULL: nothing is attached to.
	 */
	void (*request)(void *context, struct attach_request *request);
	void *context;

	/** Processes with something due. */
	struct sync_schedule due;
	uint32_t attached_count;
	/** Atomic: answers that are awaited. */
	uint32_t asked_count;
};

/** The first six fields are the caller's, the others zero. */
void attachments_deinit(struct attachments *attachments);

/**
 * The mappings of @process were read, and it is published next: lets go what it has no more, asks for
 * what is new, or attaches at once.
 */
void attachments_update(struct attachments *attachments, struct process *process, uint64_t now_ns);

/** @process, a fork of @parent, is gone: its samples are named by what the parent has. */
void attachments_lend(struct attachments *attachments, struct process *process,
		      const struct process *parent);

/** Before the first update of @process, a fork of @parent that shares its mappings. */
void attachments_inherit(struct attachments *attachments, struct process *process,
			 const struct process *parent);

/** A runtime was found among the executables: looks at all processes. */
void attachments_update_all(struct attachments *attachments, uint64_t now_ns);

/** What became of a request. */
struct attach_answer {
	uint32_t pid;
	struct process_stamp stamp;
	uint64_t executable_id;
	/** 0, or why there is no runtime. -EAGAIN if the request was lost, too. */
	int err;
	/** One reference; NULL with an error. */
	struct process_runtime *runtime;
};

/**
 * Takes over the reference. Fills @changed with the processes, ATTACH_MAX_CHANGED at most, which have
 * other runtimes now and are to be published again, and returns their number.
 */
enum { ATTACH_MAX_CHANGED = 2 };
uint32_t attachments_answer(struct attachments *attachments, const struct attach_answer *answer,
			    uint64_t now_ns, struct process *changed[ATTACH_MAX_CHANGED]);

/**
 * What runtimes lived in was lost, while memory or files of process @pid (0: of none) were read. All of them are asked
 * for again, but those of @pid: they stay, and their frames are errors. Its mappings are not looked at any more.
 */
void attachments_note_lost(struct attachments *attachments, uint32_t pid, uint64_t now_ns);

/** Asks for what is due; when the next is. */
void attachments_run_due(struct attachments *attachments, uint64_t now_ns);
uint64_t attachments_next_due(const struct attachments *attachments);

/** Fills @list for the kernel side, borrowed from the process; returns the number. */
uint32_t attachments_list(const struct process *process,
			  struct published_runtime list[RUNTIMES_MAX]);

/** Whether @process has a runtime that is attached to as @executable. */
bool attachments_have(const struct process *process, const struct executable *executable);

/** What @list takes of the map memory. */
uint64_t attachments_map_bytes(const struct published_runtime *list, uint32_t count);

/** Any thread. Whether an answer is awaited. */
bool attachments_are_pending(const struct attachments *attachments);

/** Lets go everything of @process. */
void attachments_release(struct attachments *attachments, struct process *process);

#endif
