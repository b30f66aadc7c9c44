/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The samples of an opened profile. They are first collected, then reported one by one in the order
 * of their times. Not thread-safe.
 */
#ifndef VIEWER_OPEN_OPENED_SAMPLES_H
#define VIEWER_OPEN_OPENED_SAMPLES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vector.h"
#include "lib/model/profile_facts.h"
#include "lib/model/sample.h"
#include "reporter/reporter.h"
#include "reporter/sample_table.h"

enum {
	/** Limit of a stack's frames; a longer one has [truncated] at the root end. */
	OPENED_FRAMES_MAX = 4096,
	OPENED_HOST_MAX_BYTES = 256,
	/** Limit of all memory if no other is set. */
	OPENED_MAX_BYTES = 1 << 30,
};

VECTOR_DEFINE(frame_vector, struct frame)

/**
 * A stack that is being built, leaf first. The memory that frames point to is borrowed until the
 * stack is finished.
 */
struct opened_stack {
	struct frame_vector frames;
};

/** True if further frames are skipped. */
static inline bool opened_stack_is_full(const struct opened_stack *stack)
{
	return stack->frames.count >= OPENED_FRAMES_MAX;
}

/** -ENOMEM. */
int opened_stack_push(struct opened_stack *stack, const struct frame *frame);
/**
 * Marks the stack with the mark of the language @kind: it is stored in the outermost frame of that
 * language.
 */
void opened_stack_set_mark(struct opened_stack *stack, uint8_t kind);
/** Makes the stack's trace, which the caller owns, and empties the stack; NULL without memory. */
struct trace *opened_stack_finish(struct opened_stack *stack);
void opened_stack_deinit(struct opened_stack *stack);

struct opened_moment {
	uint64_t time_ns;
	/** In the unit of the sample's type. */
	int64_t value;
	/** The sample's id in the table. */
	uint32_t sample;
};

VECTOR_DEFINE(opened_moment_vector, struct opened_moment)

/** Initialize with zeros. */
struct opened_samples {
	/** The distinct samples. */
	struct sample_table table;
	bool has_table;
	/** The number of the sample whose moments are added next. */
	uint32_t current;
	struct opened_moment_vector moments;
	/** The memory besides the table's, and the limit of both; 0: OPENED_MAX_BYTES. */
	size_t other_bytes;
	size_t max_bytes;
	/**
	 * If not 0: profiles whose values are not counts of samples are skipped and counted, and
	 * more samples than this are refused. If 0: values of all types are read, and the origin of a
	 * sample is the index of its type.
	 */
	uint64_t max_samples;
	uint64_t skipped_profiles;
	/**
	 * Another thread sets it to end the reading early with -ECANCELED; NULL: not used.
	 * Borrowed.
	 */
	const atomic_bool *is_cancelled;
	/** The machine of samples without a host name; NULL: this one. Borrowed. */
	const char *unnamed_host;
	/** The sum of all values without their signs, and for each type. */
	uint64_t total;
	uint64_t type_totals[PROFILE_TYPES_MAX];
	struct profile_facts facts;
	/** The profile's own data: ns since 1970 and so on; 0 and "" if unknown. */
	uint64_t start_ns;
	uint32_t samples_per_second;
	char host[OPENED_HOST_MAX_BYTES];
	/** Times of the first and last moment; valid if there are any. */
	uint64_t first_ns;
	uint64_t last_ns;
};

/** Prepares the table of a zeroed @opened, whose limits may be set. Readers call it first; it does nothing if the table is in use. */
void opened_samples_init(struct opened_samples *opened);

/** The memory of everything that was read. */
static inline size_t opened_samples_bytes(const struct opened_samples *opened)
{
	return opened->table.bytes + opened->other_bytes;
}

/** Counts @bytes besides the table. -E2BIG with a text for users if that exceeds the limit. */
int opened_samples_spend(struct opened_samples *opened, size_t bytes);

/**
 * Selects *@sample for the next moments; its names may be NULL, and long ones are cut. -ENOMEM,
 * -ECANCELED, -E2BIG with a text for users over the limit; after an error @opened can only be
 * freed.
 */
int opened_samples_begin(struct opened_samples *opened, const struct sample *sample);

/** Adds a value of the selected sample at @time_ns. -ENOMEM, -E2BIG. */
int opened_samples_add(struct opened_samples *opened, uint64_t time_ns, int64_t value);

/** A sample that only its stack describes: no process, no thread, no CPU, no labels. */
struct sample opened_sample_unknown(void);

/**
 * Selects the sample that is equal to @sample but has type @type, and adds @value unless it is 0. Errors as above.
 */
int opened_samples_put(struct opened_samples *opened, const struct sample *sample, uint32_t type,
		       uint64_t time_ns, int64_t value);

/**
 * The index of the type, which is added if it is new: with at least @decimals, also for the values that were added before. -ENOMEM;
 * -E2BIG with a text for users.
 */
int opened_samples_add_type(struct opened_samples *opened, const char *type, const char *unit,
			    uint8_t decimals, uint32_t *index);

/** Sets samples_per_second by the period, if that is one of time. */
void opened_samples_set_rate(struct opened_samples *opened);

/**
 * Chooses the type that is shown first: the one that is called @name (NULL: none is named), or else the last one with
 * values, as pprof does.
 */
void opened_samples_choose_type(struct opened_samples *opened, const char *name);
/** Chooses the first type with values. */
void opened_samples_choose_first_type(struct opened_samples *opened);

/** The user chooses the type @name, "type" or "type/unit". -ENOENT with a text that lists the types. */
int opened_samples_select_type(struct opened_samples *opened, const char *name);

/**
 * Makes the moments from @first_moment on a part of the profile. If they overlap the parts before, they are moved behind
 * these. -ENOMEM.
 */
int opened_samples_end_part(struct opened_samples *opened, const char *name, size_t first_moment);

/** Passes each value to @reporter, as an event. */
void opened_samples_report_values(struct opened_samples *opened, struct reporter *reporter);

/** Passes as many events to @reporter as there are samples; returns their number. All values are counts. */
uint64_t opened_samples_report(struct opened_samples *opened, struct reporter *reporter);

/** Frees the samples; the profile's own data and the totals remain. */
void opened_samples_free(struct opened_samples *opened);

/** Frees everything. */
void opened_samples_deinit(struct opened_samples *opened);

#endif
