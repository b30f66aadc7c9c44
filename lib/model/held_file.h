/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A file that another process holds open for the agent, since its file system may never answer
 * (agent/runtimes/file_hosts.h). Shared by reference count (atomic). Any thread.
 */
#ifndef LIB_MODEL_HELD_FILE_H
#define LIB_MODEL_HELD_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct held_file;

struct held_file_ops {
	/**
	 * Copies the file to sealed memory; the caller owns *@fd. May take some seconds. -ESTALE: the process
	 * that held the file is gone; -EFBIG: the file is too large; other errors come from the file system.
	 */
	int (*copy)(struct held_file *file, int *fd);
	/** Whether the process that held it is gone: the file may be opened anew. Never waits. */
	bool (*is_lost)(const struct held_file *file);
	/** The last reference is gone. Never waits. */
	void (*release)(struct held_file *file);
};

struct held_file {
	const struct held_file_ops *ops;
	unsigned int references;
};

static inline struct held_file *held_file_ref(struct held_file *file)
{
	__atomic_add_fetch(&file->references, 1, __ATOMIC_RELAXED);
	return file;
}

/** Takes NULL. */
static inline void held_file_unref(struct held_file *file)
{
	if (file && !__atomic_sub_fetch(&file->references, 1, __ATOMIC_ACQ_REL))
		file->ops->release(file);
}

#endif
