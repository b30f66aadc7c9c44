/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers come within microseconds, except for attaching. When an answer is late, the state of the thread that
 * owes it is checked. A thread that reads memory or files computes between two reads, so a thread that only
 * waits is stuck in a read. One that waits at nearly every check reads from a slow server. A process that
 * computes for long, or that gets no CPU, is waited for.
 */
#include "agent/runtimes/host_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/message_socket.h"
#include "lib/base/soft_limit.h"

enum {
	LOOK_MS = 50,
	/* Time-out for the rest of a message whose first packet has come. */
	PACKET_TIMEOUT_SECONDS = 5,
};

/*
 * Reads whether thread @tid of process @pid runs or waits for a CPU, and its number of context switches. If a
 * thread does not run and the number does not change, it is in the same wait. -ESRCH: it has ended; other
 * -errno.
 */
static int thread_state_read(pid_t pid, pid_t tid, bool *is_running, uint64_t *switch_count)
{
	_cleanup_(close_file) FILE *status = NULL;
	unsigned long long count, sum = 0;
	char path[64], line[256], state = 'R';

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
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
	*switch_count = sum;
	return 0;
}

/* Makes the error for a thread that hangs, with the kernel function that it waits in. */
static int hanging_error(const struct host_process *process, int32_t tid)
{
	_cleanup_(close_file) FILE *file = NULL;
	char path[64], function[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/task/%d/wchan", process->child.pid, tid);
	file = fopen(path, "re");
	if (file && !fgets(function, sizeof(function), file))
		function[0] = '\0';
	return fail(-EHOSTDOWN, "%s does not answer (%s)", process->kind->subject, function);
}

static int ended_error(const struct host_process *process)
{
	return fail(-EHOSTDOWN, "the process that was to %s has ended", process->kind->job);
}

/* --- shared memory --- */

void *host_process_shared(const struct host_process *process, int channel)
{
	return (char *)process->shared + (size_t)channel * process->kind->shared_bytes;
}

void host_process_ask(struct host_process *process, int channel)
{
	host_turn_ask(host_process_shared(process, channel), ++process->channels[channel].asked);
}

bool host_process_leave(struct host_process *process, int channel)
{
	return host_turn_leave(host_process_shared(process, channel),
			       process->channels[channel].asked);
}

bool host_process_has_hung_up(const struct host_process *process)
{
	struct pollfd polled = { .fd = process->channels[0].socket };

	return poll(&polled, 1, 0) > 0;
}

/* --- waiting --- */

/* Checks for an answer: 1: it is there; 0: not yet. */
static int look(const struct host_process *process, int channel)
{
	bool is_asked = process->channels[channel].asked;
	struct pollfd polled = {
		.fd = process->channels[channel].socket,
		/*
		 * Before the first request, the socket reports that the thread is ready. Later its data is part
		 * of an answer.
		 */
		.events = is_asked ? 0 : POLLIN,
	};
	int count;

	if (is_asked && host_turn_wait(host_process_shared(process, channel),
				       process->channels[channel].asked, LOOK_MS * NS_PER_MS))
		return 1;
	count = poll(&polled, 1, is_asked ? 0 : LOOK_MS);
	if (count < 0 && errno != EINTR)
		return fail_errno(-errno, "cannot wait for a process to %s", process->kind->job);
	if (count > 0 && (is_asked || !(polled.revents & POLLIN)))
		return ended_error(process);
	return count > 0;
}

static int wait_for_message(const struct host_process *process, int channel,
			    const struct host_patience *patience, uint64_t *waits_ns)
{
	uint64_t now_ns = clock_monotonic_ns(), deadline_ns = now_ns + patience->max_ns;
	uint64_t runs = 0, last_runs = UINT64_MAX, last_run_ns = now_ns;
	int32_t tid = process->channels[channel].tid;
	bool is_running = true, is_hurried = false;

	while (now_ns < deadline_ns && now_ns <= last_run_ns + patience->hang_ns &&
	       (!patience->waits_ns || *waits_ns <= patience->waits_ns)) {
		int result = look(process, channel);

		if (result)
			return result < 0 ? result : 0;
		now_ns = clock_monotonic_ns();
		if (!is_hurried && patience->is_hurried &&
		    __atomic_load_n(patience->is_hurried, __ATOMIC_ACQUIRE)) {
			is_hurried = true;
			if (now_ns + patience->hurried_ns < deadline_ns)
				deadline_ns = now_ns + patience->hurried_ns;
		}
		if (is_hurried && now_ns >= deadline_ns)
			return fail(-ECANCELED, "the agent stops");
		/* Until its tid is known, the end of the thread is seen by the end of the socket. */
		if (tid && thread_state_read(process->child.pid, tid, &is_running, &runs) == -ESRCH)
			return ended_error(process);
		if (is_running || runs != last_runs)
			last_run_ns = now_ns;
		if (!is_running)
			*waits_ns += LOOK_MS * NS_PER_MS;
		last_runs = runs;
	}
	return hanging_error(process, tid);
}

int host_process_wait(const struct host_process *process, int channel,
		      const struct host_patience *patience, uint64_t *waits_ns)
{
	uint64_t own_waits_ns = 0;

	if (!waits_ns)
		waits_ns = &own_waits_ns;
	*waits_ns = 0;
	return wait_for_message(process, channel, patience, waits_ns);
}

/* --- start --- */

static int make_channels(struct host_process *process, int theirs[HOST_CHANNELS_MAX])
{
	const struct timeval timeout = { .tv_sec = PACKET_TIMEOUT_SECONDS };

	for (int i = 0; i < process->kind->channel_count; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
			return fail_errno(-errno, "cannot make the socket to a process to %s",
					  process->kind->job);
		process->channels[i].socket = pair[0];
		theirs[i] = pair[1];
		if (setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) ||
		    setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)))
			return fail_errno(-errno, "cannot make the socket to a process to %s",
					  process->kind->job);
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
	int err = host_process_wait(process, channel, &patience, NULL);

	if (err)
		return err;
	if (message_receive(process->channels[channel].socket, &ready, sizeof(ready), NULL) !=
	    sizeof(ready))
		return fail(-EHOSTDOWN, "it ended at its start");
	process->channels[channel].tid = ready.tid;
	return 0;
}

