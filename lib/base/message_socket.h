/* SPDX-License-Identifier: Apache-2.0 */
/** Packets on a SOCK_SEQPACKET socket between the agent and a process that it has started. */
#ifndef LIB_BASE_MESSAGE_SOCKET_H
#define LIB_BASE_MESSAGE_SOCKET_H

#include <stddef.h>
#include <sys/types.h>

enum {
	/** Limits of a packet. The kernel's own limit of descriptors is 253. */
	MESSAGE_MAX_BYTES = 32 << 10,
	MESSAGE_MAX_FDS = 200,
};

/** Descriptors that came with a packet, owned by the receiver. */
struct message_fds {
	int count;
	int fds[MESSAGE_MAX_FDS];
};

/** Closes the descriptors that were not taken. The entries of taken ones are -1. */
void message_fds_deinit(struct message_fds *fds);

/** Sends one packet with @fd_count descriptors. -EPIPE: the other side has closed; or an error of sendmsg(). */
int message_send(int socket, const void *bytes, size_t size, const int *fds, int fd_count);

/** As message_send(), but never waits: -EAGAIN. */
int message_try_send(int socket, const void *bytes, size_t size, const int *fds, int fd_count);

/** Sends @size bytes, which may be 0, in as many packets as it takes. */
int message_send_all(int socket, const void *bytes, size_t size);

/**
 * Waits for one packet of at most @size bytes. Returns its size, -EPIPE at the end, or an error of recvmsg().
 * If @fds is NULL, the packet must have no descriptors.
 */
ssize_t message_receive(int socket, void *bytes, size_t size, struct message_fds *fds);

/** Receives exactly @size bytes that message_send_all() sent, within 10 s. -EPIPE, -EBADMSG, -ETIMEDOUT. */
int message_receive_all(int socket, void *bytes, size_t size);

#endif
