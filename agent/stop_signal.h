/* SPDX-License-Identifier: Apache-2.0 */
/**
 * SIGINT and SIGTERM: the first makes a descriptor readable, a second ends the process at once. A
 * thread of its own waits for them, so that the second works whatever the others are doing.
 */
#ifndef AGENT_STOP_SIGNAL_H
#define AGENT_STOP_SIGNAL_H

#include <pthread.h>

struct stop_signal {
	pthread_t thread;
	/** Readable (poll) once the first signal has come; never read. */
	int fd;
	int exit_status;
};

/**
 * Blocks both signals in the calling thread, so call it before other threads are made (they
 * inherit that). At the second signal the process exits with @exit_status. @stop must not move.
 * 0 or -errno.
 */
int stop_signal_init(struct stop_signal *stop, int exit_status);

/** Ends the thread; the signals stay blocked. */
void stop_signal_deinit(struct stop_signal *stop);

#endif