/* Sets the size of a memory file. The soft limit on the size of files is meant for outputs, and lifted for it. */
static int set_size(int fd, size_t size)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct rlimit limit;
	int err;

	pthread_mutex_lock(&mutex);
	getrlimit(RLIMIT_FSIZE, &limit);
	soft_limit_raise(RLIMIT_FSIZE);
	err = ftruncate(fd, (off_t)size) ? -errno : 0;
	setrlimit(RLIMIT_FSIZE, &limit);
	pthread_mutex_unlock(&mutex);
	errno = -err;
	return err;
}

/* Makes the shared memory, whose size the process cannot change. */
static int share_memory(struct host_process *process, int *fd)
{
	size_t size = (size_t)process->kind->channel_count * process->kind->shared_bytes;
	void *mapped;

	*fd = memfd_create("turns", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0 || set_size(*fd, size) ||
	    fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return fail_errno(-errno, "cannot map memory for a process to %s",
				  process->kind->job);
	mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (mapped == MAP_FAILED)
		return fail_errno(-errno, "cannot map memory for a process to %s",
				  process->kind->job);
	process->shared = mapped;
	return 0;
}

static int send_hello(struct host_process *process, const int *theirs, int handed_fd)
{
	/* Uses the main thread's nice value, since the calling thread may have lowered its own. */
	const struct host_hello hello = {
		.parent = getpid(),
		.priority = getpriority(PRIO_PROCESS, getpid()),
	};
	_cleanup_(close_fd) int shared_fd = -1;
	int fds[HOST_CHANNELS_MAX + 1], count = 0, err;

	for (int i = 1; i < HOST_CHANNELS_MAX; i++)
		if (theirs[i] >= 0)
			fds[count++] = theirs[i];
	if (process->kind->shared_bytes) {
		err = share_memory(process, &shared_fd);
		if (err)
			return err;
		fds[count++] = shared_fd;
		fds[count++] = handed_fd;
	}
	return message_send(process->channels[0].socket, &hello, sizeof(hello), fds, count);
}

int host_process_start(struct host_process *process, const struct host_kind *kind,
		       const char *program, int handed_fd, const bool *is_cancelled)
{
	char *arguments[] = { (char *)kind->name, (char *)kind->argument, NULL };
	int theirs[HOST_CHANNELS_MAX];
	int err;

	*process = (struct host_process){ .child.pid_fd = -1, .kind = kind };
	for (int i = 0; i < HOST_CHANNELS_MAX; i++)
		theirs[i] = process->channels[i].socket = -1;
	err = make_channels(process, theirs);
	if (!err)
		err = child_process_start(program, arguments, theirs[0], HOST_SOCKET,
					  &process->child);
	if (!err)
		err = send_hello(process, theirs, handed_fd);
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
	/* A thread in an uninterruptible wait ends only after the wait. */
	if (max_ns)
		(void)poll(&polled, 1, (int)(max_ns / NS_PER_MS));
	return host_process_has_ended(process);
}

void host_process_deinit(struct host_process *process)
{
	if (process->shared)
		munmap(process->shared,
		       (size_t)process->kind->channel_count * process->kind->shared_bytes);
	process->shared = NULL;
	for (int i = 0; i < HOST_CHANNELS_MAX; i++) {
		close_fd(&process->channels[i].socket);
		process->channels[i].socket = -1;
	}
	close_fd(&process->child.pid_fd);
	process->child.pid_fd = -1;
}
