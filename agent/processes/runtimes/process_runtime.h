/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Attached runtimes of languages, as the threads share them: a load thread attaches, sync publishes and lets go, work
 * names frames. They live in a runtime_home, with the memory of their processes. What the language made of a process
 * serves its forks too, whose memory is laid out alike until an exec; each process has a memory of its own there, which
 * stays as long as the process is remembered. A fork that has ended is named by the memory of those it came from,
 * as far as that holds the same objects (fingerprints tell).
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
 * Slots for objects that were looked at; one that lost its slot is looked at again, for which the
 * process must still be there.
 */
enum { RUNTIME_OBJECTS_MAX = 256 };

/** The object that a process has at an address. Its forks may have others there (language_ops.symbolize). */
struct runtime_object {
	uint64_t address;
	uint32_t fingerprint;
	uint32_t object;
};

/** A runtime in one process; immutable but for the last two, shared by reference count (atomic). */
struct process_runtime {
	unsigned int references;
	uint32_t pid;
	/** Never used again. */
	uint64_t id;
	/** Whose loop it is. */
	uint64_t executable_id;
	struct shared_runtime *shared;
	/** Its own memory, its parent's and that of the first one of all; none for a language without frames. */
	uint32_t memory_count;
	struct shared_memory *memories[ROOM_MEMORIES_MAX];
	/** Atomic: its memory does not answer. */
	bool is_hanging;
	/** The work thread's. */
	struct runtime_object objects[RUNTIME_OBJECTS_MAX];
};

/**
 * What became of attaching in @home: takes over what @made has, also if it fails: NULL without memory. One reference.
 */
struct process_runtime *process_runtime_create(uint64_t executable_id, uint32_t pid,
					       const struct language *language,
					       struct runtime_home *home,
					       struct host_runtime *made);

/** Of a runtime that was attached to here, of a language without frames: keeps a copy of its data. */
struct process_runtime *process_runtime_create_local(uint64_t executable_id, uint32_t pid,
						     const struct runtime *process);

/** That of process @pid, which is a fork of the one of @runtime. -ESRCH, -EACCES, -ENOMEM, -ENOTCONN. */
int process_runtime_fork(const struct process_runtime *runtime, const char *proc_root, uint32_t pid,
			 struct process_runtime **fork);

struct process_runtime *process_runtime_ref(struct process_runtime *runtime);
/** Takes NULL. */
void process_runtime_unref(struct process_runtime *runtime);

/** Any thread. The language, and what it has for the kernel side. */
const struct runtime *process_runtime_data(const struct process_runtime *runtime);

/** Any thread. It is to be attached to anew: what it lived in is gone. */
bool process_runtime_is_lost(const struct process_runtime *runtime);

/** Any thread. Memory of the process does not answer: from now on naming gives -EHOSTDOWN at once. */
void process_runtime_note_hanging(struct process_runtime *runtime);

/**
 * Work. Asks for the frames of @queries, all of one stack, in one round, NAME_QUERIES_MAX at most; their objects are filled
 * in here. Replaces @answers, which has one for each, as language_ops.symbolize() and with -EAGAIN if that takes too
 * much reading for now. -EHOSTDOWN, -ENOTCONN (runtime_home.h), -ENOMEM; -EBADMSG for a language without frames.
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

/** Takes a reference of each. NULL without memory. */
struct runtime_set *runtime_set_create(struct process_runtime *const *runtimes, uint32_t count);
/** Takes NULL, both. */
struct runtime_set *runtime_set_ref(struct runtime_set *set);
void runtime_set_unref(struct runtime_set *set);

#endif
