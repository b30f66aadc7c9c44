/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tracing/cpu_events.h"

#include <errno.h>

#include "agent/tracing/perf_event.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"

/* A running event whose time stood still for this long is dead. */
#define DEAD_EVENT_NS (NS_PER_SECOND / 2)

/* Result of read(2) with PERF_FORMAT_TOTAL_TIME_RUNNING. */
struct event_count {
	uint64_t count;
	uint64_t running_ns;
};

static void read_event(struct cpu_event *event, uint64_t now_ns)
{
	struct event_count now;

	if (read(event->fd, &now, sizeof(now)) != sizeof(now) ||
	    now.running_ns <= event->running_ns)
		return;
	event->count = now.count;
	event->running_ns = now.running_ns;
	event->progress_time_ns = now_ns;
}

void cpu_events_read(struct cpu_events *events)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (size_t i = 0; i < events->events.count; i++)
		read_event(&events->events.items[i], now_ns);
}

static void close_event(struct cpu_events *events, size_t index)
{
	struct cpu_event *event = &events->events.items[index];

	events->ops->closing(events->context, event);
	close(event->fd);
	cpu_event_vector_remove(&events->events, index);
}

static int open_event(struct cpu_events *events, uint32_t cpu)
{
	struct perf_event_attr attributes = events->attributes;
	struct cpu_event event = { .cpu = cpu, .progress_time_ns = clock_monotonic_ns() };
	_cleanup_(close_fd) int fd = -1;
	int err = cpu_event_vector_reserve(&events->events, events->events.count + 1);

	if (err)
		return err;
	attributes.read_format = PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = perf_event_open_on_cpu(&attributes, cpu);
	if (fd < 0)
		return fd;
	event.fd = fd;
	err = events->ops->opened(events->context, &event);
	if (err)
		return err;
	(void)take_fd(fd);
	return cpu_event_vector_push(&events->events, event);
}

static bool is_open(const struct cpu_events *events, uint32_t cpu)
{
	for (size_t i = 0; i < events->events.count; i++) {
		if (events->events.items[i].cpu == cpu)
			return true;
	}
	return false;
}

int cpu_events_follow(struct cpu_events *events)
{
	_cleanup_(cpu_list_deinit) struct cpu_list online = { 0 };
	uint64_t now_ns = clock_monotonic_ns();
	int result = 0, err = cpu_list_read_online(&online);

	if (err)
		return err;
	cpu_events_read(events);
	for (size_t i = events->events.count; i-- > 0;) {
		const struct cpu_event *event = &events->events.items[i];
		bool is_dead = events->is_running &&
			       event->progress_time_ns + DEAD_EVENT_NS < now_ns;

		if (!is_dead && cpu_list_contains(&online, event->cpu))
			continue;
		log_debug("CPU %u went offline, its perf event is closed", event->cpu);
		close_event(events, i);
	}
	for (uint32_t i = 0; i < online.count; i++) {
		uint32_t cpu = online.cpus[i];

		if (events->selected.count && !cpu_list_contains(&events->selected, cpu))
			continue;
		if (is_open(events, cpu))
			continue;
		err = open_event(events, cpu);
		/* -ENODEV: it went offline meanwhile. */
		if (err && err != -ENODEV && !result)
			result = err;
	}
	return result;
}

void cpu_events_set_running(struct cpu_events *events, bool is_running)
{
	uint64_t now_ns = clock_monotonic_ns();

	events->is_running = is_running;
	for (size_t i = 0; i < events->events.count; i++)
		events->events.items[i].progress_time_ns = now_ns;
}

void cpu_events_deinit(struct cpu_events *events)
{
	cpu_events_read(events);
	while (events->events.count)
		close_event(events, events->events.count - 1);
	cpu_event_vector_deinit(&events->events);
	cpu_list_deinit(&events->selected);
}
