/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tracing/event_reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "agent/tracing/read_pace.h"
#include "agent/tracing/ring_reader.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/urgent_thread.h"
#include "lib/model/label_set.h"
#include "lib/model/metrics.h"

enum {
	/** Pause after each round, so that a flood of events costs at most 1,000 wake-ups/s. */
	PAUSE_NS = 1000 * 1000,
	THREAD_NICE = -10,
};

#define TICK_NS NS_PER_SECOND

struct event_reader {
	struct ring_reader samples;
	struct ring_reader process_events;
	struct side_band *side_band;
	struct event_handler handler;
	int epoll_fd;
	/* Stays readable once a stop is requested. */
	int stop_fd;
	pthread_t thread;
	bool has_thread;
	uint64_t next_tick_ns;
	struct read_pace pace;
	struct log_limit tick_errors;
};

/* The kernel side writes records. This check only prevents a bug there from causing reads beyond them. */
bool event_reader_is_well_formed(const struct trace_record *record, size_t bytes)
{
	const struct deferred_sample *first = (const void *)record;

	if (bytes < sizeof(*record) || record->origin >= ORIGIN_COUNT)
		return false;
	switch (record->type) {
	case RECORD_TRACE:
		return bytes == sizeof(*record) + record->word_count * sizeof(uint64_t) +
					record->label_bytes &&
		       record->kernel_word_count <= record->word_count &&
		       labels_are_well_formed((const char *)record + bytes - record->label_bytes,
					      record->label_bytes);
	case RECORD_DEFERRED:
		return bytes >= offsetof(struct deferred_sample, stack) &&
		       first->stack_bytes <= DEFERRED_STACK_MAX_BYTES &&
		       bytes == offsetof(struct deferred_sample, stack) + first->stack_bytes &&
		       record->kernel_word_count <= record->word_count &&
		       record->word_count <= DEFERRED_MAX_WORDS - RESUMED_FRAME_WORDS;
	default:
		return false;
	}
}

static void on_sample(void *context, const void *bytes, size_t count)
{
	struct event_reader *reader = context;
	const struct trace_record *record = bytes;

	bool is_well_formed = event_reader_is_well_formed(record, count);

	/* Only the clock's samples are counted, since the number of ticks is computed from this count. */
	if (!is_well_formed || record->origin == ORIGIN_CLOCK)
		metrics_add(METRIC_SAMPLES_RECEIVED, 1);
	if (!is_well_formed) {
		metrics_add(METRIC_SAMPLES_MALFORMED, 1);
		return;
	}
	reader->handler.sample(reader->handler.context, record, count);
}

static void on_process_event(void *context, const void *bytes, size_t count)
{
	struct event_reader *reader = context;

	if (count != sizeof(struct process_event))
		return;
	metrics_add(METRIC_PROCESS_EVENTS_RECEIVED, 1);
	reader->handler.process_event(reader->handler.context, bytes);
}

/* Edge-triggered: a ring wakes us when its writer requests it, not whenever it has data. */
static int watch(const struct event_reader *reader, int fd)
{
	struct epoll_event wanted = { .events = EPOLLIN | EPOLLET, .data.fd = fd };

	if (epoll_ctl(reader->epoll_fd, EPOLL_CTL_ADD, fd, &wanted))
		return fail_errno(-errno, "cannot watch a ring");
	return 0;
}

static int start(struct event_reader *reader, const struct bpf_fds *fds)
{
	int err = ring_reader_init(&reader->samples, fds->samples);

	if (!err)
		err = ring_reader_init(&reader->process_events, fds->process_events);
	if (err)
		return err;
	reader->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	reader->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (reader->epoll_fd < 0 || reader->stop_fd < 0)
		return fail_errno(-errno, "cannot make the descriptors of the event reader");
	err = watch(reader, reader->stop_fd);
	if (!err)
		err = watch(reader, fds->process_events);
	if (!err)
		err = watch(reader, fds->samples);
	if (!err && reader->side_band)
		err = watch(reader, side_band_fd(reader->side_band));
	return err;
}

