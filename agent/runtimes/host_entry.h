/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A process of ours that does what may hang, as it sees itself: the agent's program, started again with a hidden
 * argument and a socket (host_process.h). It serves questions on one or two channels, each a SOCK_SEQPACKET
 * socket with a thread, until the agent has gone.
 */
#ifndef AGENT_RUNTIMES_HOST_ENTRY_H
#define AGENT_RUNTIMES_HOST_ENTRY_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/confinement.h"

enum {
	/**
	 * The first channel's socket in the new process; through it comes a struct host_hello, with the other channel's socket
	 * and what this kind is handed beside.
	 */
	HOST_SOCKET = 3,
	HOST_CHANNELS_MAX = 2,
};

struct host_hello {
	/** The process ends when this one has ended. */
	int32_t parent;
	/** Nice value of all threads. */
	int32_t priority;
};

/** The first packet of each channel: the thread that serves it. */
struct host_ready {
	int32_t tid;
};

/** What some kinds are handed at their start (host_process.h). */
struct host_handed {
	int fd;
	/** host_kind.shared_bytes for each channel. */
	void *shared;
};

/**
 * Names the process, closes what it inherited, and fills @sockets and *@handed, which is NULL for a kind that is handed
 * nothing. From now on it ends with the thread that started it. -EBADMSG: it was started by hand; -ESRCH: the agent has ended.
 */
int host_entry_begin(const char *name, int *sockets, int channel_count, struct host_handed *handed);

/**
 * For the calling thread: it may read files that are open, use memory, and talk by @socket, besides what the @count
 * rules in @own allow. As confinement_filter_calls().
 */
int host_entry_filter_calls(int socket, const struct call_rule *own, size_t count);

/** Says that the calling thread serves @socket. As message_send(). */
int host_entry_ready(int socket);

#endif
