/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The wiring: makes every part from the options, connects them by their ops structs, runs until the duration is
 * over or a signal comes, and destroys them again. The only file that knows all parts.
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

struct command;
struct options;

/** Exit status of the program. */
enum exit_status {
	EXIT_STATUS_DONE = 0,
	EXIT_STATUS_FAILED = 1,
	EXIT_STATUS_USAGE = 2,
	/** Missing privilege or kernel feature. */
	EXIT_STATUS_UNSUPPORTED = 3,
	/** A function grew by more than -fail-above allows. */
	EXIT_STATUS_REGRESSION = 4,
};

/**
 * Runs the agent to its end. Blocks SIGINT and SIGTERM in the calling thread and handles them: the
 * first stops within 5 s, a second ends the process at once. Errors are one line on stderr.
 * Returns an enum exit_status; EXIT_STATUS_USAGE if an output path cannot be used. If @command has a process, that is
 * profiled until it ends, and the status is the command's.
 */
int agent_run(const struct options *options, struct command *command);

#endif
