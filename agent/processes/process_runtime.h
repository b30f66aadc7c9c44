/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Runtimes of languages that were attached to, as the threads share them: a load thread attaches,
 * sync publishes and lets go, work names frames. What the language made of a process serves its
 * forks too, whose memory is laid out alike until an exec; each process has a descriptor of its own
 * memory, which stays open as long as the process is remembered. A fork that has ended is named by
 * the memory of those it came from, as far as that holds the same objects (fingerprints tell).
 */
#ifndef AGENT_PROCESSES_PROCESS_RUNTIME_H
#define AGENT_PROCESSES_PROCESS_RUNTIME_H

#include <stdint.h>

#include "agent/host/remote_memory.h"
#include "agent/runtimes/read_budget.h"
#include "interpreters/interpreter.h"

struct shared_runtime;
struct shared_memory;

/** Its own, its parent's and that of the first one of all. */
enum { RUNTIME_MEMORIES_MAX = 3 };

/**
 * Places for objects that were looked at; one that lost its place is looked at again, for which the
 * process must still be there.
 */
enum { RUNTIME_OBJECTS_MAX = 256 };

/** Which one of those that forks have at an address a process has (interpreter_ops.symbolize). */
struct runtime_object {
	uint64_t address;
	uint32_t fingerprint;
	uint32_t object;
};

/** A runtime in one process; immutable but for the last two, shared by reference count (atomic). */
struct process_runtime {
	unsigned int references;
	/** Whose loop it is. */
	uint64_t executable_id;
	struct shared_runtime *shared;
	uint32_t memory_count;
	struct shared_memory *memories[RUNTIME_MEMORIES_MAX];
	/** Of the work thread, both. */
	struct read_budget budget;
	struct runtime_object objects[RUNTIME_OBJECTS_MAX];
};

/** Takes @memory and @process over, also if it fails: NULL without memory. One reference. */
struct process_runtime *process_runtime_create(uint64_t executable_id,
					       struct interpreter_process *process,
					       struct process_memory *memory);

/** That of process @pid, which is a fork of the one of @runtime. -ESRCH, -EACCES, -ENOMEM. */
int process_runtime_fork(const struct process_runtime *runtime, const char *proc_root, uint32_t pid,
			 struct process_runtime **fork);

struct process_runtime *process_runtime_ref(struct process_runtime *runtime);
void process_runtime_unref(struct process_runtime *runtime);

/** What the language made of the process; only its constant fields are any thread's to read. */
const struct interpreter_process *process_runtime_data(const struct process_runtime *runtime);

/** Work. The frames to come are of another stack (read_budget.h). */
void process_runtime_begin_stack(struct process_runtime *runtime, uint64_t now_ns);

/** Work. As interpreter_ops.symbolize(); -EAGAIN if that takes too much reading for now. */
int process_runtime_symbolize(struct process_runtime *runtime, const uint64_t words[2],
			      struct interpreted_frames *frames);

/** All runtimes of a process; immutable, shared by reference count (atomic). */
struct runtime_set {
	unsigned int references;
	uint32_t count;
	/** One reference each. */
	struct process_runtime *runtimes[INTERPRETER_MAX_COUNT];
};

/** Takes a reference of each. NULL without memory. */
struct runtime_set *runtime_set_create(struct process_runtime *const *runtimes, uint32_t count);
/** Takes NULL, both. */
struct runtime_set *runtime_set_ref(struct runtime_set *set);
void runtime_set_unref(struct runtime_set *set);

#endif
