/* SPDX-License-Identifier: Apache-2.0 */
/* The parent's side: starts the process, opens files for it, and waits for it. */
#include "symbols/build/symbol_cache_maker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/child_process.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/message_socket.h"
#include "lib/host/binary_file.h"
#include "symbols/build/maker_messages.h"
#include "symbols/build/symbol_cache_maker_child.h"
#include "symbols/dwarf/dwarf_problem.h"

enum {
	/* Factor and extra time for the wall clock limit, since others may want the CPU more. */
	CLOCK_FACTOR = 10,
	CLOCK_EXTRA_S = 20,
	/* How often to check whether somebody needs the file. */
	LOOK_MS = 200,
	/*
	 * How long to wait for a killed process; one that waits for a dead file system is left
	 * behind.
	 */
	KILLED_WAIT_MS = 1000,
};

/*
 * True if the program handles the hidden argument: another program would do its normal work a
 * second time.
 */
static bool is_entered;

/* A process and the messages from it. */
struct maker {
	/* The file whose symbol caches are made; borrowed. */
	const struct binary *binary;
	struct child_process child;
	struct maker_messages messages;
	uint64_t deadline_ns;
	/* The process was killed because it was late, or because somebody needed the file. */
	bool is_late;
	bool is_in_the_way;
};

void symbol_cache_maker_enter(int argument_count, char **arguments)
{
	is_entered = true;
	/*
	 * Our parent may have set SIGCHLD to be ignored; the exit status of processes would then be
	 * lost.
	 */
	signal(SIGCHLD, SIG_DFL);
	if (argument_count == 2 && !strcmp(arguments[1], SYMBOL_CACHE_MAKER_ARGUMENT))
		symbol_cache_maker_child();
}

/* --- start --- */

static int start(struct maker *maker)
{
	char argument[] = SYMBOL_CACHE_MAKER_ARGUMENT, name[] = "make-symbols";
	char *arguments[] = { name, argument, NULL };
	_cleanup_(close_fd) int theirs = -1;
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return fail_errno(-errno,
				  "cannot make the socket of a process that makes symbol caches");
	maker->messages.socket = sockets[0];
	theirs = sockets[1];
	return child_process_start(OWN_PROGRAM, arguments, theirs, SYMBOL_CACHE_MAKER_SOCKET,
				   &maker->child);
}

/* --- the wait --- */

static int wait_ms(const struct maker *maker)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t left_ms =
		now_ns < maker->deadline_ns ? (maker->deadline_ns - now_ns) / NS_PER_MS + 1 : 0;

	return left_ms > LOOK_MS ? LOOK_MS : (int)left_ms;
}

/*
 * Handles messages until the process ends or is killed because it is late. -ETIME if it does not
 * end even then.
 */
static int serve(struct maker *maker)
{
	struct pollfd polled[] = {
		{ .fd = maker->child.pid_fd, .events = POLLIN },
		{ .fd = maker->messages.socket, .events = POLLIN },
	};

	for (;;) {
		bool is_killed = maker->is_late || maker->is_in_the_way;
		int count = poll(polled, 2, is_killed ? KILLED_WAIT_MS : wait_ms(maker));

		if (count < 0 && errno != EINTR)
			return fail_errno(-errno,
					  "cannot wait for a process that makes symbol caches");
		if (count > 0 && polled[0].revents)
			return 0;
		if (count > 0 && polled[1].revents && !maker_messages_hear(&maker->messages))
			polled[1].fd = -1;
		if (is_killed && !count)
			return fail(-ETIME,
				    "a process that makes symbol caches hangs and stays behind");
		if (is_killed)
			continue;
		maker->is_late = clock_monotonic_ns() >= maker->deadline_ns;
		maker->is_in_the_way = maker->binary && binary_file_is_in_the_way(maker->binary);
		if (maker->is_late || maker->is_in_the_way)
			kill(maker->child.pid, SIGKILL);
	}
}

/* --- end --- */

