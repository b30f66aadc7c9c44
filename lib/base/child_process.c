/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/error.h"
#include "lib/base/launcher.h"

static int set_attributes(posix_spawnattr_t *attributes)
{
	sigset_t none, all;

	sigemptyset(&none);
	sigfillset(&all);
	return posix_spawnattr_setsigmask(attributes, &none) ||
			       posix_spawnattr_setsigdefault(attributes, &all) ||
			       posix_spawnattr_setpgroup(attributes, 0) ||
			       posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK |
									    POSIX_SPAWN_SETSIGDEF |
									    POSIX_SPAWN_SETPGROUP) ?
		       -EINVAL :
		       0;
}

static int set_files(posix_spawn_file_actions_t *actions, int given, int number)
{
	/* If both are the same descriptor, this clears its close-on-exec flag. */
	int err = given < 0 ? 0 : posix_spawn_file_actions_adddup2(actions, given, number);

	for (int fd = 0; fd <= STDERR_FILENO && !err; fd++)
		err = posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_RDWR, 0);
	return -err;
}

static int spawn(const char *program, char *const arguments[], int given, int number, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int err;

	if (posix_spawnattr_init(&attributes))
		return -ENOMEM;
	if (posix_spawn_file_actions_init(&actions)) {
		posix_spawnattr_destroy(&attributes);
		return -ENOMEM;
	}
	err = set_attributes(&attributes);
	if (!err)
		err = set_files(&actions, given, number);
	if (!err)
		err = -posix_spawnp(pid, program, &actions, &attributes, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return err;
}

/* agent BOUND_ARGUMENT PARENT PROGRAM ARGUMENT... */
#define BOUND_ARGUMENT "-bound-to-parent"
enum { BOUND_PARENT = 2, BOUND_PROGRAM, BOUND_ARGUMENTS_MAX = 16 };

/* Whether the program understands the hidden argument; tests do not. */
static bool is_entered;

void child_process_enter(int argument_count, char **arguments)
{
	is_entered = true;
	if (argument_count <= BOUND_PROGRAM || strcmp(arguments[1], BOUND_ARGUMENT) != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The parent may have ended before the signal was set. */
	if (getppid() == atoi(arguments[BOUND_PARENT]))
		execvp(arguments[BOUND_PROGRAM], arguments + BOUND_PROGRAM);
	_exit(EXIT_FAILURE);
}

int child_process_start_bound(const char *program, char *const arguments[],
			      struct child_process *child)
{
	char name[] = "agent", argument[] = BOUND_ARGUMENT, parent[16];
	char *bound[BOUND_ARGUMENTS_MAX] = { name, argument, parent, (char *)program };

	/* The launcher's list has it as a bound program. */
	if (launcher_is_running() || !is_entered)
		return child_process_start(program, arguments, -1, -1, child);
	snprintf(parent, sizeof(parent), "%d", (int)getpid());
	for (int i = 1; arguments[i]; i++) {
		if (BOUND_PROGRAM + i + 1 == BOUND_ARGUMENTS_MAX)
			return fail(-E2BIG, "start of %s", arguments[0]);
		bound[BOUND_PROGRAM + i] = arguments[i];
	}
	return child_process_start(OWN_PROGRAM, bound, -1, -1, child);
}

int child_process_start(const char *program, char *const arguments[], int given, int number,
			struct child_process *child)
{
	struct child_process started;
	int err = launcher_is_running() ?
			  launcher_run(program, arguments, given, number, &started.pid) :
			  spawn(program, arguments, given, number, &started.pid);

	if (err)
		return fail_errno(err, "start of %s", arguments[0]);
	started.pid_fd = (int)syscall(SYS_pidfd_open, started.pid, 0);
	if (started.pid_fd < 0) {
		err = fail_errno(-errno, "start of %s", arguments[0]);
		kill(started.pid, SIGKILL);
		waitpid(started.pid, NULL, 0);
		return err;
	}
	*child = started;
	return 0;
}
