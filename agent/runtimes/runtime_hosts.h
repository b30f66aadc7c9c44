/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The processes that hold runtimes (runtime_host.h), one for each user whose programs have runtimes, as the agent
 * sees them: they are started when they are needed, watched, and left behind when they hang. What lived in one
 * is lost then; whoever asks for it gets -EHOSTDOWN, and may attach anew, in another process. The process in
 * whose memory it hung is not attached to again. A user who lets HOSTS_HUNG_OF_USER_MAX of them hang gets no other
 * one until one of these has ended.
 *
 * Thread-safe, but each runtime and each memory is used by one thread at a time.
 */
#ifndef AGENT_RUNTIMES_RUNTIME_HOSTS_H
#define AGENT_RUNTIMES_RUNTIME_HOSTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/runtimes/name_answers.h"
#include "agent/runtimes/runtime_room.h"

struct runtime_host;
struct runtime_hosts;

enum {
	/** Users beyond them share the last one. */
	HOSTS_MAX = 8,
	HOSTS_HUNG_OF_USER_MAX = 2,
	HOSTS_HUNG_MAX = 16,
};

struct runtime_hosts_options {
	/** The program to start; NULL: ours, which must call runtime_host_enter(). Borrowed. */
	const char *program;
	/** Which languages there are (interpreters/registry.h). */
	uint32_t languages;
	/** A process hangs, while it read in @pid (0: none), and all that lived in it is lost. Any thread. */
	void (*lost)(void *context, uint32_t pid);
	void *context;
};

int runtime_hosts_create(const struct runtime_hosts_options *options, struct runtime_hosts **hosts);
/** Takes NULL. Those that hang are left behind. */
void runtime_hosts_destroy(struct runtime_hosts *hosts);

/** A runtime that lives in one of them, or a memory: a reference to it. */
struct hosted {
	struct runtime_host *host;
	uint64_t id;
};

/** What to attach to. All borrowed; descriptors are sent along. */
struct host_target {
	uid_t uid;
	uint32_t pid;
	uint64_t executable_id;
	const char *path;
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

/** As interpreter_ops.attach() says, and -EHOSTDOWN. */
int runtime_hosts_attach(struct runtime_hosts *hosts, const struct host_target *target,
			 struct host_runtime *runtime);

/** A memory beside @runtime: @fd is sent, and stays the caller's. -EHOSTDOWN. */
int runtime_hosts_add_memory(struct runtime_hosts *hosts, const struct hosted *runtime, int fd,
			     struct hosted *memory);

/** As runtime_room_name(); @memories are of the host of @runtime, process @pid is the first one's. -EHOSTDOWN. */
int runtime_hosts_name(struct runtime_hosts *hosts, const struct hosted *runtime,
		       const struct hosted *memories, uint32_t memory_count, uint32_t pid,
		       const struct name_query *queries, uint32_t query_count,
		       struct name_answers *answers);

/** Gives the reference back. Never waits. */
void hosted_release_runtime(struct hosted *runtime);
void hosted_release_memory(struct hosted *memory);

/** Whether what lived there is lost. */
bool hosted_is_lost(const struct hosted *hosted);

/** How many hang now. */
uint32_t runtime_hosts_hung_count(struct runtime_hosts *hosts);

#endif
