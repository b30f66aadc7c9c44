// SPDX-License-Identifier: Apache-2.0
#include "agent/command.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/options.h"
#include "agent/process_setup.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"

enum {
	SIGNAL_STATUS = 128,
	IDS_BUFFER_BYTES = 16 << 10,
};

/* The answer of a process that does not execute the command. */
struct refusal {
	int error;
	/* The ids could not be changed. */
	bool is_of_ids;
};

/* The ids and the home of a user. */
struct user_ids {
	struct passwd entry;
	char buffer[IDS_BUFFER_BYTES];
};

static int find_user(const char *name, struct user_ids *user)
{
	struct passwd *found;
	int error = getpwnam_r(name, &user->entry, user->buffer, sizeof(user->buffer), &found);

	if (error)
		return fail(-EINVAL, "-run-as %s: %s", name, strerror(error));
	return found ? 0 : fail(-EINVAL, "-run-as %s: there is no such user", name);
}

static int become_user(const struct passwd *user)
{
	if (initgroups(user->pw_name, user->pw_gid) || setgid(user->pw_gid) || setuid(user->pw_uid))
		return -errno;
	setenv("HOME", user->pw_dir, 1);
	setenv("SHELL", user->pw_shell, 1);
	setenv("USER", user->pw_name, 1);
	setenv("LOGNAME", user->pw_name, 1);
	return 0;
}

/* In the child: executes the command once the agent says so. */
static _Noreturn void become_command(char *const *arguments, const struct passwd *user,
				     int connection)
{
	struct refusal refusal = { .error = user ? -become_user(user) : 0 };
	ssize_t got;
	char byte;

	process_setup_undo();
	refusal.is_of_ids = refusal.error;
	do
		got = read(connection, &byte, sizeof(byte));
	while (got < 0 && errno == EINTR);
	/* The agent has failed. */
	if (got != sizeof(byte))
		_exit(EXIT_FAILURE);
	if (!refusal.error) {
		execvp(arguments[0], arguments);
		refusal.error = errno;
	}
	(void)!write(connection, &refusal, sizeof(refusal));
	_exit(refusal.error == ENOENT ? COMMAND_NOT_FOUND : COMMAND_NOT_EXECUTABLE);
}

static int fork_command(struct command *command, const struct passwd *user, int connections[2])
{
	/* The text that standard output still holds is written once. */
	fflush(stdout);
	command->pid = fork();
	if (command->pid < 0) {
		command->pid = 0;
		return fail_errno(-errno, "cannot start a process for %s", command->arguments[0]);
	}
	if (!command->pid) {
		close(connections[0]);
		become_command(command->arguments, user, connections[1]);
	}
	command->pid_fd = (int)syscall(SYS_pidfd_open, command->pid, 0);
	return command->pid_fd < 0 ?
		       fail_errno(-errno, "cannot watch the process of %s", command->arguments[0]) :
		       0;
}

int command_init(struct command *command, const struct options *options)
{
	_cleanup_(free_pointer) struct user_ids *user = NULL;
	int connections[2], error;

	*command =
		(struct command){ .arguments = options->command, .pid_fd = -1, .connection = -1 };
	if (!options->command)
		return 0;
	if (options->run_as) {
		user = malloc(sizeof(*user));
		error = user ? find_user(options->run_as, user) : -ENOMEM;
		if (error)
			return error;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, connections))
		return fail_errno(-errno, "cannot make a pair of sockets");
	command->connection = connections[0];
	error = fork_command(command, user ? &user->entry : NULL, connections);
	close(connections[1]);
	if (error)
		command_deinit(command);
	return error;
}

void command_deinit(struct command *command)
{
	if (command->pid && !command->is_started) {
		kill(command->pid, SIGKILL);
		while (waitpid(command->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close_fd(&command->pid_fd);
	close_fd(&command->connection);
	*command = (struct command){ .pid_fd = -1, .connection = -1 };
}

void command_start(struct command *command)
{
	const char byte = 0;

	command->is_started = true;
	/* A signal may have ended the process already; then its end is what the caller sees next. */
	(void)!send(command->connection, &byte, sizeof(byte), MSG_NOSIGNAL);
}

bool command_was_refused(struct command *command)
{
	struct refusal refusal;

	/* The exec has closed the other end. */
	if (recv(command->connection, &refusal, sizeof(refusal), MSG_DONTWAIT) != sizeof(refusal))
		return false;
	if (refusal.is_of_ids)
		fail(-refusal.error, "cannot run %s with the ids of -run-as: %s; run as root",
		     command->arguments[0], strerror(refusal.error));
	else
		fail(-refusal.error, "cannot run %s: %s", command->arguments[0],
		     strerror(refusal.error));
	return true;
}

int command_wait(struct command *command)
{
	int status = 0;
	pid_t ended;

	do
		ended = waitpid(command->pid, &status, 0);
	while (ended < 0 && errno == EINTR);
	return WIFSIGNALED(status) ? SIGNAL_STATUS + WTERMSIG(status) : WEXITSTATUS(status);
}
