/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Where runtimes live that were attached to: what is done with them goes there, since it reads memory of others. The
 * agent's are in processes of their own (runtime_hosts.h), a test's in the test.
 */
#ifndef AGENT_RUNTIMES_RUNTIME_HOME_H
#define AGENT_RUNTIMES_RUNTIME_HOME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/runtimes/name_answers.h"
#include "interpreters/interpreter.h"

struct runtime_home;
struct runtime_host;

/** A runtime that lives there, or a memory: a reference to it. All bytes zero: none. */
struct hosted {
	/** NULL in a home that has one place only. */
	struct runtime_host *host;
	uint64_t id;
};

/** What to attach to. All borrowed. */
struct host_target {
	uid_t uid;
	uint32_t pid;
	uint64_t executable_id;
	const char *path;
	/** The runtime's file, and /proc/PID/mem. */
	int file;
	int memory;
	uint64_t bias;
	const struct interpreter_module *modules;
	uint32_t module_count;
};

/** What comes of it: references for the caller, and the data for the kernel side, allocated. */
struct host_runtime {
	struct hosted runtime;
	struct hosted memory;
	uint32_t data_bytes;
	void *data;
	bool may_grow;
};

/**
 * Any thread, but each runtime and each memory is used by one thread at a time. What was lost with its place gives
 * -EHOSTDOWN: it may be attached to anew.
 */
struct runtime_home_ops {
	/** As interpreter_ops.attach() says, and -EHOSTDOWN: the process does not answer. */
	int (*attach)(struct runtime_home *home, const struct host_target *target,
		      struct host_runtime *runtime);
	/** The memory of another process beside @runtime; @fd stays the caller's. */
	int (*add_memory)(struct runtime_home *home, const struct hosted *runtime, int fd,
			  struct hosted *memory);
	/** As runtime_room_name(): replaces @answers. @pid is whose memory the first one is. */
	int (*name)(struct runtime_home *home, const struct hosted *runtime,
		    const struct hosted *memories, uint32_t memory_count, uint32_t pid,
		    const struct name_query *queries, uint32_t query_count,
		    struct name_answers *answers);
	/** Give a reference back. They never wait. */
	void (*release_runtime)(struct runtime_home *home, struct hosted *runtime);
	void (*release_memory)(struct runtime_home *home, struct hosted *memory);
	bool (*is_lost)(struct runtime_home *home, const struct hosted *hosted);
};

struct runtime_home {
	const struct runtime_home_ops *ops;
};

#endif
