/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The interface for opening and reading files whose file system may never answer. The agent does so in
 * processes of their own (file_hosts.h), tests in the test itself (tests/local_files.h).
 */
#ifndef AGENT_RUNTIMES_FILE_HOME_H
#define AGENT_RUNTIMES_FILE_HOME_H

#include <stdint.h>
#include <sys/types.h>

#include "lib/host/proc_maps.h"
#include "lib/model/file_key.h"
#include "lib/model/held_file.h"

struct file_home;

/** A file in which a process describes its run-time generated code. Borrowed. */
struct code_file {
	uint32_t pid;
	/** Mapping of the file; NULL: the perf map, if it was written since since_ns (perf_map_file.h). */
	const struct proc_mapping *mapping;
	int64_t since_ns;
};

enum {
	/** Limit of one read. */
	FILE_HOME_READ_BYTES = 64 << 10,
};

/**
 * Any thread that may wait for some seconds. @uid is the process's user.
 *
 *	-EHOSTDOWN	the file system does not answer
 *	-EAGAIN		not at the moment
 *	-ECANCELED	after stop()
 */
struct file_home_ops {
	/** Opens the file of a mapping, as mapped_file_open(). The caller gets one reference. */
	int (*open)(struct file_home *home, uid_t uid, uint32_t pid,
		    const struct proc_mapping *mapping, struct held_file **file,
		    struct file_key *key);
	/**
	 * Opens a file and reads *@count bytes of it from @offset on, @size at most and 0 at its end; *@key
	 * identifies the file. Errors as of mapped_file_open() or perf_map_open(), and of pread().
	 */
	int (*read)(struct file_home *home, uid_t uid, const struct code_file *file,
		    uint64_t offset, void *bytes, uint32_t size, struct file_key *key,
		    uint32_t *count);
	/** Drops copies that were not requested lately. */
	void (*expire)(struct file_home *home, uint64_t now_ns);
	/** From now on no file is opened, and calls that take more than a second fail. */
	void (*stop)(struct file_home *home);
};

struct file_home {
	const struct file_home_ops *ops;
};

#endif
