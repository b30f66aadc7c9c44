// SPDX-License-Identifier: Apache-2.0
/* Waits for the signals that ask to stop; stop_signal_deinit() ends the thread by SIGUSR1. */
#include "agent/stop_signal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/error.h"

/* True under nohup. */
static bool is_hangup_ignored(void)
{
	struct sigaction action;

	return !sigaction(SIGHUP, NULL, &action) && action.sa_handler == SIG_IGN;
}

/*
 * A blocked signal reaches sigwait() even if it is ignored. SIGINT is wanted all the same: shells
 * without job control start programs in the background with SIGINT ignored, and scripts stop the
 * agent by it.
 */
static void choose_signals(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGTERM);
	sigaddset(signals, SIGUSR1);
	if (!is_hangup_ignored())
		sigaddset(signals, SIGHUP);
}

static void *wait_for_signals(void *argument)
{
	struct stop_signal *stop = argument;
	uint32_t signal_count = 0;
	int number;

	while (!sigwait(&stop->signals, &number)) {
		if (number == SIGUSR1) {
			if (__atomic_load_n(&stop->is_ending, __ATOMIC_ACQUIRE))
				break;
			continue;
		}
		if (number != SIGHUP && ++signal_count > 1)
			_exit(stop->exit_status);
		/* Fails only if the 64-bit counter is full. */
		eventfd_write(stop->fd, 1);
	}
	return NULL;
}

int stop_signal_init(struct stop_signal *stop, int exit_status)
{
	int error;

	*stop = (struct stop_signal){ .exit_status = exit_status };
	choose_signals(&stop->signals);
	error = pthread_sigmask(SIG_BLOCK, &stop->signals, NULL);
	if (error)
		return fail_errno(-error, "cannot block signals");
	stop->fd = eventfd(0, EFD_CLOEXEC);
	if (stop->fd < 0)
		return fail_errno(-errno, "cannot make an eventfd");
	error = pthread_create(&stop->thread, NULL, wait_for_signals, stop);
	if (error) {
		close(stop->fd);
		return fail_errno(-error, "cannot start the thread for signals");
	}
	return 0;
}

bool stop_signal_wait(const struct stop_signal *stop, uint64_t until_ns)
{
	struct pollfd poll_fd = { .fd = stop->fd, .events = POLLIN };
	uint64_t now_ns = clock_monotonic_ns();
	struct timespec timeout = clock_timespec(until_ns > now_ns ? until_ns - now_ns : 0);

	return ppoll(&poll_fd, 1, &timeout, NULL) > 0;
}

void stop_signal_deinit(struct stop_signal *stop)
{
	__atomic_store_n(&stop->is_ending, true, __ATOMIC_RELEASE);
	pthread_kill(stop->thread, SIGUSR1);
	pthread_join(stop->thread, NULL);
	close(stop->fd);
}
