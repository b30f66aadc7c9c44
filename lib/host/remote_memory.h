/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Memory of another process, read by process_vm_readv(). A read of /proc/PID/mem holds the lock of the
 * process's memory while a page is fetched. Where the file system of a mapped file does not answer, the
 * process's own threads then hang too, and so does everyone who reads its mappings. A read by
 * process_vm_readv() may hang as well, but blocks nobody else. The agent's reads are made in processes of their
 * own (agent/runtimes/).
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
	 * False if memory read since the last call may be another program's; from then on reads fail with
	 * -ESRCH. NULL: that is impossible.
	 */
	bool (*is_same)(struct remote_memory *memory);
	/** NULL if the memory has another owner. */
	void (*destroy)(struct remote_memory *memory);
};

/** The interface for readers: a live process, or a fake of a test. */
struct remote_memory {
	const struct remote_memory_ops *ops;
};

int remote_memory_read(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes);
bool remote_memory_is_same(struct remote_memory *memory);
/** Takes NULL. */
void remote_memory_destroy(struct remote_memory *memory);

/**
 * Identifies the program that a task runs. An exec changes the program, and the pid may be reused for another
 * task.
 */
struct program_identity {
	pid_t tid;
	unsigned long long start_time;
	/**
	 * Start of its stack, which the kernel randomizes for each program; 0: the task has no memory (any
	 * more).
	 */
	unsigned long long stack_start;
};

/** A live process. One thread at a time. */
struct process_memory {
	struct remote_memory memory;
	/** Descriptor of a task's stat file. */
	int fd;
	/** The program of the task whose memory is read. */
	struct program_identity identity;
	/** Memory was read since the identity was last compared. */
	bool was_read;
};

/**
 * Opens a descriptor for process_memory_create(): of @proc_root/PID/task/PID/stat, or of a living thread's stat
 * file if the leader has exited. Reads no memory. -ESRCH, -EACCES.
 */
int process_memory_open(const char *proc_root, pid_t pid, int *fd);

/** Sets @process up for the task that process_memory_open() finds. Fails as that does. */
int process_memory_init(struct process_memory *process, const char *proc_root, pid_t pid);
void process_memory_deinit(struct process_memory *process);

/**
 * Makes a remote memory from a descriptor of process_memory_open(), which it takes over in any case. If the
 * task has no program, all reads fail with -ESRCH. NULL without memory.
 */
struct remote_memory *process_memory_create(int fd);

#endif
