/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A small process that waits for the end of the agent, and puts the terminal right if the agent could not: after a crash, or
 * a kill -9.
 */
#ifndef AGENT_TOP_TERMINAL_GUARD_H
#define AGENT_TOP_TERMINAL_GUARD_H

#include <sys/types.h>

struct terminal_guard {
	/** 0: there is none. */
	pid_t pid;
	/** The process sees its other end close when the agent ends. */
	int fd;
};

/**
 * Standard input and output are the terminal: -EINVAL with a text for users if they are not. To be called before there are
 * threads. -errno.
 */
int terminal_guard_start(struct terminal_guard *guard);

/** The terminal is as it was. Takes a guard that was not started, all bytes zero. */
void terminal_guard_end(struct terminal_guard *guard);

#endif
