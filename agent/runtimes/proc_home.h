/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Where those parts of /proc are read that wait for the lock of a process's memory: its maps, the files that it has
 * mapped, and its environment. A process can keep that lock for ever, by unmapping a file whose file system does not
 * answer; and whoever holds what is left of a process's memory when it ends gives it back, and waits for such a file
 * system as well. The agent's reads are made in a process of their own (proc_hosts.h), a test's in the test
 * (tests/local_proc.h).
 *
 * A process that hangs is not read while a host waits for it, and is read again afterwards. The processes of one user
 * may keep a caller waiting for PROC_WAITS_NS in a minute; then none of them is read for the rest of it. Those of all users
 * together may for PROC_ALL_WAITS_NS: when half of it is used, a read hangs sooner, and after it only root's are read.
 */
#ifndef AGENT_RUNTIMES_PROC_HOME_H
#define AGENT_RUNTIMES_PROC_HOME_H

#include <stdint.h>
#include <sys/types.h>

#include "lib/base/clock.h"
#include "lib/host/proc_maps.h"
#include "lib/host/process_environment.h"
#include "lib/model/file_key.h"

struct proc_home;

/** A read hangs that only waits for so long, or that has waited for so long in all. */
#define PROC_HANG_NS NS_PER_SECOND
#define PROC_READ_WAITS_NS (2 * NS_PER_SECOND)
#define PROC_WAITS_NS (4 * NS_PER_SECOND)
#define PROC_ALL_WAITS_NS (12 * NS_PER_SECOND)

/** The answer of mapped_file_key(). */
struct mapped_key {
	int err;
	struct file_key key;
};

enum {
	/** Devices that are given with a first read. */
	PROC_DEVICES_MAX = 64,
};

/** A new process is read once for its maps and for all of this, so that the caller waits only once. */
struct proc_first_read {
	/**
	 * The devices on which files may be looked at. The keys of those are read with the maps, as far as there is time, and are
	 * there when read_keys() is called next.
	 */
	uint64_t devices[PROC_DEVICES_MAX];
	uint32_t device_count;
	/** The answer: the name that service_name_read() finds. */
	char service_name[SERVICE_NAME_MAX_BYTES];
};

/**
 * For one thread at a time. Each read fails with
 *
 *	-EHOSTDOWN	the process holds the lock of its memory
 *	-EBUSY		others of its user do or did lately, or too many in all; the read could not be made at the moment;
 *			or it is time to stop
 *	-ENOMEM
 */
struct proc_home_ops {
	/** As proc_maps_read(), of the rows with PROT_EXEC. @first is NULL unless the process is new. */
	int (*read_maps)(struct proc_home *home, pid_t pid, struct proc_maps *maps,
			 struct proc_first_read *first);
	/**
	 * As mapped_file_key() for those rows of @maps whose key says -EAGAIN; other keys stay as they are. The first of them is
	 * always read; those for which there was no time until @end_ns say -EAGAIN still.
	 */
	int (*read_keys)(struct proc_home *home, pid_t pid, const struct proc_maps *maps,
			 uint64_t end_ns, struct mapped_key *keys);
	/**
	 * As mapped_file_open_mapping(). -ENOENT also where another file than that of @row, which is on a local file system, is
	 * mapped there now, and may be on one that never answers.
	 */
	int (*open_file)(struct proc_home *home, pid_t pid, const struct proc_mapping *row, int *fd,
			 struct file_key *key);
	/** The CPU time that was used elsewhere for what came back. */
	uint64_t (*cpu_ns)(const struct proc_home *home);
	/** Any thread. From now on nothing is read, and nobody waits for longer than a moment. */
	void (*stop)(struct proc_home *home);
};

struct proc_home {
	const struct proc_home_ops *ops;
};

#endif
