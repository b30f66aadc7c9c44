/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/open/opened_samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"

enum {
	/* Longer names of processes and threads are cut. */
	COMM_MAX_BYTES = 256,
};

/* --- stacks --- */

int opened_stack_push(struct opened_stack *stack, const struct frame *frame)
{
	static const struct frame truncated = { .kind = FRAME_ERROR, .error = UNWIND_TRUNCATED };

	if (opened_stack_is_full(stack))
		return 0;
	return frame_vector_push(&stack->frames,
				 stack->frames.count + 1 < OPENED_FRAMES_MAX ? *frame : truncated);
}

void opened_stack_set_mark(struct opened_stack *stack, uint8_t kind)
{
	for (size_t i = stack->frames.count; i-- > 0;) {
		struct frame *frame = &stack->frames.items[i];

		if (frame->kind != kind)
			continue;
		frame->flags |= FRAME_MARKS_TRACE;
		return;
	}
}

struct trace *opened_stack_finish(struct opened_stack *stack)
{
	bool is_complete = stack->frames.count, is_kernel = stack->frames.count;
	struct trace *trace;

	for (size_t i = 0; i < stack->frames.count; i++) {
		const struct frame *frame = &stack->frames.items[i];

		if (frame->kind == FRAME_ERROR || frame->flags & FRAME_GUESS)
			is_complete = false;
		if (frame->kind != FRAME_KERNEL)
			is_kernel = false;
	}
	trace = trace_create(stack->frames.items, stack->frames.count, is_complete, is_kernel);
	stack->frames.count = 0;
	return trace;
}

void opened_stack_deinit(struct opened_stack *stack)
{
	frame_vector_deinit(&stack->frames);
}

/* --- samples --- */

static size_t max_bytes(const struct opened_samples *opened)
{
	return opened->max_bytes ? opened->max_bytes : OPENED_MAX_BYTES;
}

static int refuse_size(const struct opened_samples *opened)
{
	return fail(-E2BIG, "its stacks and processes need more than %zu MiB",
		    max_bytes(opened) >> 20);
}

void opened_samples_init(struct opened_samples *opened)
{
	sample_table_init(&opened->table, max_bytes(opened), false);
}

int opened_samples_spend(struct opened_samples *opened, size_t bytes)
{
	opened->other_bytes += bytes;
	return opened_samples_bytes(opened) > max_bytes(opened) ? refuse_size(opened) : 0;
}

static int add_sample(struct opened_samples *opened, const struct sample *sample)
{
	int err;

	opened->table.max_bytes = max_bytes(opened) - opened->other_bytes;
	err = sample_table_add(&opened->table, sample, &opened->current);
	return err == -E2BIG ? refuse_size(opened) : err;
}

/* "" for NULL; for a long text, @cut filled with its beginning. */
static const char *cut_comm(const char *text, char cut[COMM_MAX_BYTES])
{
	size_t length = text ? strnlen(text, COMM_MAX_BYTES) : 0;

	if (length < COMM_MAX_BYTES)
		return length ? text : "";
	memcpy(cut, text, COMM_MAX_BYTES - 1);
	cut[COMM_MAX_BYTES - 1] = '\0';
	return cut;
}

int opened_samples_begin(struct opened_samples *opened, const struct sample *sample)
{
	char process_comm[COMM_MAX_BYTES], thread_comm[COMM_MAX_BYTES];
	struct sample complete = *sample;

	if (opened->is_cancelled && *opened->is_cancelled)
		return -ECANCELED;
	complete.process_comm = cut_comm(sample->process_comm, process_comm);
	complete.thread_comm = cut_comm(sample->thread_comm, thread_comm);
	return add_sample(opened, &complete);
}

int opened_samples_add(struct opened_samples *opened, uint64_t time_ns, uint64_t count)
{
	const struct opened_moment moment = {
		.time_ns = time_ns,
		.count = count,
		.sample = opened->current,
	};
	int err;

	if (!count)
		return 0;
	err = opened_samples_spend(opened, sizeof(moment));
	if (err)
		return err;
	if (!opened->moments.count || time_ns < opened->first_ns)
		opened->first_ns = time_ns;
	if (!opened->moments.count || time_ns > opened->last_ns)
		opened->last_ns = time_ns;
	opened->total = count > UINT64_MAX - opened->total ? UINT64_MAX : opened->total + count;
	if (opened->max_samples && opened->total > opened->max_samples)
		return fail(-E2BIG, "it has more than %llu samples",
			    (unsigned long long)opened->max_samples);
	return opened_moment_vector_push(&opened->moments, moment);
}

static int compare_moments(const void *a, const void *b)
{
	const struct opened_moment *one = a, *other = b;

	if (one->time_ns != other->time_ns)
		return one->time_ns < other->time_ns ? -1 : 1;
	return (one->sample > other->sample) - (one->sample < other->sample);
}

uint64_t opened_samples_report(struct opened_samples *opened, struct reporter *reporter)
{
	const uint64_t most = OPENED_SAMPLES_MAX;
	double scale = opened->total > most ? (double)most / (double)opened->total : 1;
	uint64_t reported = 0;
	/* The scaled number of samples so far, fractions included. */
	double due = 0;

	if (opened->moments.count)
		qsort(opened->moments.items, opened->moments.count, sizeof(*opened->moments.items),
		      compare_moments);
	for (size_t i = 0; i < opened->moments.count; i++) {
		const struct opened_moment *moment = &opened->moments.items[i];
		const struct sample_event event = {
			.sample =
				sample_table_at(opened->table.blocks.items, moment->sample)->sample,
			.time_ns = moment->time_ns,
			.was_known = true,
		};

		due += (double)moment->count * scale;
		for (; (double)reported + 0.5 < due && reported < most; reported++)
			reporter->ops->report(reporter, &event);
	}
	return reported;
}

void opened_samples_free(struct opened_samples *opened)
{
	sample_table_deinit(&opened->table);
	opened_moment_vector_deinit(&opened->moments);
}
