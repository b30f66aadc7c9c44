/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/sequence_counts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void add(struct sequence_counts *counts, uint32_t length, uint32_t step, uint64_t count)
{
	struct number_vector sequence = { 0 };

	for (uint32_t i = 0; i < length; i++)
		assert_int_equal(number_vector_push(&sequence, i * step), 0);
	assert_int_equal(sequence_counts_add(counts, &sequence, count, 10 * count), 0);
	number_vector_deinit(&sequence);
}

static void equal_sequences_share_a_count(void **state)
{
	struct sequence_counts counts = { 0 };

	(void)state;
	add(&counts, 3, 1, 5);
	add(&counts, 3, 2, 7);
	add(&counts, 4, 1, 1);
	add(&counts, 3, 1, 2);
	assert_int_equal(counts.sequences.count, 3);
	assert_int_equal(counts.sequences.items[0].count, 7);
	assert_int_equal(counts.sequences.items[0].value, 70);
	assert_int_equal(counts.sequences.items[1].count, 7);
	assert_int_equal(counts.sequences.items[2].count, 1);
	assert_int_equal(counts.sequences.items[2].length, 4);
	assert_int_equal(counts.numbers.items[counts.sequences.items[1].first + 2], 4);
	sequence_counts_deinit(&counts);
}

static void many_sequences_keep_their_numbers(void **state)
{
	struct sequence_counts counts = { 0 };

	(void)state;
	for (uint32_t step = 0; step < 500; step++)
		add(&counts, 10, step, step);
	assert_int_equal(counts.sequences.count, 500);
	for (uint32_t step = 0; step < 500; step++) {
		const struct counted_sequence *sequence = &counts.sequences.items[step];

		assert_int_equal(sequence->count, step);
		assert_int_equal(counts.numbers.items[sequence->first + 9], 9 * step);
	}
	sequence_counts_deinit(&counts);
}

static void a_sequence_has_one_index(void **state)
{
	uint32_t numbers[] = { 7, 8 };
	struct number_vector sequence = { .items = numbers, .count = 2, .capacity = 2 };
	struct sequence_counts counts = { 0 };
	size_t index;

	(void)state;
	add(&counts, 3, 1, 5);
	assert_int_equal(sequence_counts_index(&counts, &sequence, &index), 0);
	assert_int_equal(index, 1);
	sequence.count = 1;
	assert_int_equal(sequence_counts_index(&counts, &sequence, &index), 0);
	assert_int_equal(index, 2);
	sequence.count = 2;
	assert_int_equal(sequence_counts_index(&counts, &sequence, &index), 0);
	assert_int_equal(index, 1);
	assert_int_equal(counts.sequences.items[1].count, 0);
	assert_int_equal(counts.sequences.items[1].length, 2);
	sequence_counts_deinit(&counts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_sequences_share_a_count),
		cmocka_unit_test(many_sequences_keep_their_numbers),
		cmocka_unit_test(a_sequence_has_one_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
