/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Memory of another process. Read by pread of /proc/PID/mem and not by process_vm_readv, which a
 * process can block for ever with userfaultfd.
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

/** What readers get: the live process, a stack copy, or bytes of a test. */
struct remote_memory {
	const struct remote_memory_ops *ops;
};

int remote_memory_read(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes);
int remote_memory_read_u32(struct remote_memory *memory, uint64_t address, uint32_t *value);
int remote_memory_read_u64(struct remote_memory *memory, uint64_t address, uint64_t *value);

/**
 * Reads a C string, cut to fit @capacity (> 0) with its NUL. Works up to the end of a mapping.
 */
int remote_memory_read_string(struct remote_memory *memory, uint64_t address, char *text,
			      size_t capacity);

/**
 * A live process. The descriptor is opened once and belongs to the program that ran then: after an
 * exec reads fail with -ESRCH. One thread at a time.
 */
struct process_memory {
	struct remote_memory memory;
	int fd;
};

/** Opens @proc_root/PID/mem, or a living thread's if the leader has exited; -ESRCH, -EACCES. */
int process_memory_init(struct process_memory *process, const char *proc_root, pid_t pid);
void process_memory_deinit(struct process_memory *process);

/** Bytes in memory that stand at @address of a pretended process: tests, and stack copies. */
struct buffer_memory {
	struct remote_memory memory;
	uint64_t address;
	const void *bytes;
	size_t size;
};

/** @bytes are borrowed. */
void buffer_memory_init(struct buffer_memory *buffer, uint64_t address, const void *bytes,
			size_t size);

#endif
