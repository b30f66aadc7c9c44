/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/error.h"

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
	/* If both are one descriptor, this takes away that it is closed. */
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

int child_process_start(const char *program, char *const arguments[], int given, int number,
			struct child_process *child)
{
	struct child_process started;
	int err = spawn(program, arguments, given, number, &started.pid);

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
