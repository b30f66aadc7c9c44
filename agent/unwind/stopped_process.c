/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads may start and end until all listed ones are stopped. When a list has only stopped threads, it is
 * complete, since only a running thread can start another.
 */
#include "agent/unwind/stopped_process.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "agent/unwind/process_space.h"
#include "ebpf/host/emulated_unwind.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/host/proc_info.h"

enum {
	ROUNDS_MAX = 100,
};

static bool is_stopped(const struct stopped_process *process, pid_t tid)
{
	for (size_t i = 0; i < process->threads.count; i++)
		if (process->threads.items[i].tid == tid)
			return true;
	return false;
}

int stopped_thread_read(struct stopped_thread *thread)
{
	uint8_t bytes[REGISTER_SET_MAX_BYTES];
	struct iovec vector = { .iov_base = bytes, .iov_len = sizeof(bytes) };

	if (ptrace(PTRACE_GETREGSET, thread->tid, (void *)NT_PRSTATUS, &vector))
		return fail_errno(-errno, "cannot read the registers of thread %d", thread->tid);
	return register_set_read(&thread->set, emulated_machine(), bytes, vector.iov_len);
}

/*
 * Stops a thread; -ESRCH if it is gone. If a signal stops it first, the signal is delivered when the thread is
 * released.
 */
static int stop_thread(struct stopped_process *process, pid_t tid)
{
	struct stopped_thread thread = { .tid = tid };
	int status = 0, err;

	if (stopped_threads_reserve(&process->threads, process->threads.count + 1))
		return fail(-ENOMEM, "no memory for threads");
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return fail_errno(-errno, "cannot attach to thread %d", tid);
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) || waitpid(tid, &status, __WALL) != tid)
		err = -errno;
	else
		err = WIFSTOPPED(status) ? 0 : -ESRCH;
	if (err)
		return fail_errno(err, "cannot stop thread %d", tid);
	if (status >> 16 != PTRACE_EVENT_STOP)
		thread.signal = WSTOPSIG(status);
	stopped_threads_push(&process->threads, thread);
	return stopped_thread_read(&process->threads.items[process->threads.count - 1]);
}

/* Stops the listed threads that run; *@found tells whether there were any. */
static int stop_listed(struct stopped_process *process, bool *found)
{
	_cleanup_(pid_list_deinit) struct pid_list threads = { 0 };
	int err;

	*found = false;
	err = proc_list_threads("/proc", process->pid, &threads);
	for (uint32_t i = 0; i < threads.count && !err; i++) {
		if (is_stopped(process, threads.pids[i]))
			continue;
		err = stop_thread(process, threads.pids[i]);
		/* The thread is gone, or is a leader that has exited before its threads. */
		if (err == -ESRCH || (err == -EPERM && process->threads.count))
			err = 0;
		else
			*found = true;
	}
	return err;
}

static int stop_all(struct stopped_process *process)
{
	bool found = true;
	int err = 0;

	for (int i = 0; i < ROUNDS_MAX && found && !err; i++)
		err = stop_listed(process, &found);
	if (err)
		return err;
	if (found)
		return fail(-EAGAIN, "process %d makes threads too fast", process->pid);
	if (!process->threads.count)
		return fail(-ESRCH, "process %d is gone", process->pid);
	return 0;
}

int stopped_process_update(struct stopped_process *process)
{
	return process_space_update(process->pid, &process->memory, &process->space);
}

int stopped_process_init(struct stopped_process *process, pid_t pid, uint32_t languages)
{
	struct stopped_process created = { .pid = pid };
	int err;

	err = stop_all(&created);
	if (!err)
		err = process_space_read(pid, languages, &created.memory, &created.space);
	if (err) {
		stopped_process_deinit(&created);
		return err;
	}
	*process = created;
	return 0;
}

void stopped_process_deinit(struct stopped_process *process)
{
	for (size_t i = 0; i < process->threads.count; i++)
		ptrace(PTRACE_DETACH, process->threads.items[i].tid, NULL,
		       (void *)(uintptr_t)process->threads.items[i].signal);
	stopped_threads_deinit(&process->threads);
	process_memory_deinit(&process->memory);
	address_space_deinit(&process->space);
}

int stopped_process_read(void *context, uint64_t address, void *bytes, size_t size)
{
	struct stopped_process *process = context;

	return remote_memory_read(&process->memory.memory, address, bytes, size);
}
