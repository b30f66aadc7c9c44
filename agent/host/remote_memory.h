/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Memory of another process. Read by pread of /proc/PID/mem and not by process_vm_readv, which a
 * process can block for ever with userfaultfd. Such a read, too, may never come back: where the memory is that of a file
 * whose file system does not answer, or where somebody else reads there. The agent reads in processes made for it
 * (agent/runtimes/).
 */
#ifndef AGENT_HOST_REMOTE_MEMORY_H
#define AGENT_HOST_REMOTE_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct remote_memory;

struct remote_memory_ops {
	/** Reads exactly @bytes bytes, or fails: -EFAULT if not all is mapped, -ESRCH. */
	int (*read)(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes);
};

/** What readers get: a live process, or what a test puts in its place. */
struct remote_memory {
	const struct remote_memory_ops *ops;
};

int remote_memory_read(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes);

/**
 * A live process. The descriptor is opened once and belongs to the program that ran then: after an
 * exec reads fail with -ESRCH. One thread at a time.
 */
struct process_memory {
	struct remote_memory memory;
	int fd;
};

/** Opens @proc_root/PID/mem, or a living thread's if the leader has exited, and reads nothing; -ESRCH, -EACCES. */
int process_memory_init(struct process_memory *process, const char *proc_root, pid_t pid);
/** The same of a descriptor that was opened so, which it takes over. */
void process_memory_init_fd(struct process_memory *process, int fd);
void process_memory_deinit(struct process_memory *process);

#endif
