/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Closing of files whose file system may never answer: close() asks the server of a FUSE file
 * system, and waits. Each gets a thread of its own for it, so that whoever lets go of the last
 * reference goes on.
 */
#ifndef AGENT_BASE_SLOW_CLOSE_H
#define AGENT_BASE_SLOW_CLOSE_H

#include <stdbool.h>

enum {
	/** That may hang at a time; what is more stays open. */
	SLOW_CLOSE_MAX = 64,
};

/** Any thread. Takes @fd over, and never waits. */
void slow_close(int fd);

/** Any thread. So many hang that no more of such files should be opened. */
bool slow_close_is_stuck(void);

#endif