int event_reader_create(const struct bpf_fds *fds, struct side_band *side_band,
			const struct event_handler *handler, struct event_reader **out)
{
	struct event_reader *reader = calloc(1, sizeof(*reader));
	int err;

	if (!reader)
		return -ENOMEM;
	reader->side_band = side_band;
	reader->handler = *handler;
	reader->epoll_fd = -1;
	reader->stop_fd = -1;
	reader->tick_errors = (struct log_limit){ .interval_ns = 60 * NS_PER_SECOND, .burst = 1 };
	err = start(reader, fds);
	if (err) {
		event_reader_destroy(reader);
		return err;
	}
	*out = reader;
	return 0;
}

void event_reader_destroy(struct event_reader *reader)
{
	if (!reader)
		return;
	if (reader->stop_fd >= 0)
		close(reader->stop_fd);
	if (reader->epoll_fd >= 0)
		close(reader->epoll_fd);
	ring_reader_deinit(&reader->process_events);
	ring_reader_deinit(&reader->samples);
	free(reader);
}

void event_reader_drain(struct event_reader *reader)
{
	/*
	 * All events that were written before these samples and process events are in their rings by now. The rings
	 * are drained in order, so that earlier events are handed out first (a fork before the process event that the
	 * process is unknown). Later samples and process events wait for the next round.
	 */
	uint64_t begin_ns = clock_monotonic_ns();
	uint64_t samples_end = ring_reader_end(&reader->samples);
	uint64_t process_events_end = ring_reader_end(&reader->process_events);

	if (reader->side_band)
		side_band_drain(reader->side_band, &reader->handler);
	ring_reader_consume(&reader->process_events, process_events_end, on_process_event, reader);
	reader->handler.news_end(reader->handler.context, begin_ns);
	ring_reader_consume(&reader->samples, samples_end, on_sample, reader);
}

static void tick(struct event_reader *reader)
{
	uint64_t now_ns = clock_monotonic_ns(), suppressed;

	if (now_ns < reader->next_tick_ns)
		return;
	reader->next_tick_ns = now_ns + TICK_NS;
	if (reader->side_band && side_band_tick(reader->side_band, &reader->handler) &&
	    log_limit_allow(&reader->tick_errors, now_ns, &suppressed))
		log_warn("%s; new mappings on that CPU are read late", error_text());
}

static int drain_until_stopped(struct event_reader *reader)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	struct epoll_event ready[4];
	struct urgent_thread urgency;
	bool is_stopped = false;

	/* Process events of samples must be handled before the short-lived processes that they are about end. */
	urgent_thread_init(&urgency, THREAD_NICE);

	while (!is_stopped) {
		/* Samples wake us only when their ring fills up. */
		int pause_ms = read_pace_interval(
			&reader->pace,
			metrics_read(METRIC_FRAMES_GONE) + metrics_read(METRIC_STACKS_REPLACED),
			metrics_read(METRIC_SAMPLES_RECEIVED), clock_monotonic_ns());
		int count = epoll_wait(reader->epoll_fd, ready, 4, pause_ms);

		if (count < 0 && errno != EINTR)
			return fail_errno(-errno, "cannot wait for events");
		for (int i = 0; i < count; i++)
			is_stopped |= ready[i].data.fd == reader->stop_fd;
		event_reader_drain(reader);
		tick(reader);
		urgent_thread_tick(&urgency);
		if (count > 0 && !is_stopped)
			nanosleep(&pause, NULL);
	}
	return 0;
}

static void *run(void *argument)
{
	struct event_reader *reader = argument;

	pthread_setname_np(pthread_self(), "ring");
	if (drain_until_stopped(reader))
		log_error("%s; samples are lost from here on", error_text());
	return NULL;
}

int event_reader_start(struct event_reader *reader)
{
	int error = pthread_create(&reader->thread, NULL, run, reader);

	reader->has_thread = !error;
	return error ? fail_errno(-error, "cannot start the ring thread") : 0;
}

void event_reader_stop(struct event_reader *reader)
{
	if (!reader || !reader->has_thread)
		return;
	/* This fails only if the counter is full, and then the descriptor is readable anyway. */
	eventfd_write(reader->stop_fd, 1);
	pthread_join(reader->thread, NULL);
	reader->has_thread = false;
}
