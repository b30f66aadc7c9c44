/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/process_setup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/error.h"
#include "lib/base/soft_limit.h"

enum {
	/** Programs, maps and links, rings, outputs, connections, and some files that are mapped. */
	DESCRIPTORS_MIN = 256,
	/** Descriptors per CPU: its clock event and its side-band. */
	DESCRIPTORS_OF_CPU = 2,
};

/* The state before process_setup(); written once, before there are threads. */
static struct {
	struct sigaction pipe_action;
	struct sigaction size_action;
	struct sigaction child_action;
	struct rlimit descriptors;
	bool has_descriptors;
	bool was_closed[STDERR_FILENO + 1];
} before;

static void fill_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
			continue;
		before.was_closed[fd] = true;
		/* The lowest that is free. */
		if (open("/dev/null", O_RDWR) != fd)
			return;
	}
}

void process_setup(void)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	const struct sigaction by_default = { .sa_handler = SIG_DFL };

	fill_standard_streams();
	sigaction(SIGPIPE, &ignore, &before.pipe_action);
	sigaction(SIGXFSZ, &ignore, &before.size_action);
	sigaction(SIGCHLD, &by_default, &before.child_action);
	before.has_descriptors = !getrlimit(RLIMIT_NOFILE, &before.descriptors);
	soft_limit_raise(RLIMIT_NOFILE);
}

void process_setup_undo(void)
{
	sigaction(SIGPIPE, &before.pipe_action, NULL);
	sigaction(SIGXFSZ, &before.size_action, NULL);
	sigaction(SIGCHLD, &before.child_action, NULL);
	if (before.has_descriptors)
		setrlimit(RLIMIT_NOFILE, &before.descriptors);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (before.was_closed[fd])
			close(fd);
}

int process_check_descriptors(void)
{
	long cpu_count = sysconf(_SC_NPROCESSORS_CONF);
	rlim_t needed =
		DESCRIPTORS_MIN + DESCRIPTORS_OF_CPU * (rlim_t)(cpu_count > 0 ? cpu_count : 1);
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= needed)
		return 0;
	return fail(
		-EMFILE,
		"%llu open files are allowed, and %llu are needed: raise the limit (ulimit -n, or LimitNOFILE= of a service)",
		(unsigned long long)limit.rlim_cur, (unsigned long long)needed);
}
