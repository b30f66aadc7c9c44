/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Memory of another process, read by process_vm_readv(). A read of /proc/PID/mem holds the lock of the process's memory
 * while a page is fetched: where the file system of a mapped file does not answer, the process's own threads hang with
 * it, and whoever looks at its mappings. A read by process_vm_readv() may hang as well, but nobody with it. The agent
 * reads in processes made for it (agent/runtimes/).
 */
#ifndef LIB_HOST_REMOTE_MEMORY_H
#define LIB_HOST_REMOTE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct remote_memory;

struct remote_memory_ops {
	/** Reads exactly @bytes bytes, or fails: -EFAULT if not all is mapped, -ESRCH. */
	int (*read)(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes);
	/**
	 * False if what was read since the last call may be another program's; from then on reads fail with -ESRCH.
	 * NULL: it cannot be.
	 */
	bool (*is_same)(struct remote_memory *memory);
	/** NULL if it has another owner. */
	void (*destroy)(struct remote_memory *memory);
};

/** What readers get: a live process, or what a test puts in its place. */
struct remote_memory {
	const struct remote_memory_ops *ops;
};

int remote_memory_read(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes);
bool remote_memory_is_same(struct remote_memory *memory);
/** Takes NULL. */
void remote_memory_destroy(struct remote_memory *memory);

/** The program that a task runs: an exec gives it another one, and its pid may become another task's. */
struct program_identity {
	pid_t tid;
	unsigned long long start_time;
	/** Where its stack begins, which the kernel chooses anew for each program; 0: it has no memory (any more). */
	unsigned long long stack_start;
};

/** A live process. One thread at a time. */
struct process_memory {
	struct remote_memory memory;
	/** A descriptor of a task's stat. */
	int fd;
	/** The program of the task by which the memory is read. */
	struct program_identity identity;
	/** Memory was read since the identity was last compared. */
	bool was_read;
};

/**
 * What process_memory_create() takes: a descriptor of @proc_root/PID/task/PID/stat, or a living thread's if the leader has
 * exited. Reads no memory. -ESRCH, -EACCES.
 */
int process_memory_open(const char *proc_root, pid_t pid, int *fd);

/** Sets @process up for the task that process_memory_open() finds. Fails as that does. */
int process_memory_init(struct process_memory *process, const char *proc_root, pid_t pid);
void process_memory_deinit(struct process_memory *process);

/**
 * Makes one of a descriptor that process_memory_open() gave, and takes that over in any case. Without a program all reads fail with
 * -ESRCH. NULL without memory.
 */
struct remote_memory *process_memory_create(int fd);

#endif
