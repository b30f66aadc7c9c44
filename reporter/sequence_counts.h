/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Counts per sequence of numbers, such as stacks of numbered frames. All sequences are stored in
 * one array. All bytes zero is an empty table. Not thread-safe; the input limits its size.
 */
#ifndef REPORTER_SEQUENCE_COUNTS_H
#define REPORTER_SEQUENCE_COUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/hash_map.h"
#include "lib/base/vector.h"

/** A sequence: @length numbers from index @first of the table's numbers. */
struct counted_sequence {
	uint64_t count;
	/** The sum of the counted values. */
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

/**
 * Adds @count and @value to the sequence with the numbers of @sequence, which is copied. -ENOMEM.
 */
int sequence_counts_add(struct sequence_counts *counts, const struct number_vector *sequence,
			uint64_t count, uint64_t value);

/** The index in sequences of @sequence, which is added with a count of 0 if it is new. -ENOMEM. */
int sequence_counts_index(struct sequence_counts *counts, const struct number_vector *sequence,
			  size_t *index);

#endif
