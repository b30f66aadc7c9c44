/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The difference of two opened profiles, function by function. Samples and times are compared as shares of all, since two
 * runs are never equally long; other values, such as bytes, are compared as they are. Not thread-safe.
 */
#ifndef VIEWER_OPEN_PROFILE_DIFFERENCE_H
#define VIEWER_OPEN_PROFILE_DIFFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/hash_map.h"
#include "lib/base/vector.h"
#include "viewer/open/opened_samples.h"

/** One of the two profiles. */
enum difference_side {
	DIFFERENCE_BEFORE,
	DIFFERENCE_AFTER,
	DIFFERENCE_SIDES,
};

/** A sum of values, and the number of samples in it; 0 if the profile does not have that. */
struct difference_sum {
	int64_t value;
	uint64_t samples;
};

struct function_difference {
	/** As in folded stacks, but inlined calls are not distinguished. Owned. */
	char *name;
	/** Samples in which the function is innermost, and in which it is at all. */
	struct difference_sum self[DIFFERENCE_SIDES];
	struct difference_sum total[DIFFERENCE_SIDES];
};

VECTOR_DEFINE(function_difference_vector, struct function_difference)

struct profile_difference {
	/** The greatest change of self first. */
	struct function_difference_vector functions;
	struct difference_sum all[DIFFERENCE_SIDES];
	/** The compared type, borrowed from the profile before. */
	const struct value_type *type;
	/** Values are compared as shares. */
	bool has_shares;
	/** Both profiles have numbers of samples, so that the significance is known. */
	bool has_samples;
	struct hash_map indexes;
};

/**
 * Compares the type that @before shows first; @after must have it. The samples are borrowed for the call. -EBADMSG with a
 * text for users, -ENOMEM.
 */
int profile_difference_init(struct profile_difference *difference,
			    const struct opened_samples *before,
			    const struct opened_samples *after);
void profile_difference_deinit(struct profile_difference *difference);

/**
 * The change of a sum from before to after: of its share of all, or, if values are not compared as shares, of the value
 * relative to all before. 0.05 is 5 %.
 */
double profile_difference_change(const struct profile_difference *difference,
				 const struct difference_sum sums[DIFFERENCE_SIDES]);

/** The change in standard deviations (lib/base/significance.h); 0 without numbers of samples. */
double profile_difference_z(const struct profile_difference *difference,
			    const struct difference_sum sums[DIFFERENCE_SIDES]);

#endif
