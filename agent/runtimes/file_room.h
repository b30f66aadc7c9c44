/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Files that this process holds open for the agent; used by the processes for that (file_host.h) and by tests.
 * Files are identified by numbers that the caller chooses and uses once. One thread. All calls except close may
 * hang in a file system, and in some file systems close as well.
 */
#ifndef AGENT_RUNTIMES_FILE_ROOM_H
#define AGENT_RUNTIMES_FILE_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/runtimes/file_home.h"
#include "lib/base/hash_map.h"
#include "lib/base/splice_reader.h"

enum {
	FILE_ROOM_MAX = 4096,
};

struct file_room {
	/** "/proc", or a test's folder. Borrowed. */
	const char *proc_root;
	/** Number -> descriptor. */
	struct hash_map files;
	struct splice_reader reader;
	bool has_reader;
};

/** Closes all files. Before its first use the room must be zero except proc_root. */
void file_room_deinit(struct file_room *room);

/** Makes the pipe by which files are read, for a process that can make none later. -errno. */
int file_room_prepare(struct file_room *room);

/** As mapped_file_open(); -ENOSPC over FILE_ROOM_MAX. */
int file_room_open(struct file_room *room, uint64_t id, uint32_t pid,
		   const struct proc_mapping *mapping, struct file_key *key);
void file_room_close(struct file_room *room, uint64_t id);

/** As file_copy_create(); -ENOENT: there is no file with this number. */
int file_room_copy(struct file_room *room, uint64_t id, int *fd);

/** As file_home_ops.read(). */
int file_room_read(struct file_room *room, const struct code_file *file, uint64_t offset,
		   void *bytes, uint32_t size, struct file_key *key, uint32_t *count);

#endif
