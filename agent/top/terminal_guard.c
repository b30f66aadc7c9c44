// SPDX-License-Identifier: Apache-2.0
#include "agent/top/terminal_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "lib/base/error.h"

enum { GUARD_FD = STDERR_FILENO + 1 };

/* Leaves the alternate screen and the keypad's mode, shows the cursor, and ends colours, as xterm and its like have it. */
#define USUAL_SCREEN "\033[?1049l\033[?1l\033>\033[?25h\033[0m\r"

static _Noreturn void guard(int fd, const struct termios *usual)
{
	ssize_t got;
	char byte;

	/* Another process group may change the terminal only if it ignores this. */
	signal(SIGTTOU, SIG_IGN);
	setpgid(0, 0);
	if (fd != GUARD_FD)
		dup2(fd, GUARD_FD);
	close_range(GUARD_FD + 1, ~0U, 0);
	do
		got = read(GUARD_FD, &byte, sizeof(byte));
	while (got < 0 && errno == EINTR);
	if (got != sizeof(byte)) {
		(void)!write(STDOUT_FILENO, USUAL_SCREEN, sizeof(USUAL_SCREEN) - 1);
		tcsetattr(STDIN_FILENO, TCSANOW, usual);
	}
	_exit(EXIT_SUCCESS);
}

int terminal_guard_start(struct terminal_guard *started)
{
	struct termios usual;
	int fds[2];
	pid_t pid;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return fail(-EINVAL,
			    "-top needs a terminal; -report prints to files and pipes as well");
	if (tcgetattr(STDIN_FILENO, &usual))
		return fail_errno(-errno, "cannot read the settings of the terminal");
	if (pipe2(fds, O_CLOEXEC))
		return fail_errno(-errno, "cannot make a pipe");
	pid = fork();
	if (pid < 0) {
		int error = fail_errno(-errno, "cannot start the process that guards the terminal");

		close(fds[0]);
		close(fds[1]);
		return error;
	}
	if (!pid) {
		close(fds[1]);
		guard(fds[0], &usual);
	}
	close(fds[0]);
	*started = (struct terminal_guard){ .pid = pid, .fd = fds[1] };
	return 0;
}

void terminal_guard_end(struct terminal_guard *guard)
{
	const char byte = 0;

	if (!guard->pid)
		return;
	(void)!write(guard->fd, &byte, sizeof(byte));
	close(guard->fd);
	while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*guard = (struct terminal_guard){ 0 };
}
