/* SPDX-License-Identifier: Apache-2.0 */
/** Threads as /proc shows them. @proc_root is "/proc" or a test's folder. */
#ifndef AGENT_DUMP_THREAD_STATE_H
#define AGENT_DUMP_THREAD_STATE_H

#include <stddef.h>

#include "agent/dump/dumped_stack.h"

/**
 * Sets name and state of thread->tid of @pid, and thread->why if it must not be stopped: it waits uninterruptibly, another
 * process traces it, or it has ended. -ESRCH: it is gone.
 */
int thread_state_read(const char *proc_root, pid_t pid, struct dumped_thread *thread);

/** Adds the frames of the kernel (PID/task/TID/stack), if they may be read. */
void thread_state_add_kernel_frames(const char *proc_root, pid_t pid, struct dumped_thread *thread);

/** Reads a process's name, and its command line as one text, which the caller frees; NULL if it has none. */
void process_name_read(const char *proc_root, pid_t pid, char name[DUMPED_NAME_BYTES],
		       char **command);

#endif
