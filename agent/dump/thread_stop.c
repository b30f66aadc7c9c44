// SPDX-License-Identifier: Apache-2.0
#include "agent/dump/thread_stop.h"

#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "ebpf/host/emulated_unwind.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"

/* A thread stops when it gets a CPU, which takes long on a busy machine. */
#define STOP_TIMEOUT_NS (500 * NS_PER_MS)
#define STOP_LOOK_NS (20 * NS_PER_MS / 1000)

/* Waits until the thread has stopped; its status, -EAGAIN, -ESRCH. */
static int wait_stopped(pid_t tid, int *status)
{
	const struct timespec pause = { .tv_nsec = STOP_LOOK_NS };
	uint64_t end_ns = clock_monotonic_ns() + STOP_TIMEOUT_NS;

	for (;;) {
		pid_t got = waitpid(tid, status, __WALL | WNOHANG);

		if (got == tid)
			return WIFSTOPPED(*status) ? 0 : fail(-ESRCH, "thread %d is gone", tid);
		if (got < 0 && errno != EINTR)
			return fail_errno(-errno, "cannot wait for thread %d", tid);
		if (clock_monotonic_ns() >= end_ns)
			return fail(-EAGAIN, "thread %d does not stop", tid);
		nanosleep(&pause, NULL);
	}
}

static int read_registers(struct thread_stop *stop)
{
	uint8_t bytes[REGISTER_SET_MAX_BYTES];
	struct iovec vector = { .iov_base = bytes, .iov_len = sizeof(bytes) };

	if (ptrace(PTRACE_GETREGSET, stop->tid, (void *)NT_PRSTATUS, &vector))
		return fail_errno(-errno, "cannot read the registers of thread %d", stop->tid);
	return register_set_read(&stop->registers, emulated_machine(), bytes, vector.iov_len);
}

int thread_stop_begin(struct thread_stop *stop, pid_t tid)
{
	int status = 0, error;

	*stop = (struct thread_stop){ .tid = tid };
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return fail_errno(-errno, "cannot attach to thread %d", tid);
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
		return fail_errno(-errno, "cannot stop thread %d", tid);
	error = wait_stopped(tid, &status);
	if (error)
		return error;
	stop->since_ns = clock_monotonic_ns();
	if (status >> 16 != PTRACE_EVENT_STOP)
		stop->signal = WSTOPSIG(status);
	error = read_registers(stop);
	if (error)
		thread_stop_end(stop);
	return error;
}

void thread_stop_end(struct thread_stop *stop)
{
	ptrace(PTRACE_DETACH, stop->tid, NULL, (void *)(uintptr_t)stop->signal);
}
