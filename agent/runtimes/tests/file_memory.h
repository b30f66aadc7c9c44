/* SPDX-License-Identifier: Apache-2.0 */
/** Memory of processes that a test makes up. */
#ifndef AGENT_RUNTIMES_TESTS_FILE_MEMORY_H
#define AGENT_RUNTIMES_TESTS_FILE_MEMORY_H

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/host/remote_memory.h"

/**
 * The file that stands for /proc/PID/stat, from the address 0 on. An empty one is that of
 * a process that has exited.
 */
struct file_memory {
	struct remote_memory memory;
	int fd;
};

static inline int file_memory_read(struct remote_memory *memory, uint64_t address, void *buffer,
				   size_t bytes)
{
	ssize_t count = pread(((struct file_memory *)memory)->fd, buffer, bytes, (off_t)address);

	return count == (ssize_t)bytes ? 0 : -ESRCH;
}

static inline void file_memory_destroy(struct remote_memory *memory)
{
	close(((struct file_memory *)memory)->fd);
	free(memory);
}

static inline struct remote_memory *file_memory_create(int fd)
{
	static const struct remote_memory_ops ops = { .read = file_memory_read,
						      .destroy = file_memory_destroy };
	struct file_memory *memory = malloc(sizeof(*memory));

	*memory = (struct file_memory){ { &ops }, fcntl(fd, F_DUPFD_CLOEXEC, 0) };
	return &memory->memory;
}

#endif
