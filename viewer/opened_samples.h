/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The samples of a profile that was read: collected first, then handed on one by one in the order of their times. Not
 * thread-safe.
 */
#ifndef VIEWER_OPENED_SAMPLES_H
#define VIEWER_OPENED_SAMPLES_H

#include <stdatomic.h>
#include <stdint.h>

#include "agent/base/hash_map.h"
#include "agent/base/sample.h"
#include "agent/base/vector.h"
#include "reporter/kept_bytes.h"
#include "reporter/reporter.h"

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
	uint32_t sample;
};

VECTOR_DEFINE(opened_sample_vector, struct sample)
VECTOR_DEFINE(opened_moment_vector, struct opened_moment)

/** All bytes zero: none. */
struct opened_samples {
	struct opened_sample_vector samples;
	struct opened_moment_vector moments;
	/** Equal ones are one: by their hashes, borrowed from the samples. */
	struct hash_map traces;
	/** Of all of it, binaries and processes too; and how much of it there may be, 0: OPENED_MAX_BYTES. */
	size_t bytes;
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
	/** Texts and labels of the samples. */
	struct kept_bytes kept;
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

/** Counts @bytes more. -E2BIG with a text for users if there may not be so much. */
int opened_samples_spend(struct opened_samples *opened, size_t bytes);

/**
 * For readers that keep traces themselves: the one that is equal to *@trace takes its place, if there is one. What it
 * takes counts in any case: to make it again takes time. -ENOMEM, -E2BIG.
 */
int opened_samples_share(struct opened_samples *opened, struct trace **trace);

/**
 * Whose samples come next: takes over the caller's reference on @trace, in any case, and copies the rest of *@sample. -ENOMEM,
 * -ECANCELED, -E2BIG with a text for users for more than there may be; after a failure it can only be taken down.
 */
int opened_samples_begin(struct opened_samples *opened, struct trace *trace,
			 const struct sample *sample);

/** @count samples of it, at this time. -ENOMEM, -E2BIG. */
int opened_samples_add(struct opened_samples *opened, uint64_t time_ns, uint64_t count);

/** Hands them to @reporter; returns how many that were. */
uint64_t opened_samples_report(struct opened_samples *opened, struct reporter *reporter);

/** Frees the samples; what the profile says of itself, and the total, stay. */
void opened_samples_free(struct opened_samples *opened);

#endif
