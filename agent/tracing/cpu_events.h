/* SPDX-License-Identifier: Apache-2.0 */
/**
 * One perf event per online CPU, following CPUs as they come and go. An event dies with its CPU and
 * does not come back with it, not even if that takes a moment only (suspend and resume take all
 * CPUs but the first away and bring them back): its running time stands still then, and it is
 * opened anew. Not thread-safe.
 */
#ifndef AGENT_TRACING_CPU_EVENTS_H
#define AGENT_TRACING_CPU_EVENTS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/tracing/cpu_list.h"
#include "lib/base/vector.h"

struct cpu_event {
	uint32_t cpu;
	int fd;
	/** The event's count when it was last read, and since when its time has stood still. */
	uint64_t count;
	uint64_t running_ns;
	uint64_t progress_time_ns;
	/** For the user. */
	void *data;
};

VECTOR_DEFINE(cpu_event_vector, struct cpu_event)

struct cpu_events_ops {
	/** Sets up the event just opened (data, switching it on). 0 or -errno: it is closed again. */
	int (*opened)(void *context, struct cpu_event *event);
	/** Before the event is closed; its count has been read for the last time. */
	void (*closing)(void *context, struct cpu_event *event);
};

struct cpu_events {
	struct cpu_event_vector events;
	struct perf_event_attr attributes;
	const struct cpu_events_ops *ops;
	void *context;
	/** Empty: all CPUs. Owned. */
	struct cpu_list selected;
	/** False while the events are off: their time stands still then, which means nothing. */
	bool is_running;
};

/**
 * Brings the events in line with the CPUs that are online now: opens and closes. Returns 0 or the
 * first error of opening one (see perf_event.h); the others are opened all the same.
 */
int cpu_events_follow(struct cpu_events *events);

/** Reads the counts of all events; those of CPUs that are gone stay as they were. */
void cpu_events_read(struct cpu_events *events);

/** Tells that the events are now switched on or off. */
void cpu_events_set_running(struct cpu_events *events, bool is_running);

/** Closes all events; takes one that is all zero. */
void cpu_events_deinit(struct cpu_events *events);

#endif
