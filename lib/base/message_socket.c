/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/message_socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/base/clock.h"

/* Limit from the first to the last packet of a message. */
#define RECEIVE_MAX_NS (5 * NS_PER_SECOND)

/* Buffer for the descriptors of a packet, aligned as the kernel requires. */
union control {
	char bytes[CMSG_SPACE(MESSAGE_MAX_FDS * sizeof(int))];
	struct cmsghdr header;
};

void message_fds_deinit(struct message_fds *fds)
{
	for (int i = 0; i < fds->count; i++)
		if (fds->fds[i] >= 0)
			close(fds->fds[i]);
	fds->count = 0;
}

static ssize_t result_of(ssize_t result)
{
	if (result >= 0)
		return result;
	return errno == ECONNRESET ? -EPIPE : -errno;
}

static int send_packet(int socket, const void *bytes, size_t size, const int *fds, int fd_count,
		       int flags)
{
	struct iovec part = { .iov_base = (void *)bytes, .iov_len = size };
	union control control = { 0 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t sent;

	if (fd_count) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE((size_t)fd_count * sizeof(int));
		control.header = (struct cmsghdr){
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
			.cmsg_len = CMSG_LEN((size_t)fd_count * sizeof(int)),
		};
		memcpy(CMSG_DATA(&control.header), fds, (size_t)fd_count * sizeof(int));
	}
	do {
		sent = result_of(sendmsg(socket, &message, MSG_NOSIGNAL | flags));
	} while (sent == -EINTR);
	return sent < 0 ? (int)sent : 0;
}

int message_send(int socket, const void *bytes, size_t size, const int *fds, int fd_count)
{
	return send_packet(socket, bytes, size, fds, fd_count, 0);
}

int message_try_send(int socket, const void *bytes, size_t size, const int *fds, int fd_count)
{
	return send_packet(socket, bytes, size, fds, fd_count, MSG_DONTWAIT);
}

int message_send_all(int socket, const void *bytes, size_t size)
{
	int err = 0;

	for (size_t sent = 0; sent < size && !err; sent += MESSAGE_MAX_BYTES)
		err = message_send(
			socket, (const char *)bytes + sent,
			size - sent < MESSAGE_MAX_BYTES ? size - sent : MESSAGE_MAX_BYTES, NULL, 0);
	return err;
}

static void take_fds(struct msghdr *message, struct message_fds *fds)
{
	struct cmsghdr *header = CMSG_FIRSTHDR(message);

	fds->count = 0;
	if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
		return;
	fds->count = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	memcpy(fds->fds, CMSG_DATA(header), (size_t)fds->count * sizeof(int));
}

ssize_t message_receive(int socket, void *bytes, size_t size, struct message_fds *fds)
{
	struct iovec part = { .iov_base = bytes, .iov_len = size };
	union control control;
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t received;

	if (fds) {
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
	}
	do {
		received = result_of(recvmsg(socket, &message, MSG_CMSG_CLOEXEC));
	} while (received == -EINTR);
	if (received < 0)
		return received;
	if (fds)
		take_fds(&message, fds);
	if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		if (fds)
			message_fds_deinit(fds);
		return -EBADMSG;
	}
	return received ? received : -EPIPE;
}

int message_receive_all(int socket, void *bytes, size_t size)
{
	uint64_t deadline_ns = clock_monotonic_ns() + RECEIVE_MAX_NS;

	/* The limit is for the whole message, however small its packets are. */
	for (size_t done = 0; done < size;) {
		ssize_t received;

		if (clock_monotonic_ns() > deadline_ns)
			return -ETIMEDOUT;
		received = message_receive(socket, (char *)bytes + done, size - done, NULL);

		if (received < 0)
			return (int)received;
		done += (size_t)received;
	}
	return 0;
}
