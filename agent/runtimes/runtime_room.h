/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Language runtimes that live in this process, with the memories of their processes; used by the processes for
 * that (runtime_host.h) and by tests. Both are identified by numbers that the caller chooses and uses once.
 *
 * Two threads: one attaches, the other does everything else. Attached runtimes belong to the latter.
 */
#ifndef AGENT_RUNTIMES_RUNTIME_ROOM_H
#define AGENT_RUNTIMES_RUNTIME_ROOM_H

#include <stdint.h>

#include "agent/runtimes/name_answers.h"
#include "interpreters/language.h"

struct runtime_room;

/** NULL without memory. */
struct runtime_room *runtime_room_create(void);
/** Takes NULL. Detaches from all. */
void runtime_room_destroy(struct runtime_room *room);

/** Takes over @memory in any case. -ENOMEM, also if @memory is NULL. Any thread. */
int runtime_room_add_memory(struct runtime_room *room, uint64_t memory_id,
			    struct remote_memory *memory);
void runtime_room_remove_memory(struct runtime_room *room, uint64_t memory_id);

/** The process to attach to; the runtime's file is passed beside it. Borrowed for the call. */
struct room_target {
	uint32_t pid;
	uint64_t memory_id;
	uint64_t bias;
	const struct attach_module *modules;
	uint32_t module_count;
};

/** *@process is borrowed until the runtime is removed. Errors as of language_ops.attach(). */
int runtime_room_attach(struct runtime_room *room, uint64_t runtime_id,
			const struct runtime_file *file, const struct room_target *target,
			const struct runtime **process);
void runtime_room_remove_runtime(struct runtime_room *room, uint64_t runtime_id);

enum { ROOM_MEMORIES_MAX = 3 };

/**
 * Frames to be named, all of one stack: from the first of the memories that exists, and within the read budget
 * of the first memory.
 */
struct room_names {
	uint64_t runtime_id;
	uint32_t memory_count;
	uint64_t memory_ids[ROOM_MEMORIES_MAX];
	const struct name_query *queries;
	uint32_t query_count;
};

/** Replaces @answers by one for each query. -ENOMEM; other errors are in the answers. */
int runtime_room_name(struct runtime_room *room, const struct room_names *names, uint64_t now_ns,
		      struct name_answers *answers);

#endif
