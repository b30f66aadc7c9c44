/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Costs as time series for a database: one series for each of the greatest consumers, and one for all others together. The number of
 * series is bounded, and no value ever falls:
 *
 * - A cost is added to the series of its consumer if that is shown at that moment, else to `others`. It is never moved.
 * - A consumer that is no longer shown ends its series. If it is shown again, the series goes on with the value that it had. The values
 *   of the last COST_SERIES_KNOWN series are kept for that; an older one begins again from 0, with a new start.
 *
 * So the growth of all series together is the growth of all costs, in any time. A consumer has a key, which is never used again, and
 * labels, which may be. Not thread-safe.
 */
#ifndef REPORTER_COST_SERIES_H
#define REPORTER_COST_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/hash_map.h"
#include "lib/base/vector.h"
#include "reporter/cost_table.h"

enum {
	/** Series that are shown at a time, without `others`. */
	COST_SERIES_SHOWN = 50,
	COST_SERIES_KNOWN = 200,
	/** Series that begin at once; from then on one more each round. So a database gets no more than that, whatever comes and goes. */
	COST_SERIES_BEGIN_MAX = 100,
	COST_LABELS = 4,
	COST_SERIES_KEY_BYTES = 16,
	/** A label is cut to so many bytes. */
	COST_LABEL_BYTES = 256,
	/** Rounds of cost_series_choose() for which a consumer that has ended is still shown, so that its last values are read. */
	COST_SERIES_ENDED_ROUNDS = 60,
};

struct cost_series_key {
	uint8_t bytes[COST_SERIES_KEY_BYTES];
};

struct cost_series {
	struct cost_series_key key;
	/** "" for labels that there are not. */
	char labels[COST_LABELS][COST_LABEL_BYTES];
	struct costs_sum values;
	/** When it began, ns since 1970. */
	uint64_t start_ns;
	bool is_shown;
	/** The round in which it was shown last. */
	uint64_t round;
	/** The rounds since its consumer has ended. */
	uint32_t ended_rounds;
};

/** A consumer that may be shown. */
struct cost_candidate {
	struct cost_series_key key;
	/** Its cost of the last rounds. */
	uint64_t score;
	/** It has ended: it may stay, but does not become shown. */
	bool has_ended;
	/** It came just now, and must last a round before it is shown: short-lived ones make no series. */
	bool is_new;
	/** The caller's, for `describe`. */
	size_t index;
};

VECTOR_DEFINE(cost_series_vector, struct cost_series)
VECTOR_DEFINE(cost_candidate_vector, struct cost_candidate)

struct cost_series_set {
	struct cost_series_vector series;
	/** Indexes of the series that are shown, by key. */
	struct hash_map shown;
	struct costs_sum others;
	uint64_t round;
	/** Series that began lately, less one for each round. */
	uint32_t begun_count;
};

/** All bytes zero is an empty set. */
void cost_series_set_deinit(struct cost_series_set *set);

/** Adds costs of a consumer. @key may be NULL, for one that is never shown. */
void cost_series_add(struct cost_series_set *set, const struct cost_series_key *key,
		     const struct costs_sum *costs);

/** Whether the consumer is shown. */
bool cost_series_is_shown(const struct cost_series_set *set, const struct cost_series_key *key);

/** Writes the labels of a candidate, COST_LABEL_BYTES each with the NUL. */
typedef void (*cost_describe_fn)(void *context, const struct cost_candidate *candidate,
				 char labels[COST_LABELS][COST_LABEL_BYTES]);

/**
 * Ends a round: shows the @count candidates with the greatest scores, as far as new series may begin. The score of one that is
 * shown already counts twice. A series ends if its consumer is no candidate. Sorts @candidates. @now_ns: since 1970. -ENOMEM, and
 * then fewer are shown.
 */
int cost_series_choose(struct cost_series_set *set, struct cost_candidate *candidates, size_t count,
		       cost_describe_fn describe, void *context, uint64_t now_ns);

#endif
