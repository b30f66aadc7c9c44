/* SPDX-License-Identifier: Apache-2.0 */
/**
 * SIGINT, SIGTERM and SIGHUP: the first makes a descriptor readable. A second SIGINT or SIGTERM ends the
 * process at once; SIGHUP never does, because a closed terminal causes several (from the kernel and from the
 * shell), and systemd sends one right after SIGTERM. A SIGHUP that is ignored from the start (nohup) stays
 * ignored.
 *
 * If a command is profiled, these signals are the command's as long as it runs, and the agent goes on until it ends:
 * what the terminal sends has reached the command too, and what a process sends is passed on to it. Only a second
 * SIGINT or SIGTERM of a process ends the agent at once.
 *
 * A dedicated thread waits for them, so that the second signal works whatever the other threads do.
 */
#ifndef AGENT_STOP_SIGNAL_H
#define AGENT_STOP_SIGNAL_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct stop_signal {
	pthread_t thread;
	/** Readable once the first signal has come; never read. */
	int fd;
	int exit_status;
	/** The pidfd of the command; -1: there is none. Its end ends waits too. Borrowed. */
	int command_fd;
	/** The signals that the thread waits for. */
	sigset_t signals;
	/** Set before the SIGUSR1 that ends the thread; any other SIGUSR1 does nothing. */
	bool is_ending;
};

/**
 * Blocks these signals in the calling thread, so call it before other threads are made (they
 * inherit that). At the second SIGINT or SIGTERM the process exits with @exit_status.
 * @command_fd: a pidfd of the command, or -1. @stop must not move. 0 or -errno.
 */
int stop_signal_init(struct stop_signal *stop, int exit_status, int command_fd);

/**
 * True as soon as the first signal has come or the command has ended; waits for that until @until_ns
 * (CLOCK_MONOTONIC) at most.
 */
bool stop_signal_wait(const struct stop_signal *stop, uint64_t until_ns);

/** Stops as the first signal does. */
void stop_signal_request(struct stop_signal *stop);

/** Ends the thread; the signals stay blocked. */
void stop_signal_deinit(struct stop_signal *stop);

#endif
