// SPDX-License-Identifier: Apache-2.0
/* Waits for SIGINT and SIGTERM; SIGUSR1, sent by stop_signal_deinit() alone, ends the thread. */
#include "agent/stop_signal.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/base/error.h"

static void stop_signals(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGTERM);
	sigaddset(signals, SIGUSR1);
}

static void *wait_for_signals(void *argument)
{
	struct stop_signal *stop = argument;
	uint32_t signal_count = 0;
	sigset_t signals;
	int number;

	stop_signals(&signals);
	while (!sigwait(&signals, &number) && number != SIGUSR1) {
		if (++signal_count > 1)
			_exit(stop->exit_status);
		/* Fails only if the counter is full, which one write cannot make it. */
		eventfd_write(stop->fd, 1);
	}
	return NULL;
}

int stop_signal_init(struct stop_signal *stop, int exit_status)
{
	sigset_t signals;
	int error;

	stop_signals(&signals);
	error = pthread_sigmask(SIG_BLOCK, &signals, NULL);
	if (error)
		return fail_errno(-error, "cannot block signals");
	*stop = (struct stop_signal){
		.fd = eventfd(0, EFD_CLOEXEC),
		.exit_status = exit_status,
	};
	if (stop->fd < 0)
		return fail_errno(-errno, "cannot make an eventfd");
	error = pthread_create(&stop->thread, NULL, wait_for_signals, stop);
	if (error) {
		close(stop->fd);
		return fail_errno(-error, "cannot start the thread for signals");
	}
	return 0;
}

void stop_signal_deinit(struct stop_signal *stop)
{
	pthread_kill(stop->thread, SIGUSR1);
	pthread_join(stop->thread, NULL);
	close(stop->fd);
}
