/* SPDX-License-Identifier: Apache-2.0 */
/**
 * One perf event per online CPU, following CPUs as they go online and offline. An event ends when its CPU goes
 * offline and does not continue afterwards, not even after a moment (suspend and resume take all CPUs but the
 * first offline). Its running time stands still then, and it is opened again. Not thread-safe.
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
	/**
	 * The event's count and running time when last read, and the time since which its running time has
	 * stood still.
	 */
	uint64_t count;
	uint64_t running_ns;
	uint64_t progress_time_ns;
	/** Data of the user of the events. */
	void *data;
};

VECTOR_DEFINE(cpu_event_vector, struct cpu_event)

struct cpu_events_ops {
	/** Sets up a new event (data, switching it on). 0, or -errno and the event is closed again. */
	int (*opened)(void *context, struct cpu_event *event);
	/** Called before the event is closed; its count has been read for the last time. */
	void (*closing)(void *context, struct cpu_event *event);
};

struct cpu_events {
	struct cpu_event_vector events;
	struct perf_event_attr attributes;
	const struct cpu_events_ops *ops;
	void *context;
	/** Empty: all CPUs. Owned. */
	struct cpu_list selected;
	/** False while the events are off: that their time stands still then means nothing. */
	bool is_running;
};

/**
 * Opens and closes events to match the CPUs that are online now. Returns 0 or the first error of opening one
 * (see perf_event.h); the others are opened all the same.
 */
int cpu_events_follow(struct cpu_events *events);

/** Reads the counts of all events; counts of offline CPUs stay as they were. */
void cpu_events_read(struct cpu_events *events);

/** Notes that the events are now switched on or off. */
void cpu_events_set_running(struct cpu_events *events, bool is_running);

/** Closes all events; takes a struct that is all zero. */
void cpu_events_deinit(struct cpu_events *events);

#endif
