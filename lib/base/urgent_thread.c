/* SPDX-License-Identifier: Apache-2.0 */
/* Reads two clocks at each turn; asks the kernel only when the priority changes. */
#include "lib/base/urgent_thread.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	/* The lowest real-time priority: it is above common threads and below drivers' threads. */
	REALTIME_PRIORITY = 1,
};

static bool set_realtime(bool is_wanted)
{
	const struct sched_param param = { .sched_priority = is_wanted ? REALTIME_PRIORITY : 0 };
	/* The flag is set for both policies: without the privilege to clear it, the thread could not go back. */
	int policy = (is_wanted ? SCHED_RR : SCHED_OTHER) | SCHED_RESET_ON_FORK;

	/* 0 is the calling thread, on Linux. */
	return !sched_setscheduler(0, policy, &param);
}

void urgent_thread_init(struct urgent_thread *thread, int nice)
{
	*thread = (struct urgent_thread){ 0 };
	setpriority(PRIO_PROCESS, gettid(), nice);
	thread->is_allowed = set_realtime(true);
	thread->is_realtime = thread->is_allowed;
	urgent_thread_tick(thread);
}

bool urgent_thread_decide(struct urgent_thread *thread, uint64_t now_ns, uint64_t cpu_ns)
{
	const uint64_t share_ns = URGENT_PERIOD_NS / 100 * URGENT_PERCENT;
	uint64_t periods = (now_ns - thread->period_start_ns) / URGENT_PERIOD_NS;

	/* Each period pays for one share. A long turn is paid for by several periods. */
	if (!thread->used_ns || periods > thread->used_ns / share_ns) {
		thread->used_ns = 0;
		thread->period_start_ns = now_ns;
	} else {
		thread->used_ns -= periods * share_ns;
		thread->period_start_ns += periods * URGENT_PERIOD_NS;
	}
	if (thread->is_wanted)
		thread->used_ns += cpu_ns - thread->last_cpu_ns;
	thread->last_cpu_ns = cpu_ns;
	thread->is_wanted = thread->used_ns < share_ns;
	return thread->is_wanted;
}

static void follow(struct urgent_thread *thread, bool is_wanted)
{
	if (is_wanted == thread->is_realtime)
		return;
	if (set_realtime(is_wanted))
		thread->is_realtime = is_wanted;
	else
		/* The right was withdrawn meanwhile. Giving up the priority is never refused. */
		thread->is_allowed = false;
}

void urgent_thread_tick(struct urgent_thread *thread)
{
	if (thread->is_allowed)
		follow(thread,
		       urgent_thread_decide(thread, clock_monotonic_ns(), clock_thread_cpu_ns()));
}

void urgent_thread_rest(struct urgent_thread *thread)
{
	if (!thread->is_allowed)
		return;
	/* The CPU time used so far counts. */
	(void)urgent_thread_decide(thread, clock_monotonic_ns(), clock_thread_cpu_ns());
	thread->is_wanted = false;
	follow(thread, false);
}

int urgent_lock_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attributes;
	int err = pthread_mutexattr_init(&attributes);

	if (err)
		return -err;
	pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	err = pthread_mutex_init(lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
	/* The kernel has no such locks. */
	return err == ENOTSUP ? -pthread_mutex_init(lock, NULL) : -err;
}
