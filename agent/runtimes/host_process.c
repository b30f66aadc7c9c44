/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An answer comes within microseconds, but for attaching. When one takes its time, the thread that owes it is looked at.
 * A thread that reads memory or files computes between two reads, so one that only waits is stuck in a read; and one that
 * waits at nearly every look reads from somebody who answers slowly, maybe on purpose. A process that computes for long, or
 * that gets no CPU, is waited for.
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

enum {
	LOOK_MS = 50,
	/* Looks between which the thread did not run. A busy disk may take half of this for a page. */
	LOOKS_MAX = 10,
	/* Looks at which it waited, in one answer: 2 s and 5 s. Everybody's samples wait for names. */
	NAMES_WAITS_MAX = 40,
	ATTACH_WAITS_MAX = 100,
	/* For the rest of a message whose first packet has come. */
	PACKET_TIMEOUT_SECONDS = 5,
};

#define START_MAX_NS (10 * NS_PER_SECOND)

/* Whether the thread has a CPU or waits for one, and how often it had one. -ESRCH: it has ended. */
static int look_at(const struct host_process *process, int32_t tid, bool *is_running,
		   uint64_t *runs)
{
	_cleanup_(close_file) FILE *status = NULL;
	unsigned long long count, sum = 0;
	char path[64], line[256], state = 'R';

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", process->child.pid, tid);
	status = fopen(path, "re");
	if (!status)
		return errno == ENOENT || errno == ESRCH ? -ESRCH : -errno;
	while (fgets(line, sizeof(line), status)) {
		if (sscanf(line, "voluntary_ctxt_switches: %llu", &count) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %llu", &count) == 1)
			sum += count;
		else
			(void)sscanf(line, "State: %c", &state);
	}
	*is_running = state == 'R';
	*runs = sum;
	return 0;
}

/* Where in the kernel the thread waits, for the log. */
static int hanging_error(const struct host_process *process, int32_t tid)
{
	_cleanup_(close_file) FILE *file = NULL;
	char path[64], place[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/task/%d/wchan", process->child.pid, tid);
	file = fopen(path, "re");
	if (file && !fgets(place, sizeof(place), file))
		place[0] = '\0';
	return fail(-EHOSTDOWN, "its memory or a file of it does not answer (%s)", place);
}

static int ended_error(void)
{
	return fail(-EHOSTDOWN, "the process that read its memory has ended");
}

int host_process_wait(const struct host_process *process, enum host_channel channel,
		      uint64_t max_ns, const bool *is_cancelled)
{
	struct pollfd polled = { .fd = process->channels[channel].socket, .events = POLLIN };
	uint64_t deadline_ns = clock_monotonic_ns() + max_ns, runs = 0, last_runs = UINT64_MAX;
	int waits_max = channel == HOST_NAMES ? NAMES_WAITS_MAX : ATTACH_WAITS_MAX;
	int32_t tid = process->channels[channel].tid;
	bool is_running = true;
	int looks = 0, waits = 0;

	while (clock_monotonic_ns() < deadline_ns && looks <= LOOKS_MAX && waits <= waits_max) {
		int count = poll(&polled, 1, LOOK_MS);

		if (count > 0 && polled.revents & POLLIN)
			return 0;
		if (count > 0)
			return ended_error();
		if (count < 0 && errno != EINTR)
			return fail_errno(-errno, "poll of a process that holds runtimes");
		if (is_cancelled && __atomic_load_n(is_cancelled, __ATOMIC_ACQUIRE))
			return fail(-ECANCELED, "the agent stops");
		/* Before it has said which thread it is, the end of the socket tells. */
		if (tid && look_at(process, tid, &is_running, &runs) == -ESRCH)
			return ended_error();
		looks = is_running || runs != last_runs ? 0 : looks + 1;
		waits += !is_running;
		last_runs = runs;
	}
	return hanging_error(process, tid);
}

/* --- start --- */

static int make_channels(struct host_process *process, int theirs[HOST_CHANNEL_COUNT])
{
	const struct timeval timeout = { .tv_sec = PACKET_TIMEOUT_SECONDS };

	for (int i = 0; i < HOST_CHANNEL_COUNT; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
			return fail_errno(-errno, "socket to a process that holds runtimes");
		process->channels[i].socket = pair[0];
		theirs[i] = pair[1];
		if (setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) ||
		    setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)))
			return fail_errno(-errno, "socket to a process that holds runtimes");
	}
	return 0;
}

static int wait_ready(struct host_process *process, enum host_channel channel,
		      const bool *is_cancelled)
{
	struct host_ready ready;
	int err = host_process_wait(process, channel, START_MAX_NS, is_cancelled);

	if (err)
		return err;
	if (message_receive(process->channels[channel].socket, &ready, sizeof(ready), NULL) !=
	    sizeof(ready))
		return fail(-EHOSTDOWN, "it ended at its start");
	process->channels[channel].tid = ready.tid;
	return 0;
}

int host_process_start(struct host_process *process, const char *program, const bool *is_cancelled)
{
	char argument[] = HOST_ARGUMENT, name[] = "hold-runtimes";
	char *arguments[] = { name, argument, NULL };
	/* That of the main thread: the one that asks for a start may have lowered its own. */
	const struct host_hello hello = {
		.parent = getpid(),
		.priority = getpriority(PRIO_PROCESS, getpid()),
	};
	int theirs[HOST_CHANNEL_COUNT] = { -1, -1 };
	int err;

	*process = (struct host_process){ .child.pid_fd = -1 };
	for (int i = 0; i < HOST_CHANNEL_COUNT; i++)
		process->channels[i].socket = -1;
	err = make_channels(process, theirs);
	if (!err)
		err = child_process_start(program, arguments, theirs[HOST_NAMES], HOST_SOCKET,
					  &process->child);
	if (!err)
		err = message_send(process->channels[HOST_NAMES].socket, &hello, sizeof(hello),
				   &theirs[HOST_ATTACH], 1);
	for (int i = 0; i < HOST_CHANNEL_COUNT; i++)
		close_fd(&theirs[i]);
	for (int i = 0; i < HOST_CHANNEL_COUNT && !err; i++)
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
	/* What waits in the kernel, not to be interrupted, ends when it is let go. */
	if (max_ns)
		(void)poll(&polled, 1, (int)(max_ns / NS_PER_MS));
	return host_process_has_ended(process);
}

void host_process_deinit(struct host_process *process)
{
	for (int i = 0; i < HOST_CHANNEL_COUNT; i++) {
		close_fd(&process->channels[i].socket);
		process->channels[i].socket = -1;
	}
	close_fd(&process->child.pid_fd);
	process->child.pid_fd = -1;
}
