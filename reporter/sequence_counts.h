/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Counts per sequence of numbers: stacks whose frames have been given numbers. All sequences lie in
 * one array. All bytes zero is an empty table. Not thread-safe; the input bounds its size.
 */
#ifndef REPORTER_SEQUENCE_COUNTS_H
#define REPORTER_SEQUENCE_COUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/hash_map.h"
#include "lib/base/vector.h"

/** A sequence: @length numbers from item @first of the table's numbers. */
struct counted_sequence {
	uint64_t count;
	/** The sum of the values of what was counted. */
	uint64_t value;
	size_t first;
	size_t length;
};

VECTOR_DEFINE(number_vector, uint32_t)
VECTOR_DEFINE(sequence_vector, struct counted_sequence)

struct sequence_counts {
	struct number_vector numbers;
	struct sequence_vector sequences;
	struct hash_map indexes;
};

void sequence_counts_deinit(struct sequence_counts *counts);

/** Adds @count and @value to the sequence with the numbers of @sequence, which is copied. -ENOMEM. */
int sequence_counts_add(struct sequence_counts *counts, const struct number_vector *sequence,
			uint64_t count, uint64_t value);

/** The item of sequences that @sequence has; a new one, with a count of 0, if need be. -ENOMEM. */
int sequence_counts_place(struct sequence_counts *counts, const struct number_vector *sequence,
			  size_t *place);

#endif
