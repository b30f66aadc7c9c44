/* SPDX-License-Identifier: Apache-2.0 */
/**
 * An OTLP request that is being built. Samples are added while an upper bound of its size stays
 * below the limit; then it is encoded.
 */
#ifndef REPORTER_OTLP_REQUEST_H
#define REPORTER_OTLP_REQUEST_H

#include "lib/base/clock.h"
#include "lib/model/origins.h"
#include "reporter/otlp_attributes.h"
#include "reporter/otlp_dictionary.h"
#include "reporter/otlp_profile.h"

/**
 * ns since 1970, cut to the millisecond: a finer time would cost a quarter of the compressed bytes.
 */
static inline uint64_t otlp_realtime(const struct otlp_window *window, uint64_t monotonic_ns)
{
	uint64_t realtime_ns = monotonic_ns + (uint64_t)window->realtime_offset_ns;

	return realtime_ns - realtime_ns % NS_PER_MS;
}

VECTOR_DEFINE(otlp_time_vector, uint64_t)

/** Ids are those of the dictionary. */
struct otlp_draft_sample {
	uint32_t stack;
	/** enum origin. */
	uint32_t origin;
	uint32_t attribute_count;
	/** Borrowed. */
	const uint32_t *attributes;
	/**
	 * ns since 1970, ascending. In the draft: first_time is the index of the first one in
	 * times.
	 */
	const uint64_t *times;
	size_t first_time;
	/**
	 * One per time, NULL if the origin has none. In the draft: first_value is the index of the
	 * first one in values.
	 */
	const uint64_t *values;
	size_t first_value;
	size_t time_count;
};

VECTOR_DEFINE(otlp_draft_sample_vector, struct otlp_draft_sample)

/** The profile of one resource and origin; its samples are adjacent. */
struct otlp_draft_profile {
	uint32_t resource;
	uint32_t origin;
	size_t first_sample;
	size_t sample_count;
	uint64_t start;
	uint64_t end;
};

VECTOR_DEFINE(otlp_draft_profile_vector, struct otlp_draft_profile)

/** Ids of the strings of an origin (struct sample_origin) or of a type of an opened profile. */
struct otlp_draft_types {
	uint32_t type;
	uint32_t unit;
	uint32_t period_type;
	uint32_t period_unit;
};

/** Owner: the thread that builds. */
struct otlp_draft {
	/** Borrowed; errors are kept in the dictionary. */
	struct otlp_dictionary *dictionary;
	const struct otlp_attributes *attributes;
	const struct otlp_options *options;
	const char *agent_version;
	/** ns since 1970: the bounds of every profile include this window. */
	uint64_t window_start;
	uint64_t window_end;
	struct otlp_draft_types types[PROFILE_TYPES_MAX];
	/** Id of the attribute with the comments of all profiles; 0: there are none. */
	uint32_t comments;
	struct otlp_draft_profile_vector profiles;
	struct otlp_draft_sample_vector samples;
	struct otlp_time_vector times;
	struct otlp_time_vector values;
	/** Times of samples of a weight, which are no further samples. */
	size_t weight_count;
	/** Upper bound of the bytes of everything but the dictionary and the references to it. */
	size_t bytes;
};

void otlp_draft_init(struct otlp_draft *draft, struct otlp_dictionary *dictionary,
		     const struct otlp_attributes *attributes, const struct otlp_window *window,
		     const struct otlp_options *options);
void otlp_draft_deinit(struct otlp_draft *draft);

/**
 * Adds @sample and returns how many of its times were added: all; or, if the draft was empty, as
 * many as fit, but at least one; or 0, which leaves the draft unchanged. Samples of one resource
 * must be added one after the other. Also 0 after an error.
 */
size_t otlp_draft_add(struct otlp_draft *draft, uint32_t resource,
		      const struct otlp_draft_sample *sample);

/** Encodes the request and empties the draft. -ENOMEM; the draft is emptied in that case too. */
int otlp_draft_finish(struct otlp_draft *draft, struct otlp_request *request);

#endif
