/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Starting another program without a shell, beside the agent's threads. Once there is a launcher (lib/base/launcher.h), that
 * starts it, and only if the program is on its list.
 */
#ifndef LIB_BASE_CHILD_PROCESS_H
#define LIB_BASE_CHILD_PROCESS_H

#include <sys/types.h>

/** The path of our own program. */
#define OWN_PROGRAM "/proc/self/exe"

struct child_process {
	pid_t pid;
	/** Becomes readable when the process ends; owned by the caller. */
	int pid_fd;
};

/**
 * Starts @program, a path or a name to be found in PATH, with @arguments and our environment, in a process group
 * of its own, with no signal blocked or ignored; all its standard streams are /dev/null. @given, if that is not
 * -1, is its descriptor @number, which is above those. The caller waits for it. As posix_spawn() says.
 */
int child_process_start(const char *program, char *const arguments[], int given, int number,
			struct child_process *child);

/**
 * Starts a program that is not ours in the same way. It gets no descriptor, and is killed when the thread that
 * starts it (with a launcher: the agent's main thread) or the whole agent ends, whatever the reason.
 */
int child_process_start_bound(const char *program, char *const arguments[],
			      struct child_process *child);

/** To be called at the start of main(): does not return in a process that is to become such a program. */
void child_process_enter(int argument_count, char **arguments);

#endif
