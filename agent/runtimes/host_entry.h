/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The inside of a host process, a process of ours for work that may hang: the agent's program, started again
 * with a hidden argument and a socket (host_process.h). It serves requests on one or two channels, each a
 * SOCK_SEQPACKET socket with a thread, until the agent ends.
 */
#ifndef AGENT_RUNTIMES_HOST_ENTRY_H
#define AGENT_RUNTIMES_HOST_ENTRY_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/confinement.h"
#include "lib/base/urgent_thread.h"

enum {
	/**
	 * The first channel's socket in the new process. A struct host_hello comes through it, with the other
	 * channel's socket and the descriptors that this kind is handed.
	 */
	HOST_SOCKET = 3,
	HOST_CHANNELS_MAX = 5,
};

struct host_hello {
	/** The process ends when this one has ended. */
	int32_t parent;
	/** Nice value for all threads. */
	int32_t priority;
};

/** The first packet of each channel, with the thread that serves it. */
struct host_ready {
	int32_t tid;
};

/** Descriptor and memory that some kinds are handed at their start (host_process.h). */
struct host_handed {
	int fd;
	/** host_kind.shared_bytes for each channel. */
	void *shared;
};

/**
 * Names the process, closes inherited descriptors, and fills @sockets and *@handed (NULL for a kind that is
 * handed nothing). From now on the process ends with the thread that started it. -EBADMSG: it was started by
 * hand; -ESRCH: the agent has ended.
 */
int host_entry_begin(const char *name, int *sockets, int channel_count, struct host_handed *handed);

/**
 * Filters the calling thread's system calls: it may read open files from their start, use memory and communicate by @socket, and
 * make the calls that the @count rules in @own allow. Errors as of confinement_filter_calls().
 */
int host_entry_filter_calls(int socket, const struct call_rule *own, size_t count);

/**
 * Raises the calling thread's priority, as urgent_thread_init() does, and allows the process to return to real-time priority when
 * it has no capabilities any more.
 */
void host_entry_raise_priority(struct urgent_thread *thread, int nice);

/** Reports that the calling thread serves @socket. Errors as of message_send(). */
int host_entry_ready(int socket);

#endif
