/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Attached language runtimes, shared between threads: a load thread attaches, the sync thread publishes and
 * releases, the work thread names frames. They live in a runtime_home, with the memory of their processes. An
 * attached runtime also serves forks of its process, whose memory has the same layout until an exec. Each
 * process has its own memory in the home, which stays as long as the process is known. A fork that has ended is
 * named from the memory of its ancestors, as far as that holds the same objects, which is checked by
 * fingerprints.
 */
#ifndef AGENT_PROCESSES_RUNTIMES_PROCESS_RUNTIME_H
#define AGENT_PROCESSES_RUNTIMES_PROCESS_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/runtimes/runtime_home.h"
#include "agent/runtimes/runtime_room.h"
#include "interpreters/language.h"

struct shared_runtime;
struct shared_memory;

/**
 * Slots for identified objects. An object that lost its slot has to be identified again, for which the process
 * must still exist.
 */
enum { RUNTIME_OBJECTS_MAX = 256 };

/** The object at an address of a process. Its forks may have other objects there (language_ops.symbolize). */
struct runtime_object {
	uint64_t address;
	uint32_t fingerprint;
	uint32_t object;
};

/** A runtime in one process. Immutable except the last two fields; shared by reference count (atomic). */
struct process_runtime {
	unsigned int references;
	uint32_t pid;
	/** Never reused. */
	uint64_t id;
	/** The executable with the eval loop. */
	uint64_t executable_id;
	struct shared_runtime *shared;
	/**
	 * The process's own memory, its parent's and that of its first ancestor; none for a language without
	 * frames.
	 */
	uint32_t memory_count;
	struct shared_memory *memories[ROOM_MEMORIES_MAX];
	/** Atomic: its memory does not answer. */
	bool is_hanging;
	/** Used by the work thread. */
	struct runtime_object objects[RUNTIME_OBJECTS_MAX];
};

/**
 * Makes a process runtime from the result of attaching in @home, with one reference. Takes over the references
 * in @made, also on failure. NULL without memory.
 */
struct process_runtime *process_runtime_create(uint64_t executable_id, uint32_t pid,
					       const struct language *language,
					       struct runtime_home *home,
					       struct host_runtime *made);

/** Makes one for a runtime that was attached to in this process, of a language without frames. Copies its data. */
struct process_runtime *process_runtime_create_local(uint64_t executable_id, uint32_t pid,
						     const struct runtime *process);

/** Makes one for process @pid, a fork of the process of @runtime. -ESRCH, -EACCES, -ENOMEM, -ENOTCONN. */
int process_runtime_fork(const struct process_runtime *runtime, const char *proc_root, uint32_t pid,
			 struct process_runtime **fork);

struct process_runtime *process_runtime_ref(struct process_runtime *runtime);
/** Takes NULL. */
void process_runtime_unref(struct process_runtime *runtime);

/** Any thread. The language and its data for the kernel side. */
const struct runtime *process_runtime_data(const struct process_runtime *runtime);

/** Any thread. Whether its host is gone, so that it has to be attached to again. */
bool process_runtime_is_lost(const struct process_runtime *runtime);

/**
 * Any thread. Notes that memory of the process does not answer; from now on naming fails with -EHOSTDOWN at
 * once.
 */
void process_runtime_note_hanging(struct process_runtime *runtime);

/**
 * Work. Requests the frames of @queries, all of one stack, in one round, NAME_QUERIES_MAX at most. The queries'
 * objects are filled in here. Replaces @answers by one for each query, as language_ops.symbolize() gives them,
 * or with -EAGAIN if reading them would take too long now. -EHOSTDOWN, -ENOTCONN (runtime_home.h), -ENOMEM;
 * -EBADMSG for a language without frames.
 */
int process_runtime_name(struct process_runtime *runtime, struct name_query *queries,
			 uint32_t count, struct name_answers *answers);

/** All runtimes of a process; immutable, shared by reference count (atomic). */
struct runtime_set {
	unsigned int references;
	uint32_t count;
	/** One reference each. */
	struct process_runtime *runtimes[RUNTIMES_MAX];
};

/** Takes a reference to each runtime. NULL without memory. */
struct runtime_set *runtime_set_create(struct process_runtime *const *runtimes, uint32_t count);
/** Both take NULL. */
struct runtime_set *runtime_set_ref(struct runtime_set *set);
void runtime_set_unref(struct runtime_set *set);

#endif
