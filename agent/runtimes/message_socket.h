/* SPDX-License-Identifier: Apache-2.0 */
/** Packets on a SOCK_SEQPACKET socket between the agent and a process that it has started. */
#ifndef AGENT_RUNTIMES_MESSAGE_SOCKET_H
#define AGENT_RUNTIMES_MESSAGE_SOCKET_H

#include <stddef.h>
#include <sys/types.h>

enum {
	/** The limits of a packet; the kernel's own limit of descriptors is 253. */
	MESSAGE_MAX_BYTES = 32 << 10,
	MESSAGE_MAX_FDS = 200,
};

/** Descriptors that came with a packet; the receiver's. */
struct message_fds {
	int count;
	int fds[MESSAGE_MAX_FDS];
};

/** Closes those that nobody took: their places hold -1. */
void message_fds_deinit(struct message_fds *fds);

/** Sends one packet with @fd_count descriptors. -EPIPE: nobody is there any more; others as sendmsg(). */
int message_send(int socket, const void *bytes, size_t size, const int *fds, int fd_count);

/** The same, but never waits: -EAGAIN. */
int message_try_send(int socket, const void *bytes, size_t size, const int *fds, int fd_count);

/** Sends @size bytes, which may be 0, in as many packets as it takes. */
int message_send_all(int socket, const void *bytes, size_t size);

/**
 * Waits for one packet of @size bytes at most; its size, -EPIPE at the end, others as recvmsg(). @fds may be NULL:
 * there must be none then.
 */
ssize_t message_receive(int socket, void *bytes, size_t size, struct message_fds *fds);

/** Receives exactly @size bytes that message_send_all() sent, within 10 s. -EPIPE, -EBADMSG, -ETIMEDOUT. */
int message_receive_all(int socket, void *bytes, size_t size);

#endif
