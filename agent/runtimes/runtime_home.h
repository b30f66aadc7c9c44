/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The interface to the home of attached runtimes, in which all reads of a process's memory for them are made.
 * The agent's home is in processes of their own (runtime_hosts.h), a test's in the test itself
 * (tests/local_home.h).
 */
#ifndef AGENT_RUNTIMES_RUNTIME_HOME_H
#define AGENT_RUNTIMES_RUNTIME_HOME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/runtimes/name_answers.h"
#include "interpreters/language.h"

struct runtime_home;
struct runtime_host;

/** A reference to a runtime or a memory that lives there. All bytes zero: none. */
struct hosted {
	/** NULL in a home without hosts. */
	struct runtime_host *host;
	uint64_t id;
	/** The process's user. */
	uid_t uid;
};

/** A process and its runtime to attach to. All borrowed. */
struct host_target {
	uid_t uid;
	uint32_t pid;
	uint64_t executable_id;
	const char *path;
	/** The runtime's file, and the process's memory: /proc/PID/task/PID/stat (lib/host/remote_memory.h). */
	int file;
	int memory;
	uint64_t bias;
	const struct attach_module *modules;
	uint32_t module_count;
};

/** Result of attaching: references for the caller, and data for the kernel side, which the caller frees. */
struct host_runtime {
	struct hosted runtime;
	struct hosted memory;
	uint32_t data_bytes;
	void *data;
	bool may_grow;
	/** CPU time that attaching took in the home. */
	uint64_t cpu_ns;
};

/** A part of a process's memory, at most HOME_READ_BYTES. */
struct memory_part {
	uint64_t address;
	uint32_t bytes;
	uint32_t reserved;
};

enum {
	/** Limits of one read. */
	HOME_READ_PARTS = 16,
	HOME_READ_BYTES = 4096,
};

/**
 * Any thread, but each runtime and each memory is used by one thread at a time.
 *
 *	-EHOSTDOWN	memory or files of this process do not answer
 *	-ENOTCONN	the runtime was lost with the host that it lived in; it may be attached to anew
 */
struct runtime_home_ops {
	/** Also errors of language_ops.attach(). */
	int (*attach)(struct runtime_home *home, const struct host_target *target,
		      struct host_runtime *runtime);
	/** Gives @runtime the memory of another process, a fork. The caller still owns @fd. -ENOMEM, -ENOTCONN. */
	int (*add_memory)(struct runtime_home *home, const struct hosted *runtime, int fd,
			  struct hosted *memory);
	/** As runtime_room_name(), but replaces @answers. @pid is the process of the first memory. */
	int (*name)(struct runtime_home *home, const struct hosted *runtime,
		    const struct hosted *memories, uint32_t memory_count, uint32_t pid,
		    const struct name_query *queries, uint32_t query_count,
		    struct name_answers *answers);
	/**
	 * Reads @count parts, HOME_READ_PARTS at most, of the memory @fd of process @pid, one behind the other
	 * into @bytes. Errors as of remote_memory_ops.read(); -EAGAIN: not now, since it would have to wait for
	 * others.
	 */
	int (*read)(struct runtime_home *home, uid_t uid, uint32_t pid, int fd,
		    const struct memory_part *parts, uint32_t count, void *bytes);
	/** These release a reference, and never wait. */
	void (*release_runtime)(struct runtime_home *home, struct hosted *runtime);
	void (*release_memory)(struct runtime_home *home, struct hosted *memory);
	bool (*is_lost)(struct runtime_home *home, const struct hosted *hosted);
	/** From now on attach() and read() fail with -ECANCELED, also where they wait. */
	void (*stop_attaching)(struct runtime_home *home);
};

struct runtime_home {
	const struct runtime_home_ops *ops;
};

#endif
