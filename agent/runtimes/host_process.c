/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An answer comes within microseconds, but for attaching. When one takes its time, the thread that owes it is looked at.
 * A thread that reads memory or files computes between two reads, so one that only waits is stuck in a read; and one that
 * waits at nearly every look reads from somebody who answers slowly. A process that computes for long, or that gets no
 * CPU, is waited for.
 */
#include "agent/runtimes/host_process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/error.h"
#include "agent/base/thread_state.h"
#include "agent/runtimes/message_socket.h"

enum {
	LOOK_MS = 50,
	/* For the rest of a message whose first packet has come. */
	PACKET_TIMEOUT_SECONDS = 5,
};

/* Where in the kernel the thread waits, for the log. */
static int hanging_error(const struct host_process *process, int32_t tid)
{
	_cleanup_(close_file) FILE *file = NULL;
	char path[64], place[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/task/%d/wchan", process->child.pid, tid);
	file = fopen(path, "re");
	if (file && !fgets(place, sizeof(place), file))
		place[0] = '\0';
	return fail(-EHOSTDOWN, "%s does not answer (%s)", process->kind->subject, place);
}

static int ended_error(const struct host_process *process)
{
	return fail(-EHOSTDOWN, "the process that was to %s has ended", process->kind->job);
}

int host_process_wait(const struct host_process *process, int channel,
		      const struct host_patience *patience)
{
	struct pollfd polled = { .fd = process->channels[channel].socket, .events = POLLIN };
	uint64_t now_ns = clock_monotonic_ns(), deadline_ns = now_ns + patience->max_ns;
	uint64_t runs = 0, last_runs = UINT64_MAX, last_run_ns = now_ns, waits_ns = 0;
	int32_t tid = process->channels[channel].tid;
	bool is_running = true, is_hurried = false;

	while (now_ns < deadline_ns && now_ns <= last_run_ns + patience->hang_ns &&
	       (!patience->waits_ns || waits_ns <= patience->waits_ns)) {
		int count = poll(&polled, 1, LOOK_MS);

		if (count > 0 && polled.revents & POLLIN)
			return 0;
		if (count > 0)
			return ended_error(process);
		if (count < 0 && errno != EINTR)
			return fail_errno(-errno, "poll of a process to %s", process->kind->job);
		now_ns = clock_monotonic_ns();
		if (!is_hurried && patience->is_hurried &&
		    __atomic_load_n(patience->is_hurried, __ATOMIC_ACQUIRE)) {
			is_hurried = true;
			if (now_ns + patience->hurried_ns < deadline_ns)
				deadline_ns = now_ns + patience->hurried_ns;
		}
		if (is_hurried && now_ns >= deadline_ns)
			return fail(-ECANCELED, "the agent stops");
		/* Before it has said which thread it is, the end of the socket tells. */
		if (tid && thread_state_read(process->child.pid, tid, &is_running, &runs) == -ESRCH)
			return ended_error(process);
		if (is_running || runs != last_runs)
			last_run_ns = now_ns;
		if (!is_running)
			waits_ns += LOOK_MS * NS_PER_MS;
		last_runs = runs;
	}
	return hanging_error(process, tid);
}

/* --- start --- */

static int make_channels(struct host_process *process, int theirs[HOST_CHANNELS_MAX])
{
	const struct timeval timeout = { .tv_sec = PACKET_TIMEOUT_SECONDS };

	for (int i = 0; i < process->kind->channel_count; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
			return fail_errno(-errno, "socket to a process to %s", process->kind->job);
		process->channels[i].socket = pair[0];
		theirs[i] = pair[1];
		if (setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) ||
		    setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)))
			return fail_errno(-errno, "socket to a process to %s", process->kind->job);
	}
	return 0;
}

static int wait_ready(struct host_process *process, int channel, const bool *is_cancelled)
{
	const struct host_patience patience = {
		.max_ns = 10 * NS_PER_SECOND,
		.hang_ns = NS_PER_SECOND / 2,
		.is_hurried = is_cancelled,
	};
	struct host_ready ready;
	int err = host_process_wait(process, channel, &patience);

	if (err)
		return err;
	if (message_receive(process->channels[channel].socket, &ready, sizeof(ready), NULL) !=
	    sizeof(ready))
		return fail(-EHOSTDOWN, "it ended at its start");
	process->channels[channel].tid = ready.tid;
	return 0;
}

int host_process_start(struct host_process *process, const struct host_kind *kind,
		       const char *program, const bool *is_cancelled)
{
	char *arguments[] = { (char *)kind->name, (char *)kind->argument, NULL };
	/* The main thread's nice value: the calling thread may have lowered its own. */
	const struct host_hello hello = {
		.parent = getpid(),
		.priority = getpriority(PRIO_PROCESS, getpid()),
	};
	int theirs[HOST_CHANNELS_MAX] = { -1, -1 };
	int err;

	*process = (struct host_process){ .child.pid_fd = -1, .kind = kind };
	for (int i = 0; i < HOST_CHANNELS_MAX; i++)
		process->channels[i].socket = -1;
	err = make_channels(process, theirs);
	if (!err)
		err = child_process_start(program, arguments, theirs[0], HOST_SOCKET,
					  &process->child);
	if (!err)
		err = message_send(process->channels[0].socket, &hello, sizeof(hello), &theirs[1],
				   kind->channel_count - 1);
	for (int i = 0; i < HOST_CHANNELS_MAX; i++)
		close_fd(&theirs[i]);
	for (int i = 0; i < kind->channel_count && !err; i++)
		err = wait_ready(process, i, is_cancelled);
	if (err) {
		host_process_kill(process, NS_PER_SECOND);
		host_process_deinit(process);
	}
	return err;
}

/* --- end --- */

bool host_process_has_ended(struct host_process *process)
{
	if (process->child.pid > 0 && waitpid(process->child.pid, NULL, WNOHANG) != 0)
		process->child.pid = 0;
	return process->child.pid <= 0;
}

bool host_process_kill(struct host_process *process, uint64_t max_ns)
{
	struct pollfd polled = { .fd = process->child.pid_fd, .events = POLLIN };

	if (process->child.pid <= 0)
		return true;
	kill(process->child.pid, SIGKILL);
	/* A thread that waits in the kernel, not to be interrupted, ends when it is let go. */
	if (max_ns)
		(void)poll(&polled, 1, (int)(max_ns / NS_PER_MS));
	return host_process_has_ended(process);
}

void host_process_deinit(struct host_process *process)
{
	for (int i = 0; i < HOST_CHANNELS_MAX; i++) {
		close_fd(&process->channels[i].socket);
		process->channels[i].socket = -1;
	}
	close_fd(&process->child.pid_fd);
	process->child.pid_fd = -1;
}
