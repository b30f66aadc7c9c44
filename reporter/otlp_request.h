/* SPDX-License-Identifier: Apache-2.0 */
/**
 * One OTLP request in the making: it is filled sample by sample while it stays below its limit, by
 * an upper bound of its bytes that is kept all the while, and then encoded.
 */
#ifndef REPORTER_OTLP_REQUEST_H
#define REPORTER_OTLP_REQUEST_H

#include "lib/base/clock.h"
#include "lib/model/origins.h"
#include "reporter/otlp_attributes.h"
#include "reporter/otlp_dictionary.h"
#include "reporter/otlp_profile.h"

/** ns since 1970, cut to the millisecond: what is finer costs a quarter of the compressed bytes. */
static inline uint64_t otlp_realtime(const struct otlp_window *window, uint64_t monotonic_ns)
{
	uint64_t realtime_ns = monotonic_ns + (uint64_t)window->realtime_offset_ns;

	return realtime_ns - realtime_ns % NS_PER_MS;
}

VECTOR_DEFINE(otlp_time_vector, uint64_t)

/** Ids are the dictionary's. */
struct otlp_draft_sample {
	uint32_t stack;
	/** enum origin. */
	uint32_t origin;
	uint32_t attribute_count;
	/** Borrowed. */
	const uint32_t *attributes;
	/** ns since 1970, ascending; in the draft the index of the first in times. */
	const uint64_t *times;
	size_t first_time;
	/** One for each time, NULL if the origin has none; in the draft the index of the first in values. */
	const uint64_t *values;
	size_t first_value;
	size_t time_count;
};

VECTOR_DEFINE(otlp_draft_sample_vector, struct otlp_draft_sample)

/** The profile of one resource and origin; its samples are next to each other. */
struct otlp_draft_profile {
	uint32_t resource;
	uint32_t origin;
	size_t first_sample;
	size_t sample_count;
	uint64_t start;
	uint64_t end;
};

VECTOR_DEFINE(otlp_draft_profile_vector, struct otlp_draft_profile)

/** Ids of the texts of an origin (struct sample_origin). */
struct otlp_draft_types {
	uint32_t type;
	uint32_t unit;
	uint32_t period_type;
	uint32_t period_unit;
};

/** Owner: the thread that builds. */
struct otlp_draft {
	/** Borrowed; failures are kept in the dictionary. */
	struct otlp_dictionary *dictionary;
	const struct otlp_attributes *attributes;
	const struct otlp_options *options;
	const char *agent_version;
	/** ns since 1970: at least this is in the bounds of every profile. */
	uint64_t window_start;
	uint64_t window_end;
	struct otlp_draft_types types[ORIGIN_COUNT];
	struct otlp_draft_profile_vector profiles;
	struct otlp_draft_sample_vector samples;
	struct otlp_time_vector times;
	struct otlp_time_vector values;
	/** Of all but the dictionary and what refers to it, at most. */
	size_t bytes;
};

void otlp_draft_init(struct otlp_draft *draft, struct otlp_dictionary *dictionary,
		     const struct otlp_attributes *attributes, const struct otlp_window *window,
		     const struct otlp_options *options);
void otlp_draft_deinit(struct otlp_draft *draft);

/**
 * Adds @sample, and returns how many of its times the draft has taken: all; or, if the draft was
 * empty, as many as fit, and one in any case; or 0, and then the draft is what it was. Samples of
 * one resource come one after the other. 0 after a failure as well.
 */
size_t otlp_draft_add(struct otlp_draft *draft, uint32_t resource,
		      const struct otlp_draft_sample *sample);

/** Encodes the request and empties the draft. -ENOMEM; the draft is empty all the same. */
int otlp_draft_finish(struct otlp_draft *draft, struct otlp_request *request);

#endif
