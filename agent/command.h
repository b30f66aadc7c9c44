/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The command that is profiled (`-- CMD ARGS`). Its process is forked before the agent changes anything of itself, so
 * it has the ids, capabilities, signal mask and limits of the caller, and the agent's standard streams. It waits with
 * the exec until samples are taken, and never executes the command if the agent ends before.
 */
#ifndef AGENT_COMMAND_H
#define AGENT_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

struct options;

/* Owner: the main thread. */
struct command {
	/** Borrowed: the name and its arguments, ending with a NULL. */
	char *const *arguments;
	pid_t pid;
	/** Becomes readable when the command ends. */
	int pid_fd;
	/** Our end of the connection on which the process waits, and over which it says that the exec failed. */
	int connection;
	bool is_started;
};

/** The status that a shell has for a command that was not found, and for one that cannot be executed. */
enum command_status {
	COMMAND_NOT_EXECUTABLE = 126,
	COMMAND_NOT_FOUND = 127,
};

/**
 * Forks the process for @options->command, with the ids of @options->run_as if that is set. To be called before there
 * are threads. -EINVAL with a text for users if there is no such user.
 */
int command_init(struct command *command, const struct options *options);
/** Ends a process that was not started. */
void command_deinit(struct command *command);

/** Lets the process execute the command. */
void command_start(struct command *command);

/** Whether the command could not be executed; then error_text() says why. To be asked once, after the start. */
bool command_was_refused(struct command *command);

/**
 * Waits for the end of the command. Returns its exit status, 128 + N if signal N has ended it, and an enum
 * command_status if it could not be executed.
 */
int command_wait(struct command *command);

#endif
