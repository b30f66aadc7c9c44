/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The launcher is a small process that starts programs for the agent. It is forked before the agent gives up
 * its privileges, and keeps them. Afterwards the agent itself can start no program (agent/privileges.h), and the
 * launcher starts only those that were listed when it was forked. All that it reads is a packet of fixed size
 * for each program.
 *
 * The programs become children of the thread that called launcher_start(), so they are waited for as if they
 * had been started by the agent itself.
 */
#ifndef LIB_BASE_LAUNCHER_H
#define LIB_BASE_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
	/** Limits of the list, of digits, and of the number of a descriptor that a program is given. */
	LAUNCH_RULES_MAX = 16,
	LAUNCH_DIGITS_MAX = 128,
	LAUNCH_NUMBER_MAX = 63,
};

/** A program that may be started: it has one argument, or one and a number in hexadecimal digits. */
struct launch_rule {
	/** A path, or a name to be found in PATH; the program's name for itself. */
	const char *program;
	const char *name;
	const char *argument;
	bool has_digits;
	/** It is killed when the agent ends. Our own programs do that themselves. */
	bool is_bound;
};

/**
 * Forks the launcher, which may start the programs in @rules; they are copied by the fork. To be called by the
 * main thread before it starts others. -errno; -EALREADY.
 */
int launcher_start(const struct launch_rule *rules, size_t count);

/** Ends the launcher, but not the programs that it has started. */
void launcher_stop(void);

bool launcher_is_running(void);

/**
 * Starts a program as child_process_start() does, with the calling thread's nice value. -EPERM: it is not on the
 * list; -EPIPE: the launcher has ended. Any thread may call it.
 */
int launcher_run(const char *program, char *const arguments[], int given, int number, pid_t *pid);

#endif
