/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The samples of a profile that was read: collected first, then handed on one by one in the order of their times. Not
 * thread-safe.
 */
#ifndef VIEWER_OPEN_OPENED_SAMPLES_H
#define VIEWER_OPEN_OPENED_SAMPLES_H

#include <stdatomic.h>
#include <stdint.h>

#include "lib/base/vector.h"
#include "lib/model/sample.h"
#include "reporter/reporter.h"
#include "reporter/sample_table.h"

enum {
	/** Where there are more they are scaled down to so many. */
	OPENED_SAMPLES_MAX = 4 << 20,
	/** Of a stack; nearer the root there is [truncated] then. */
	OPENED_FRAMES_MAX = 4096,
	OPENED_HOST_MAX_BYTES = 256,
	/** Of all that is read, without another bound. */
	OPENED_MAX_BYTES = 1 << 30,
};

VECTOR_DEFINE(frame_vector, struct frame)

/** A stack in the making, leaf first; what the frames point to is borrowed until it is done. */
struct opened_stack {
	struct frame_vector frames;
};

/** Whether frames that are pushed now are left out. */
static inline bool opened_stack_is_full(const struct opened_stack *stack)
{
	return stack->frames.count >= OPENED_FRAMES_MAX;
}

/** -ENOMEM. */
int opened_stack_push(struct opened_stack *stack, const struct frame *frame);
/** It has the mark of the language @kind: the outermost frame of that says so. */
void opened_stack_set_mark(struct opened_stack *stack, uint8_t kind);
/** Makes the trace of it, the caller's, and empties it; NULL without memory. */
struct trace *opened_stack_finish(struct opened_stack *stack);
void opened_stack_deinit(struct opened_stack *stack);

struct opened_moment {
	uint64_t time_ns;
	uint64_t count;
	/** Its number in the table. */
	uint32_t sample;
};

VECTOR_DEFINE(opened_moment_vector, struct opened_moment)

/** All bytes zero: none. */
struct opened_samples {
	/** The distinct samples. */
	struct sample_table table;
	/** The number of the one whose moments come next. */
	uint32_t current;
	struct opened_moment_vector moments;
	/** The memory beside the table, and the limit of both, 0: OPENED_MAX_BYTES. */
	size_t other_bytes;
	size_t max_bytes;
	/**
	 * Not 0: profiles whose values are no numbers of samples are left out, and counted, and more samples than that
	 * are refused. 0: values are taken for samples, and scaled down where there are more than OPENED_SAMPLES_MAX.
	 */
	uint64_t max_samples;
	uint64_t skipped_profiles;
	/** What another thread sets to have the reading end soon, with -ECANCELED; NULL: nobody does. Borrowed. */
	const atomic_bool *is_cancelled;
	/** The machine of samples that do not say theirs; NULL: this one. Borrowed. */
	const char *unnamed_host;
	uint64_t total;
	/** What the profile says of itself: ns since 1970, "" and 0 where it does not. */
	uint64_t start_ns;
	uint64_t duration_ns;
	uint32_t samples_per_second;
	char host[OPENED_HOST_MAX_BYTES];
	/** Of the moments; valid if there are any. */
	uint64_t first_ns;
	uint64_t last_ns;
};

/** Prepares the table of a zeroed one, whose limits may be set. Readers call it first. */
void opened_samples_init(struct opened_samples *opened);

/** The memory of all that was read. */
static inline size_t opened_samples_bytes(const struct opened_samples *opened)
{
	return opened->table.bytes + opened->other_bytes;
}

/** Counts @bytes more beside the table. -E2BIG with a text for users if there may not be so much. */
int opened_samples_spend(struct opened_samples *opened, size_t bytes);

/**
 * Makes *@sample the one whose moments come next; its names may be NULL, and long ones are cut. -ENOMEM, -ECANCELED, -E2BIG
 * with a text for users over the limit; after a failure @opened can only be freed.
 */
int opened_samples_begin(struct opened_samples *opened, const struct sample *sample);

/** @count events of it, at this time. -ENOMEM, -E2BIG. */
int opened_samples_add(struct opened_samples *opened, uint64_t time_ns, uint64_t count);

/** Hands them to @reporter; returns how many that were. */
uint64_t opened_samples_report(struct opened_samples *opened, struct reporter *reporter);

/** Frees the samples; what the profile says of itself, and the total, stay. */
void opened_samples_free(struct opened_samples *opened);

#endif
