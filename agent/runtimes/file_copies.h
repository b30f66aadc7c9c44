/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A cache of recent copies of files (file_copy.h). A new file is read several times, and once more for each
 * name that is looked up in it. Any thread; never waits for a file system.
 */
#ifndef AGENT_RUNTIMES_FILE_COPIES_H
#define AGENT_RUNTIMES_FILE_COPIES_H

#include <pthread.h>
#include <stdint.h>

enum {
	FILE_COPIES_MAX = 64,
	/** A single copy may be larger. */
	FILE_COPIES_MAX_BYTES = 64 << 20,
};

struct file_copies {
	pthread_mutex_t lock;
	/** Unordered. */
	struct cached_copy {
		uint64_t id;
		uint64_t bytes;
		uint64_t used_ns;
		int fd;
	} items[FILE_COPIES_MAX];
	uint32_t count;
	uint64_t bytes;
};

void file_copies_init(struct file_copies *copies);
void file_copies_deinit(struct file_copies *copies);

/** Returns a descriptor that the caller owns, or -1. */
int file_copies_find(struct file_copies *copies, uint64_t id, uint64_t now_ns);

/**
 * Keeps a duplicate of @fd, which the caller still owns. The copies that were unused for longest are dropped
 * for it.
 */
void file_copies_add(struct file_copies *copies, uint64_t id, int fd, uint64_t now_ns);

/** Drops copies that were not requested since @since_ns. */
void file_copies_expire(struct file_copies *copies, uint64_t since_ns);

#endif
