/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/runtimes/host_entry.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/heap.h"
#include "lib/base/message_socket.h"
#include "lib/base/soft_limit.h"

enum {
	/* The shared memory and the descriptor. */
	HANDED_FDS = 2,
};

static int take_handed(int *fds, struct host_handed *handed)
{
	struct stat status;

	if (fstat(fds[0], &status))
		return -errno;
	handed->shared =
		mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
	if (handed->shared == MAP_FAILED)
		return -errno;
	handed->fd = take_fd(fds[1]);
	return 0;
}

int host_entry_begin(const char *name, int *sockets, int channel_count, struct host_handed *handed)
{
	_cleanup_(message_fds_deinit) struct message_fds fds = { 0 };
	struct host_hello hello;
	ssize_t size;

	prctl(PR_SET_NAME, name);
	/* The only files that it writes are memory. */
	soft_limit_raise(RLIMIT_FSIZE);
	heap_limit();
	/* Closes descriptors that the agent was started with. */
	close_range(HOST_SOCKET + 1, UINT32_MAX, 0);
	size = message_receive(HOST_SOCKET, &hello, sizeof(hello), &fds);
	if (size != sizeof(hello) || fds.count != channel_count - 1 + (handed ? HANDED_FDS : 0))
		return -EBADMSG;
	sockets[0] = HOST_SOCKET;
	for (int i = 1; i < channel_count; i++)
		sockets[i] = take_fd(fds.fds[i - 1]);
	if (handed && take_handed(&fds.fds[channel_count - 1], handed))
		return -EBADMSG;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Applies to this thread and those that it starts. */
	setpriority(PRIO_PROCESS, 0, hello.priority);
	return getppid() == hello.parent ? 0 : -ESRCH;
}

int host_entry_filter_calls(int socket, const struct call_rule *own, size_t count)
{
	const struct call_rule common[] = {
		{ .call = SYS_sendmsg, .kind = CALL_ALLOWED_EQUAL, .value = (uint32_t)socket },
		{ .call = SYS_recvmsg, .kind = CALL_ALLOWED_EQUAL, .value = (uint32_t)socket },
		{ .call = SYS_read },
		{ .call = SYS_close },
		{ .call = SYS_fstat },
		{ .call = SYS_mmap,
		  .kind = CALL_ALLOWED_WITHOUT,
		  .argument = 2,
		  .value = PROT_EXEC },
		{ .call = SYS_mprotect,
		  .kind = CALL_ALLOWED_WITHOUT,
		  .argument = 2,
		  .value = PROT_EXEC },
		{ .call = SYS_mremap },
		{ .call = SYS_munmap },
		{ .call = SYS_madvise },
		{ .call = SYS_brk },
		{ .call = SYS_futex },
		{ .call = SYS_clock_gettime },
		{ .call = SYS_getrandom },
		{ .call = SYS_gettid },
		{ .call = SYS_getpid },
		{ .call = SYS_rt_sigprocmask },
		{ .call = SYS_sigaltstack },
		{ .call = SYS_exit },
		{ .call = SYS_exit_group },
	};
	const size_t common_count = sizeof(common) / sizeof(common[0]);
	struct call_rule rules[CONFINEMENT_RULES_MAX];

	if (count > CONFINEMENT_RULES_MAX - common_count)
		return fail(-E2BIG, "cannot install the filter of %zu system calls",
			    count + common_count);
	/*
	 * The kind's own rules come first: the filter checks rules in order, and a read of memory is the most
	 * frequent call.
	 */
	memcpy(rules, own, count * sizeof(*own));
	memcpy(rules + count, common, sizeof(common));
	return confinement_filter_calls(rules, count + common_count);
}

void host_entry_raise_priority(struct urgent_thread *thread, int nice)
{
	const struct rlimit limit = { .rlim_cur = 1, .rlim_max = 1 };

	(void)setrlimit(RLIMIT_RTPRIO, &limit);
	urgent_thread_init(thread, nice);
}

int host_entry_ready(int socket)
{
	const struct host_ready ready = { .tid = gettid() };

	return message_send(socket, &ready, sizeof(ready), NULL, 0);
}
