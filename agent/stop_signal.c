// SPDX-License-Identifier: Apache-2.0
/* Waits for the signals that ask to stop; stop_signal_deinit() ends the thread by SIGUSR1. */
#include "agent/stop_signal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
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

void stop_signal_request(struct stop_signal *stop)
{
	/* Fails only if the 64-bit counter is full. */
	eventfd_write(stop->fd, 1);
}

static bool is_over(int command_fd)
{
	struct pollfd poll_fd = { .fd = command_fd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) != 0;
}

/* Whether the command takes the signal. *@count is the number of signals that were passed on to it. */
static bool is_taken_by_command(struct stop_signal *stop, const siginfo_t *signal, uint32_t *count)
{
	if (stop->command_fd < 0 || is_over(stop->command_fd))
		return false;
	/* The kernel sends what is typed, and the hangup, to the command as well. */
	if (signal->si_code == SI_KERNEL)
		return true;
	if (signal->si_signo != SIGHUP && (*count)++)
		return false;
	(void)syscall(SYS_pidfd_send_signal, stop->command_fd, signal->si_signo, NULL, 0);
	return true;
}

static void *wait_for_signals(void *argument)
{
	struct stop_signal *stop = argument;
	uint32_t signal_count = 0, passed_count = 0;
	siginfo_t signal;

	for (;;) {
		int number = sigwaitinfo(&stop->signals, &signal);

		if (number < 0 && errno == EINTR)
			continue;
		if (number < 0)
			break;
		if (number == SIGUSR1) {
			if (__atomic_load_n(&stop->is_ending, __ATOMIC_ACQUIRE))
				break;
			continue;
		}
		if (is_taken_by_command(stop, &signal, &passed_count))
			continue;
		if (number != SIGHUP && ++signal_count + passed_count > 1)
			_exit(stop->exit_status);
		stop_signal_request(stop);
	}
	return NULL;
}

int stop_signal_init(struct stop_signal *stop, int exit_status, int command_fd)
{
	int error;

	*stop = (struct stop_signal){ .exit_status = exit_status, .command_fd = command_fd };
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
	struct pollfd poll_fds[] = { { .fd = stop->fd, .events = POLLIN },
				     /* Ignored if it is negative. */
				     { .fd = stop->command_fd, .events = POLLIN } };
	uint64_t now_ns = clock_monotonic_ns();
	struct timespec timeout = clock_timespec(until_ns > now_ns ? until_ns - now_ns : 0);

	return ppoll(poll_fds, 2, &timeout, NULL) > 0;
}

void stop_signal_deinit(struct stop_signal *stop)
{
	__atomic_store_n(&stop->is_ending, true, __ATOMIC_RELEASE);
	pthread_kill(stop->thread, SIGUSR1);
	pthread_join(stop->thread, NULL);
	close(stop->fd);
}
