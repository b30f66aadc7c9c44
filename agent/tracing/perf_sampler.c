/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tracing/perf_sampler.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "agent/tracing/cpu_events.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"

struct perf_sampler {
	struct cpu_events events;
	int program_fd;
	uint64_t period_ns;
	/* Ticks of closed events, indexed by CPU. */
	uint64_t closed_ticks[CPU_LIST_MAX_CPUS];
};

static int set_enabled(const struct cpu_event *event, bool enabled)
{
	if (ioctl(event->fd, enabled ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0))
		return fail_errno(-errno, "cannot switch the perf event of CPU %u", event->cpu);
	return 0;
}

static int event_opened(void *context, struct cpu_event *event)
{
	struct perf_sampler *sampler = context;

	if (ioctl(event->fd, PERF_EVENT_IOC_SET_BPF, sampler->program_fd))
		return fail_errno(-errno, "cannot attach the program to CPU %u", event->cpu);
	return sampler->events.is_running ? set_enabled(event, true) : 0;
}

/* The count of a CPU clock event is the time for which it was on, in ns. */
static uint64_t event_ticks(const struct perf_sampler *sampler, const struct cpu_event *event)
{
	return event->count / sampler->period_ns;
}

static void event_closing(void *context, struct cpu_event *event)
{
	struct perf_sampler *sampler = context;

	sampler->closed_ticks[event->cpu] += event_ticks(sampler, event);
}

static const struct cpu_events_ops event_ops = {
	.opened = event_opened,
	.closing = event_closing,
};

static int start(struct perf_sampler *sampler, const struct perf_sampler_options *options)
{
	struct cpu_list *selected = &sampler->events.selected;
	int err;

	if (options->cpu_count) {
		selected->cpus = calloc(options->cpu_count, sizeof(*options->cpus));
		if (!selected->cpus)
			return -ENOMEM;
		memcpy(selected->cpus, options->cpus, options->cpu_count * sizeof(*options->cpus));
		selected->count = options->cpu_count;
	}
	err = cpu_events_follow(&sampler->events);
	if (err)
		return err;
	if (!perf_sampler_cpu_count(sampler))
		return fail(-ENODEV, "none of the CPUs to sample is online");
	return 0;
}

int perf_sampler_create(const struct perf_sampler_options *options, struct perf_sampler **out)
{
	struct perf_sampler *sampler = calloc(1, sizeof(*sampler));
	int err;

	if (!sampler)
		return -ENOMEM;
	sampler->program_fd = options->program_fd;
	sampler->period_ns = NS_PER_SECOND / options->samples_per_second;
	sampler->events.ops = &event_ops;
	sampler->events.context = sampler;
	sampler->events.attributes = (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		/* A period and not a frequency: the kernel would adapt a frequency, and ticks would not add up. */
		.sample_period = sampler->period_ns,
		.disabled = 1,
	};
	err = start(sampler, options);
	if (err) {
		perf_sampler_destroy(sampler);
		return err;
	}
	*out = sampler;
	return 0;
}

void perf_sampler_destroy(struct perf_sampler *sampler)
{
	if (!sampler)
		return;
	cpu_events_deinit(&sampler->events);
	free(sampler);
}

static int switch_all(struct perf_sampler *sampler, bool enabled)
{
	struct cpu_event_vector *events = &sampler->events.events;
	int result = 0;

	cpu_events_set_running(&sampler->events, enabled);
	for (size_t i = 0; i < events->count; i++) {
		int err = set_enabled(&events->items[i], enabled);

		if (err && !result)
			result = err;
	}
	return result;
}

int perf_sampler_enable(struct perf_sampler *sampler)
{
	return switch_all(sampler, true);
}

int perf_sampler_disable(struct perf_sampler *sampler)
{
	return switch_all(sampler, false);
}

int perf_sampler_tick(struct perf_sampler *sampler)
{
	return cpu_events_follow(&sampler->events);
}

uint32_t perf_sampler_cpu_count(const struct perf_sampler *sampler)
{
	return (uint32_t)sampler->events.events.count;
}

void perf_sampler_read_ticks(struct perf_sampler *sampler, uint64_t *ticks, uint32_t cpu_count)
{
	const struct cpu_event_vector *events = &sampler->events.events;

	cpu_events_read(&sampler->events);
	for (uint32_t cpu = 0; cpu < cpu_count; cpu++)
		ticks[cpu] = cpu < CPU_LIST_MAX_CPUS ? sampler->closed_ticks[cpu] : 0;
	for (size_t i = 0; i < events->count; i++) {
		if (events->items[i].cpu < cpu_count)
			ticks[events->items[i].cpu] += event_ticks(sampler, &events->items[i]);
	}
}
