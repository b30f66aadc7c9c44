/* SPDX-License-Identifier: Apache-2.0 */
/* Only sums are kept, so nothing can be full. */

#include "reporter/sample_totals.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* One thread adds; others may read at the same time. */
static void add(uint64_t *sum, uint64_t count)
{
	__atomic_store_n(sum, *sum + count, __ATOMIC_RELAXED);
}

/*
 * Kernel threads have no user stack, and neither have tasks that have released their memory: their
 * stack is the kernel's only.
 */
static bool has_user_stack(const struct trace *trace)
{
	return !trace->is_kernel_thread && trace->frame_count &&
	       trace_frame(trace, trace->frame_count - 1).kind != FRAME_KERNEL;
}

static void add_to_totals(struct sample_totals *totals, const struct sample_event *event)
{
	const struct trace *trace = event->sample.trace;

	add(&totals->samples, 1);
	add(&totals->complete, trace->is_complete);
	add(&totals->guesses, trace->has_guess);
	for (int error = 0; error < UNWIND_ERROR_COUNT; error++)
		add(&totals->errors[error], trace->error_mask >> error & 1);
	if (!event->was_known) {
		totals->before_known++;
	} else if (has_user_stack(trace)) {
		totals->known_user++;
		totals->known_user_complete += trace->is_complete;
	}
}

static void report(struct reporter *reporter, const struct sample_event *event)
{
	struct sample_counter *counter = (struct sample_counter *)reporter;

	/* The totals are compared with the ticks of the clock. */
	if (event->sample.origin == ORIGIN_CLOCK)
		add_to_totals(&counter->totals, event);
	for (uint32_t i = 0; i < counter->next_count; i++)
		counter->next[i]->ops->report(counter->next[i], event);
}

_Static_assert(offsetof(struct sample_counter, reporter) == 0, "report() casts");

void sample_counter_init(struct sample_counter *counter)
{
	static const struct reporter_ops ops = { .report = report };

	memset(counter, 0, sizeof(*counter));
	counter->reporter.ops = &ops;
}

void sample_counter_add(struct sample_counter *counter, struct reporter *next)
{
	assert(counter->next_count < SAMPLE_COUNTER_MAX_NEXT);
	counter->next[counter->next_count++] = next;
}

static uint64_t read_sum(const uint64_t *sum)
{
	return __atomic_load_n(sum, __ATOMIC_RELAXED);
}

void sample_counter_read(const struct sample_counter *counter, struct sample_totals *totals)
{
	*totals = (struct sample_totals){
		.samples = read_sum(&counter->totals.samples),
		.complete = read_sum(&counter->totals.complete),
		.guesses = read_sum(&counter->totals.guesses),
	};
	for (int error = 0; error < UNWIND_ERROR_COUNT; error++)
		totals->errors[error] = read_sum(&counter->totals.errors[error]);
}
