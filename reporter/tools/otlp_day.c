/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulates a day of the OTLP reporter in seconds. The clock and the collector are simulated; the
 * store, the requests, the queue and the heap are the agent's. Prints for each hour what the
 * collector did, the anonymous memory of the process, and how much of it is in use;
 * reporter/tests/otlp_day_test.py checks it.
 *
 *	otlp_day [PART]
 *
 * PART is a number: the stacks of an interval and the queue are smaller by this factor.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/heap.h"
#include "lib/base/log.h"
#include "lib/model/metrics.h"
#include "reporter/otlp_reporter.h"

enum {
	HOURS = 24,
	/* Stacks that are new in every interval, and stacks that are the same in all. */
	NEW_STACKS = 50,
	COMMON_STACKS = 50,
	STACK_FRAMES = 30,
	RATE = 19,
};

#define INTERVAL_NS (5 * NS_PER_SECOND)
#define TIMEOUT_NS (10 * NS_PER_SECOND)
#define HOUR_NS (3600 * NS_PER_SECOND)

static const char *const moods[] = { "takes all", "is absent", "hangs", "refuses", "flickers" };

enum mood { TAKES_ALL, IS_ABSENT, HANGS, REFUSES, FLICKERS, MOOD_COUNT };

static uint64_t time_ns = 1000 * NS_PER_SECOND;
static enum mood mood;
static struct otlp_reporter *reporter;
static struct binary *binary;
static struct trace *common[COMMON_STACKS];
static uint64_t next_address = 1 << 20;
static int part = 1;
static uint64_t next_trim_ns;

static uint64_t now_ns(void)
{
	return time_ns;
}

static void *need(void *made)
{
	if (!made) {
		fprintf(stderr, "otlp_day: no memory\n");
		exit(1);
	}
	return made;
}

static struct trace *new_trace(void)
{
	struct frame frames[STACK_FRAMES];

	for (int i = 0; i < STACK_FRAMES; i++) {
		frames[i] = (struct frame){
			.kind = FRAME_NATIVE,
			.address = next_address += 16,
			.binary = binary,
		};
	}
	return need(trace_create(frames, STACK_FRAMES, true, false));
}

static void report(struct trace *trace, uint32_t pid)
{
	struct reporter *door = otlp_reporter_door(reporter);
	const struct sample_event event = {
		.sample.trace = trace,
		.time_ns = time_ns,
		.sample.pid = pid,
		.sample.tid = pid,
		.sample.process_comm = "process",
		.sample.thread_comm = "thread",
		.was_known = true,
	};

	door->ops->report(door, &event);
}

/* Reports the samples of an interval, and ends it. */
static void pass_interval(void)
{
	static uint32_t pid = 1000;

	for (int i = 0; i < COMMON_STACKS / part; i++)
		report(common[i], 1);
	pid++;
	for (int i = 0; i < NEW_STACKS / part; i++) {
		struct trace *trace = new_trace();

		report(trace, pid);
		trace_unref(trace);
	}
	time_ns = otlp_reporter_tick(reporter);
	otlp_reporter_tick(reporter);
	heap_trim(time_ns, &next_trim_ns);
}

static void play_send(struct transport *transport, const char *method, const void *bytes,
		      size_t byte_count, uint64_t timeout_ns, struct transport_answer *answer)
{
	static const enum rpc_status statuses[MOOD_COUNT] = {
		[TAKES_ALL] = RPC_OK,
		[IS_ABSENT] = RPC_UNAVAILABLE,
		[HANGS] = RPC_DEADLINE_EXCEEDED,
		[REFUSES] = RPC_INVALID_ARGUMENT,
	};
	static uint32_t call_count;

	(void)transport;
	(void)method;
	(void)bytes;
	(void)byte_count;
	*answer = (struct transport_answer){ .retry_delay_ns = UINT64_MAX };
	answer->status = statuses[mood];
	if (mood == FLICKERS)
		answer->status = call_count++ % 3 ? RPC_UNAVAILABLE : RPC_OK;
	if (answer->status != RPC_OK)
		snprintf(answer->message, sizeof(answer->message), "it %s", moods[mood]);
	/* The intervals continue while the call waits. */
	for (uint64_t end_ns = time_ns + timeout_ns; mood == HANGS && time_ns < end_ns;)
		pass_interval();
}

static void play_cancel(struct transport *transport)
{
	(void)transport;
}

static void pass_hour(void)
{
	uint64_t end_ns = time_ns + HOUR_NS;

	while (time_ns < end_ns) {
		uint64_t send_ns = otlp_reporter_send(reporter);

		if (send_ns > time_ns)
			pass_interval();
	}
}

/*
 * The kernel counts the pages here. RssAnon of /proc/self/status is off by up to 128 kB for each
 * CPU that the process has been moved to, which happens more often on a busy machine.
 */
static long anonymous_kb(void)
{
	FILE *file = need(fopen("/proc/self/smaps_rollup", "re"));
	char line[256];
	long kb = -1;

	while (fgets(line, sizeof(line), file) && sscanf(line, "Anonymous: %ld", &kb) != 1)
		;
	fclose(file);
	return kb;
}

static size_t used_kb(void)
{
	struct mallinfo2 info = mallinfo2();

	return (info.uordblks + info.hblkhd) >> 10;
}

int main(int argument_count, char **arguments)
{
	static const struct transport_ops ops = { .send = play_send, .cancel = play_cancel };
	struct transport transport = { .ops = &ops };
	const struct otlp_options options = {
		.samples_per_second = RATE,
		.max_request_bytes = OTLP_MAX_REQUEST_BYTES,
	};
	struct otlp_reporter_config config = {
		.sender = {
			.transport = &transport,
			.collector = "collector",
			.call_timeout_ns = TIMEOUT_NS,
			.now_ns = now_ns,
		},
		.otlp = &options,
		.interval_ns = INTERVAL_NS,
	};
	const struct binary file = { .executable_id = 1, .path = "/usr/bin/program", .fd = -1 };

	if (argument_count > 1)
		part = atoi(arguments[1]);
	if (part < 1 || part > NEW_STACKS) {
		fprintf(stderr, "usage: otlp_day [PART]\n");
		return 2;
	}
	config.sender.max_bytes = OTLP_SENDER_DEFAULT_MAX_BYTES / (size_t)part;
	heap_limit();
	log_set_level(LOG_ERROR);
	binary = need(binary_create(&file));
	for (int i = 0; i < COMMON_STACKS; i++)
		common[i] = new_trace();
	if (otlp_reporter_create(&config, &reporter)) {
		fprintf(stderr, "otlp_day: no reporter\n");
		return 1;
	}
	for (int hour = 0; hour < HOURS; hour++) {
		mood = hour % MOOD_COUNT;
		pass_hour();
		printf("hour %d: collector %s, %ld kB, %zu kB used, %llu samples sent, %llu "
		       "dropped\n",
		       hour + 1, moods[mood], anonymous_kb(), used_kb(),
		       (unsigned long long)metrics_read(METRIC_OTLP_SAMPLES_SENT),
		       (unsigned long long)metrics_read(METRIC_OTLP_SAMPLES_DROPPED));
	}
	otlp_reporter_destroy(reporter);
	for (int i = 0; i < COMMON_STACKS; i++)
		trace_unref(common[i]);
	binary_unref(binary);
	return 0;
}
