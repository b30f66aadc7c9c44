/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/opened_samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/error.h"
#include "agent/base/hash128.h"

enum {
	/* Longer names of processes and threads are cut; a multiple of 8. */
	COMM_MAX_BYTES = 256,
	/* What a map's entry takes beside its value. */
	TRACE_ENTRY_BYTES = 72,
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

int opened_samples_spend(struct opened_samples *opened, size_t bytes)
{
	size_t most = opened->max_bytes ? opened->max_bytes : OPENED_MAX_BYTES;

	opened->bytes += bytes;
	return opened->bytes > most ?
		       fail(-E2BIG, "its stacks and processes need more than %zu MiB", most >> 20) :
		       0;
}

/* The one copy of @count bytes. */
static int keep(struct opened_samples *opened, const void *bytes, size_t count, const void **kept)
{
	uint64_t hash = hash64_bytes(bytes, count);
	uint32_t number;
	int err;

	if (!kept_bytes_find(&opened->kept, bytes, count, hash, &number)) {
		err = opened_samples_spend(opened, kept_bytes_cost(count));
		if (!err)
			err = kept_bytes_reserve(&opened->kept, count);
		if (err)
			return err;
		number = kept_bytes_add(&opened->kept, bytes, count, hash);
	}
	*kept = kept_bytes_at(&opened->kept, number);
	return 0;
}

/* Texts lie beside labels, which are whole words: padded with zeros to be so, too. */
static int keep_text(struct opened_samples *opened, const char **text)
{
	char padded[COMM_MAX_BYTES] = { 0 };
	size_t length = *text ? strnlen(*text, sizeof(padded) - 1) : 0;

	if (length)
		memcpy(padded, *text, length);
	return keep(opened, padded, (length + 8) / 8 * 8, (const void **)text);
}

static int keep_parts(struct opened_samples *opened, struct sample *sample)
{
	int err = keep_text(opened, &sample->process_comm);

	if (!err)
		err = keep_text(opened, &sample->thread_comm);
	return err || !sample->labels ?
		       err :
		       keep(opened, sample->labels, label_set_bytes(sample->labels),
			    (const void **)&sample->labels);
}

static int add_trace(struct opened_samples *opened, struct trace *trace, const void *key,
		     size_t key_bytes)
{
	int err = opened_samples_spend(opened, trace->bytes + TRACE_ENTRY_BYTES);

	return err ? err : hash_map_set_bytes(&opened->traces, key, key_bytes, (uintptr_t)trace);
}

/* The trace that is equal to *@trace, which takes its place; its reference is the caller's. */
static int share_trace(struct opened_samples *opened, struct trace **trace, bool *is_new)
{
	const uint64_t key[3] = { (*trace)->hash.high, (*trace)->hash.low,
				  (*trace)->executables_hash };
	uint64_t found;

	*is_new = !hash_map_find_bytes(&opened->traces, key, sizeof(key), &found);
	if (*is_new)
		return add_trace(opened, *trace, key, sizeof(key));
	trace_ref((struct trace *)(uintptr_t)found);
	trace_unref(*trace);
	*trace = (struct trace *)(uintptr_t)found;
	return 0;
}

int opened_samples_share(struct opened_samples *opened, struct trace **trace)
{
	bool is_new;
	int err = share_trace(opened, trace, &is_new);

	return err || is_new ? err : opened_samples_spend(opened, (*trace)->bytes);
}

int opened_samples_begin(struct opened_samples *opened, struct trace *trace,
			 const struct sample *sample)
{
	struct sample kept = *sample;
	bool is_new;
	int err;

	kept.trace = trace;
	err = share_trace(opened, &kept.trace, &is_new);

	if (!err && opened->is_cancelled && *opened->is_cancelled)
		err = -ECANCELED;
	if (!err)
		err = opened_samples_spend(opened, sizeof(kept));
	if (!err)
		err = keep_parts(opened, &kept);
	if (!err)
		err = opened_sample_vector_push(&opened->samples, kept);
	if (err) {
		trace_unref(kept.trace);
		return err;
	}
	if (kept.process)
		process_info_ref(kept.process);
	return 0;
}

int opened_samples_add(struct opened_samples *opened, uint64_t time_ns, uint64_t count)
{
	const struct opened_moment moment = {
		.time_ns = time_ns,
		.count = count,
		.sample = opened->samples.count - 1,
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
	/* What was due so far, parts of a sample and all. */
	double due = 0;

	if (opened->moments.count)
		qsort(opened->moments.items, opened->moments.count, sizeof(*opened->moments.items),
		      compare_moments);
	for (size_t i = 0; i < opened->moments.count; i++) {
		const struct opened_moment *moment = &opened->moments.items[i];
		const struct sample_event event = {
			.sample = opened->samples.items[moment->sample],
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
	for (size_t i = 0; i < opened->samples.count; i++) {
		trace_unref(opened->samples.items[i].trace);
		process_info_unref(opened->samples.items[i].process);
	}
	opened_sample_vector_deinit(&opened->samples);
	opened_moment_vector_deinit(&opened->moments);
	hash_map_deinit(&opened->traces);
	kept_bytes_deinit(&opened->kept);
}
