/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The launcher is a small process that starts programs and makes files for the agent. It is forked before the agent gives
 * up its privileges, and keeps them. Afterwards the agent itself can start no program and open no file for writing
 * (agent/privileges.h), and the launcher does so only for the programs and folders that were listed when it was
 * forked. All that it reads is packets of a fixed size.
 *
 * The programs become children of the thread that called launcher_start(), so they are waited for as if they
 * had been started by the agent itself.
 */
#ifndef LIB_BASE_LAUNCHER_H
#define LIB_BASE_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/base/file_folder.h"

enum {
	/** Limits of the list, of digits, and of the number of a descriptor that a program is given. */
	LAUNCH_RULES_MAX = 16,
	LAUNCH_FOLDERS_MAX = 64,
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

/** A folder in which files may be made: the first two fields of a struct file_folder. */
struct launch_folder {
	enum folder_kind kind;
	const char *path;
};

/** Both lists; the texts live as long as the process. */
struct launch_lists {
	struct launch_rule rules[LAUNCH_RULES_MAX];
	size_t rule_count;
	struct launch_folder folders[LAUNCH_FOLDERS_MAX];
	size_t folder_count;
};

/**
 * Forks the launcher, which has a copy of @lists. To be called by the main thread before it starts others. -errno;
 * -EALREADY.
 */
int launcher_start(const struct launch_lists *lists);

/** Ends the launcher, but not the programs that it has started. */
void launcher_stop(void);

bool launcher_is_running(void);

/**
 * Starts a program as child_process_start() does, with the calling thread's nice value. -EPERM: it is not on the
 * list; -EPIPE: the launcher has ended. Any thread may call it.
 */
int launcher_run(const char *program, char *const arguments[], int given, int number, pid_t *pid);

/** Whether the folder is on the list of a launcher that runs, and where. */
bool launcher_find_folder(enum folder_kind kind, const char *path, uint32_t *index);

/** Has file_folder_do() called by the launcher. -errno, also that of the folder if it could not be opened. Any thread. */
int launcher_ask_folder(const struct folder_request *request, int *fd);

#endif
