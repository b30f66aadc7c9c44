/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/sample_loop.h"

#include <errno.h>

#include "agent/processes/trace_handler.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/model/metrics.h"

enum {
	/** Several seconds of samples at 99 Hz on a large host. */
	SAMPLES_BYTES = 4 << 20,
};

/* Intervals of the handler's tick, while deferred samples wait and otherwise. */
#define WAITING_TICK_NS (40 * NS_PER_MS)
#define IDLE_TICK_NS (200 * NS_PER_MS)

static void count_dropped(struct sample_loop *loop)
{
	metrics_add(METRIC_SAMPLES_DROPPED, 1);
	__atomic_add_fetch(&loop->out, 1, __ATOMIC_RELEASE);
}

static void drop_sample(void *context, void *record, size_t bytes)
{
	struct sample_loop *loop = context;
	const struct trace_record *dropped = record;

	(void)bytes;
	queue_delay_drop(&loop->delay, dropped->time_ns);
	count_dropped(loop);
}

int sample_loop_init(struct sample_loop *loop)
{
	*loop = (struct sample_loop){
		.delay = { .queue = &loop->queue },
		.finish_ns = NS_PER_SECOND,
	};
	return bounded_queue_init(&loop->queue, SAMPLES_BYTES, sizeof(union longest_record),
				  drop_sample, loop);
}

void sample_loop_deinit(struct sample_loop *loop)
{
	bounded_queue_deinit(&loop->queue);
}

void sample_loop_add(struct sample_loop *loop, const struct trace_record *record, size_t bytes)
{
	__atomic_add_fetch(&loop->in, 1, __ATOMIC_RELAXED);
	if (bounded_queue_push(&loop->queue, record, bytes))
		count_dropped(loop);
}

/* Reports the remaining records at the end with the data that is available. */
static void finish(struct sample_loop *loop, union longest_record *record)
{
	uint64_t end_ns = clock_monotonic_ns() + loop->finish_ns, out = 0, now_ns;
	size_t bytes;

	while ((now_ns = clock_monotonic_ns()) < end_ns &&
	       !bounded_queue_pop(&loop->queue, record, &bytes, 0)) {
		trace_handler_handle(loop->handler, &record->record, bytes, now_ns);
		out++;
	}
	trace_handler_finish(loop->handler);
	__atomic_add_fetch(&loop->out, out, __ATOMIC_RELEASE);
}

void sample_loop_run(struct sample_loop *loop)
{
	struct trace_handler *handler = loop->handler;
	/* Has the size of the longest record. */
	union longest_record record;
	uint64_t now_ns, tick_ns = 0;
	uint32_t waiting = 0;
	size_t bytes;
	int err;

	while (!__atomic_load_n(&loop->is_stopping, __ATOMIC_ACQUIRE)) {
		uint64_t out = 0;

		err = bounded_queue_pop(&loop->queue, &record, &bytes,
					waiting ? WAITING_TICK_NS : IDLE_TICK_NS);
		if (err == -EPIPE)
			break;
		now_ns = clock_monotonic_ns();
		queue_delay_begin(&loop->delay, err ? now_ns : record.record.time_ns);
		if (!err) {
			trace_handler_handle(handler, &record.record, bytes, now_ns);
			out++;
		}
		if (now_ns >= tick_ns) {
			trace_handler_tick(handler, now_ns);
			tick_ns = now_ns + WAITING_TICK_NS;
		}
		queue_delay_end(&loop->delay);
		out += waiting;
		waiting = trace_handler_waiting_count(handler);
		__atomic_add_fetch(&loop->out, out - waiting, __ATOMIC_RELEASE);
	}
	__atomic_add_fetch(&loop->out, waiting, __ATOMIC_RELEASE);
	finish(loop, &record);
}

void sample_loop_stop(struct sample_loop *loop)
{
	__atomic_store_n(&loop->is_stopping, true, __ATOMIC_RELEASE);
	if (loop->queue.ring)
		bounded_queue_close(&loop->queue);
}

void sample_loop_drop_rest(struct sample_loop *loop)
{
	uint64_t in = sample_loop_count(loop);
	uint64_t out = __atomic_exchange_n(&loop->out, in, __ATOMIC_ACQ_REL);

	metrics_add(METRIC_SAMPLES_DROPPED, in - out);
	if (in > out)
		log_warn(
			"the time for the stop is over; %llu samples that were not converted are dropped",
			(unsigned long long)(in - out));
}

uint64_t sample_loop_count(const struct sample_loop *loop)
{
	return __atomic_load_n(&loop->in, __ATOMIC_ACQUIRE);
}

bool sample_loop_has_done(const struct sample_loop *loop, uint64_t count)
{
	return __atomic_load_n(&loop->out, __ATOMIC_ACQUIRE) >= count;
}
