/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The interface for reading those parts of /proc that wait for the lock of a process's memory: its maps, the
 * files that it has mapped, its environment and its command line. A process can keep that lock for ever, by unmapping a file
 * whose file system does not answer. Also, whoever holds the last reference to the memory of a process that
 * ended frees it, and may wait for such a file system as well. The agent's reads are made in a process of their
 * own (proc_hosts.h), a test's in the test itself (tests/local_proc.h).
 *
 * A process that hangs is not read while a host waits for it, and is read again afterwards. The processes of
 * one user may delay a caller for PROC_WAITS_NS in a minute; then none of them is read for the rest of the
 * minute. The limit for all users together is PROC_ALL_WAITS_NS. When half of it is used, a shorter wait counts
 * as a hang; when all of it is used, only root's processes are read.
 */
#ifndef AGENT_RUNTIMES_PROC_HOME_H
#define AGENT_RUNTIMES_PROC_HOME_H

#include <stdint.h>
#include <sys/types.h>

#include "lib/base/clock.h"
#include "lib/host/command_line.h"
#include "lib/host/proc_maps.h"
#include "lib/host/process_environment.h"
#include "lib/model/file_key.h"

struct proc_home;

/** A read hangs if it waits for PROC_HANG_NS at a time, or for PROC_READ_WAITS_NS in total. */
#define PROC_HANG_NS NS_PER_SECOND
#define PROC_READ_WAITS_NS (2 * NS_PER_SECOND)
#define PROC_WAITS_NS (4 * NS_PER_SECOND)
#define PROC_ALL_WAITS_NS (12 * NS_PER_SECOND)

/** Result of mapped_file_key(). */
struct mapped_key {
	int err;
	struct file_key key;
};

enum {
	/** Limit of devices that are passed with a first read. */
	PROC_DEVICES_MAX = 64,
};

/** Additional data that is read with the maps of a new process, so that the caller waits only once. */
struct proc_first_read {
	/**
	 * Devices whose files may be looked at. The keys of these files are read with the maps, as far as there
	 * is time, and are returned by the next read_keys().
	 */
	uint64_t devices[PROC_DEVICES_MAX];
	uint32_t device_count;
	/** The pid of the parent; if it is 0, it becomes that of proc_parent(), if there is one. */
	uint32_t parent_pid;
	/** Results of service_name_read() and command_line_read(). */
	char service_name[SERVICE_NAME_MAX_BYTES];
	char command_line[COMMAND_LINE_MAX_BYTES];
};

/**
 * Used by one thread at a time. Each read can fail with
 *
 *	-EHOSTDOWN	the process holds the lock of its memory
 *	-EBUSY		others of its user do or did lately, or too many in all; the read could not be made at the moment;
 *			or it is time to stop
 *	-ENOMEM
 */
struct proc_home_ops {
	/** As proc_maps_read(), for PROC_MAPS_CODE. @first is NULL unless the process is new. */
	int (*read_maps)(struct proc_home *home, pid_t pid, struct proc_maps *maps,
			 struct proc_first_read *first);
	/**
	 * As mapped_file_key() for the rows of @maps whose key has the error -EAGAIN; other keys are untouched.
	 * The first of them is always read. Keys that could not be read until @end_ns keep -EAGAIN.
	 */
	int (*read_keys)(struct proc_home *home, pid_t pid, const struct proc_maps *maps,
			 uint64_t end_ns, struct mapped_key *keys);
	/**
	 * As mapped_file_open_mapping(), for a @row on a local file system. -ENOENT also if another file is
	 * mapped there now, since that may be on a file system that never answers.
	 */
	int (*open_file)(struct proc_home *home, pid_t pid, const struct proc_mapping *row, int *fd,
			 struct file_key *key);
	/** CPU time that other processes have used for the reads. */
	uint64_t (*cpu_ns)(const struct proc_home *home);
	/** Any thread. From now on nothing is read, and no call waits for longer than a moment. */
	void (*stop)(struct proc_home *home);
};

struct proc_home {
	const struct proc_home_ops *ops;
};

#endif
