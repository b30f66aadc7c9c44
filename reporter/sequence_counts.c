/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash map from a hash of the sequence to its index in the list. Keys of the numbers themselves
 * would double the memory. The hash is long enough that no two sequences share one, and half of it
 * is seeded, so that nobody can forge two that do.
 */

#include "reporter/sequence_counts.h"

#include <string.h>

#include "lib/base/hash128.h"

struct sequence_key {
	struct hash128 hash;
	uint64_t seeded_hash;
};

static struct sequence_key key_of(const struct number_vector *sequence)
{
	size_t bytes = sequence->count * sizeof(*sequence->items);

	return (struct sequence_key){
		.hash = hash128_bytes(sequence->items, bytes),
		.seeded_hash = hash64_bytes(sequence->items, bytes),
	};
}

void sequence_counts_deinit(struct sequence_counts *counts)
{
	number_vector_deinit(&counts->numbers);
	sequence_vector_deinit(&counts->sequences);
	hash_map_deinit(&counts->indexes);
}

static int add_new(struct sequence_counts *counts, const struct number_vector *sequence,
		   const struct sequence_key *key)
{
	struct counted_sequence counted = {
		.first = counts->numbers.count,
		.length = sequence->count,
	};
	size_t bytes = sequence->count * sizeof(*sequence->items);
	int err;

	err = number_vector_reserve(&counts->numbers, counts->numbers.count + sequence->count);
	if (!err)
		err = sequence_vector_reserve(&counts->sequences, counts->sequences.count + 1);
	if (!err)
		err = hash_map_set_bytes(&counts->indexes, key, sizeof(*key),
					 counts->sequences.count);
	if (err)
		return err;
	if (bytes)
		memcpy(counts->numbers.items + counts->numbers.count, sequence->items, bytes);
	counts->numbers.count += sequence->count;
	return sequence_vector_push(&counts->sequences, counted);
}

int sequence_counts_index(struct sequence_counts *counts, const struct number_vector *sequence,
			  size_t *index)
{
	struct sequence_key key = key_of(sequence);
	uint64_t found;
	int err;

	if (!hash_map_find_bytes(&counts->indexes, &key, sizeof(key), &found)) {
		found = counts->sequences.count;
		err = add_new(counts, sequence, &key);
		if (err)
			return err;
	}
	*index = found;
	return 0;
}

int sequence_counts_add(struct sequence_counts *counts, const struct number_vector *sequence,
			uint64_t count, uint64_t value)
{
	size_t index;
	int err = sequence_counts_index(counts, sequence, &index);

	if (err)
		return err;
	counts->sequences.items[index].count += count;
	counts->sequences.items[index].value += value;
	return 0;
}
