/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `pid_reuse MS PROGRAM...`: runs one program after the other as `PROGRAM MS`, all with the same
 * pid, each right after the end of the one before.
 */
#include <errno.h>
#include <linux/sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "target.h"

/* As fork(), but the child's pid is @pid; any if that is 0. */
static pid_t fork_as(pid_t pid)
{
	struct clone_args arguments = {
		.exit_signal = SIGCHLD,
		.set_tid = pid ? (uintptr_t)&pid : 0,
		.set_tid_size = pid ? 1 : 0,
	};

	return syscall(SYS_clone3, &arguments, sizeof(arguments));
}

int main(int argc, char **argv)
{
	unsigned long runs = 0;
	pid_t pid = 0;

	if (argc < 3)
		return 2;
	target_ready();
	for (;;) {
		char *program = argv[2 + runs % (argc - 2)];
		pid_t child = fork_as(pid);

		if (child == 0) {
			char *arguments[] = { program, argv[1], NULL };

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			execv(program, arguments);
			_exit(127);
		}
		if (child < 0) {
			perror("clone3");
			return 1;
		}
		if (waitpid(child, NULL, 0) != child)
			abort();
		pid = child;
		if (++runs % 32 == 0 && printf("runs %lu\n", runs) > 0)
			fflush(stdout);
	}
}
