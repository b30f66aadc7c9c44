// SPDX-License-Identifier: Apache-2.0
#include "agent/start_priority.h"

#include <sched.h>
#include <unistd.h>

#include "lib/base/monotonic_condition.h"

enum {
	/* The lowest real-time priority is above common threads. */
	REALTIME_PRIORITY = 1,
};

#define LOOK_NS (10 * NS_PER_MS)

static bool set_policy(pid_t tid, int policy)
{
	const struct sched_param param = {
		.sched_priority = policy == SCHED_OTHER ? 0 : REALTIME_PRIORITY,
	};

	return !sched_setscheduler(tid, policy, &param);
}

static uint64_t used_cpu_ns(const struct start_priority *priority)
{
	struct timespec used;

	/* CPU time that cannot be read counts as too much. */
	if (clock_gettime(priority->cpu_clock, &used))
		return UINT64_MAX;
	return used.tv_sec * NS_PER_SECOND + used.tv_nsec;
}

static void *watch(void *context)
{
	struct start_priority *priority = context;

	pthread_setname_np(pthread_self(), "start");
	/* This thread is real-time too, so that it checks in time on a busy host. */
	set_policy(0, SCHED_RR);
	pthread_mutex_lock(&priority->lock);
	while (!priority->is_ended && used_cpu_ns(priority) < priority->max_cpu_ns)
		monotonic_condition_wait(&priority->ended, &priority->lock,
					 clock_monotonic_ns() + LOOK_NS);
	pthread_mutex_unlock(&priority->lock);
	set_policy(priority->tid, SCHED_OTHER);
	return NULL;
}

void start_priority_begin(struct start_priority *priority, uint64_t max_cpu_ns)
{
	*priority = (struct start_priority){ .tid = gettid(), .max_cpu_ns = max_cpu_ns };
	/* A policy that a user chose for the agent (chrt) is kept for all of its threads. */
	if (sched_getscheduler(0) != SCHED_OTHER ||
	    pthread_getcpuclockid(pthread_self(), &priority->cpu_clock) ||
	    !set_policy(0, SCHED_RR | SCHED_RESET_ON_FORK))
		return;
	pthread_mutex_init(&priority->lock, NULL);
	monotonic_condition_init(&priority->ended);
	priority->has_watch = !pthread_create(&priority->watch, NULL, watch, priority);
	if (priority->has_watch) {
		return;
	}
	/* Without the watching thread there would be no limit. */
	set_policy(0, SCHED_OTHER);
	pthread_cond_destroy(&priority->ended);
	pthread_mutex_destroy(&priority->lock);
}

void start_priority_end(struct start_priority *priority)
{
	if (!priority->has_watch)
		return;
	pthread_mutex_lock(&priority->lock);
	priority->is_ended = true;
	pthread_cond_signal(&priority->ended);
	pthread_mutex_unlock(&priority->lock);
	pthread_join(priority->watch, NULL);
	priority->has_watch = false;
	pthread_cond_destroy(&priority->ended);
	pthread_mutex_destroy(&priority->lock);
}
