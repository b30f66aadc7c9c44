/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/runtimes/host_entry.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/runtimes/message_socket.h"

int host_entry_begin(const char *name, int *sockets, int channel_count)
{
	_cleanup_(message_fds_deinit) struct message_fds fds = { 0 };
	struct host_hello hello;
	ssize_t size;

	prctl(PR_SET_NAME, name);
	/* Descriptors that the agent was started with are not for it. */
	close_range(HOST_SOCKET + 1, UINT32_MAX, 0);
	size = message_receive(HOST_SOCKET, &hello, sizeof(hello), &fds);
	if (size != sizeof(hello) || fds.count != channel_count - 1)
		return -EBADMSG;
	sockets[0] = HOST_SOCKET;
	for (int i = 1; i < channel_count; i++)
		sockets[i] = take_fd(fds.fds[i - 1]);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* For this thread and those that it starts. */
	setpriority(PRIO_PROCESS, 0, hello.priority);
	return getppid() == hello.parent ? 0 : -ESRCH;
}

int host_entry_ready(int socket)
{
	const struct host_ready ready = { .tid = gettid() };

	return message_send(socket, &ready, sizeof(ready), NULL, 0);
}