static int judge_signal(const struct maker *maker, int number)
{
	if (maker->is_in_the_way)
		return fail(-ESTALE,
			    "nobody runs the file any more, and its file system may be wanted");
	if (number == SIGXCPU || maker->is_late)
		return fail(-ETIME, "the symbol cache takes longer than allowed");
	if (number == SIGXFSZ)
		return fail(-E2BIG, "the symbol cache is larger than allowed");
	return fail(-EBADMSG, "the process that makes symbol caches was ended by signal %d (%s)",
		    number, sigabbrev_np(number) ? sigabbrev_np(number) : "?");
}

static int judge(const struct maker *maker, int status)
{
	if (WIFSIGNALED(status))
		return judge_signal(maker, WTERMSIG(status));
	/* The process has reached its own memory limit: another try would end the same way. */
	if (WEXITSTATUS(status) == SYMBOL_CACHE_MAKER_EXIT_NO_MEMORY ||
	    (maker->messages.has_result && maker->messages.result == -ENOMEM))
		return fail(-E2BIG, "the symbol cache takes more memory than allowed");
	if (maker->messages.has_result && !WEXITSTATUS(status)) {
		if (maker->messages.result)
			return fail(maker->messages.result, "%s", maker->messages.text);
		if (maker->messages.text[0]) {
			log_debug("not all DWARF is read: %s", maker->messages.text);
			dwarf_problem_note("%s", maker->messages.text);
		}
		return 0;
	}
	return fail(-EBADMSG, "the process that makes symbol caches ended with status %d",
		    WEXITSTATUS(status));
}

static uint64_t time_ns(struct timeval time)
{
	return (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_usec * 1000;
}

/* A process that is left behind is charged its whole limit in *@cpu_ns. */
static int finish(struct maker *maker, const struct symbol_cache_maker_limits *limits,
		  uint64_t *cpu_ns)
{
	int status, err = serve(maker);
	struct rusage usage;

	if (err) {
		kill(maker->child.pid, SIGKILL);
		waitpid(maker->child.pid, NULL, WNOHANG);
		*cpu_ns += limits->cpu_ns;
		return err;
	}
	while (!maker->messages.has_result && maker_messages_hear(&maker->messages))
		;
	while (wait4(maker->child.pid, &status, 0, &usage) < 0)
		if (errno != EINTR)
			return fail_errno(-errno, "end of a process that makes symbol caches");
	*cpu_ns += time_ns(usage.ru_utime) + time_ns(usage.ru_stime);
	return judge(maker, status);
}

static void maker_deinit(struct maker *maker)
{
	close_fd(&maker->child.pid_fd);
	close_fd(&maker->messages.socket);
}

int symbol_cache_maker_run(const struct symbol_cache_maker_files *files,
			   const struct debug_file_search *search, enum symbol_depth depth,
			   struct hash128 key, const struct symbol_cache_maker_limits *limits,
			   uint64_t *cpu_ns)
{
	_cleanup_(maker_deinit) struct maker maker = {
		.binary = files->binary,
		.child.pid_fd = -1,
		.messages = { .search = search, .elf = files->elf, .socket = -1 },
	};
	struct symbol_cache_maker_request request = {
		.limits = *limits,
		.key = key,
		.depth = depth,
		.parent = getpid(),
	};
	int fds[SYMBOL_CACHE_MAKER_FILES_MAX] = { files->elf, files->output }, fd_count = 2, err;
	uint64_t used_ns = 0;

	dwarf_problem_clear();
	if (!is_entered)
		return fail(-EOPNOTSUPP, "this program cannot make symbol caches in a process");
	if (files->debug >= 0)
		fds[fd_count++] = files->debug;
	maker.deadline_ns = clock_monotonic_ns() + CLOCK_EXTRA_S * NS_PER_SECOND;
	if (limits->cpu_ns < (UINT64_MAX - maker.deadline_ns) / CLOCK_FACTOR)
		maker.deadline_ns += limits->cpu_ns * CLOCK_FACTOR;
	else
		maker.deadline_ns = UINT64_MAX;
	err = start(&maker);
	if (err)
		return err;
	/* A process that does not read its socket must not block us. */
	(void)message_try_send(maker.messages.socket, &request, sizeof(request), fds, fd_count);
	err = finish(&maker, limits, &used_ns);
	if (cpu_ns)
		*cpu_ns += used_ns;
	return err;
}
