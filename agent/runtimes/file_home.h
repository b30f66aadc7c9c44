/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Where files are opened and read whose file system may never answer. The agent's are in processes of their own
 * (file_hosts.h), a test's in the test (tests/local_files.h).
 */
#ifndef AGENT_RUNTIMES_FILE_HOME_H
#define AGENT_RUNTIMES_FILE_HOME_H

#include <stdint.h>
#include <sys/types.h>

#include "lib/host/proc_maps.h"
#include "lib/model/file_key.h"
#include "lib/model/held_file.h"

struct file_home;

/** A file in which a process says what code it made. Borrowed. */
struct code_file {
	uint32_t pid;
	/** By which the file is mapped; NULL: the perf map, if it was written since @since_ns (perf_map_file.h). */
	const struct proc_mapping *mapping;
	int64_t since_ns;
};

enum {
	/** The most that one read gives. */
	FILE_HOME_READ_BYTES = 64 << 10,
};

/**
 * Any thread that may wait for some seconds. @uid has the process.
 *
 *	-EHOSTDOWN	the file system does not answer
 *	-EAGAIN		not at the moment
 *	-ECANCELED	after stop()
 */
struct file_home_ops {
	/** Opens the file of a mapping, as mapped_file_open(): one reference for the caller. */
	int (*open)(struct file_home *home, uid_t uid, uint32_t pid,
		    const struct proc_mapping *mapping, struct held_file **file,
		    struct file_key *key);
	/**
	 * Opens a file and reads *@count bytes of it from @offset on, @size at most and 0 at its end; *@key says which
	 * file it was. As mapped_file_open() or perf_map_open(), and as pread().
	 */
	int (*read)(struct file_home *home, uid_t uid, const struct code_file *file,
		    uint64_t offset, void *bytes, uint32_t size, struct file_key *key,
		    uint32_t *count);
	/** Drops copies that nobody asked for lately. */
	void (*expire)(struct file_home *home, uint64_t now_ns);
	/** From now on nothing is opened, and what takes more than a second is given up. */
	void (*stop)(struct file_home *home);
};

struct file_home {
	const struct file_home_ops *ops;
};

#endif
