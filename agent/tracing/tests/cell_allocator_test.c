/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tracing/cell_allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum {
	MODEL_CELLS = 2000,
	MODEL_RUNS = 300,
	MODEL_STEPS = 20000,
};

static uint32_t random_state = 1;

/* xorshift32, so that a failure can be repeated. */
static uint32_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state;
}

static void cell_0_is_never_given_out(void **state)
{
	struct cell_allocator allocator;
	struct cell_run run;

	(void)state;
	assert_int_equal(cell_allocator_init(&allocator, 8), 0);
	assert_int_equal(cell_allocator_take(&allocator, 8, &run), -ENOSPC);
	assert_int_equal(cell_allocator_take(&allocator, 7, &run), 0);
	assert_int_equal(run.first, 1);
	assert_int_equal(cell_allocator_take(&allocator, 1, &run), -ENOSPC);
	cell_allocator_deinit(&allocator);
}

static void a_space_of_one_cell_is_full(void **state)
{
	struct cell_allocator allocator;
	struct cell_run run;

	(void)state;
	assert_int_equal(cell_allocator_init(&allocator, 1), 0);
	assert_int_equal(cell_allocator_take(&allocator, 1, &run), -ENOSPC);
	cell_allocator_deinit(&allocator);
}

static void the_lowest_run_that_fits_is_taken(void **state)
{
	struct cell_allocator allocator;
	struct cell_run a, b, c, d, run;

	(void)state;
	assert_int_equal(cell_allocator_init(&allocator, 101), 0);
	assert_int_equal(cell_allocator_take(&allocator, 10, &a), 0);
	assert_int_equal(cell_allocator_take(&allocator, 20, &b), 0);
	assert_int_equal(cell_allocator_take(&allocator, 5, &c), 0);
	assert_int_equal(cell_allocator_take(&allocator, 30, &d), 0);
	cell_allocator_release(&allocator, a);
	cell_allocator_release(&allocator, c);
	assert_int_equal(cell_allocator_take(&allocator, 5, &run), 0);
	assert_int_equal(run.first, a.first);
	assert_int_equal(cell_allocator_take(&allocator, 6, &run), 0);
	assert_int_equal(run.first, 66);
	cell_allocator_deinit(&allocator);
}

static void released_neighbours_are_joined(void **state)
{
	struct cell_allocator allocator;
	struct cell_run runs[4], run;

	(void)state;
	assert_int_equal(cell_allocator_init(&allocator, 41), 0);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(cell_allocator_take(&allocator, 10, &runs[i]), 0);
	cell_allocator_release(&allocator, runs[0]);
	cell_allocator_release(&allocator, runs[2]);
	assert_int_equal(allocator.free.count, 2);
	cell_allocator_release(&allocator, runs[1]);
	assert_int_equal(allocator.free.count, 1);
	cell_allocator_release(&allocator, runs[3]);
	assert_int_equal(allocator.free.count, 1);
	assert_int_equal(allocator.used_cells, 0);
	assert_int_equal(cell_allocator_take(&allocator, 40, &run), 0);
	cell_allocator_deinit(&allocator);
}

/* First cell of the first free run of @count cells in the model, 0 if there is none. */
static uint32_t model_first_fit(const uint8_t *used, uint32_t count)
{
	uint32_t length = 0;

	for (uint32_t cell = 1; cell < MODEL_CELLS; cell++) {
		length = used[cell] ? 0 : length + 1;
		if (length == count)
			return cell - count + 1;
	}
	return 0;
}

static void random_takes_and_releases_agree_with_a_byte_per_cell(void **state)
{
	static uint8_t used[MODEL_CELLS];
	struct cell_run runs[MODEL_RUNS];
	struct cell_allocator allocator;
	uint32_t run_count = 0, used_count = 0, full_count = 0;

	(void)state;
	memset(used, 0, sizeof(used));
	assert_int_equal(cell_allocator_init(&allocator, MODEL_CELLS), 0);
	for (uint32_t step = 0; step < MODEL_STEPS; step++) {
		/* Phases that fill and phases that empty. */
		bool take = next_random() % 100 < (step / 500 % 2 ? 65u : 40u);

		if (take && run_count < MODEL_RUNS) {
			uint32_t count = 1 + next_random() % (next_random() % 8 ? 12 : 200);
			uint32_t expected = model_first_fit(used, count);
			struct cell_run run = { 0, 0 };
			int err = cell_allocator_take(&allocator, count, &run);

			assert_int_equal(err, expected ? 0 : -ENOSPC);
			if (err) {
				full_count++;
				continue;
			}
			assert_int_equal(run.first, expected);
			assert_int_equal(run.count, count);
			memset(used + run.first, 1, run.count);
			used_count += run.count;
			runs[run_count++] = run;
		} else if (run_count) {
			uint32_t i = next_random() % run_count;

			cell_allocator_release(&allocator, runs[i]);
			memset(used + runs[i].first, 0, runs[i].count);
			used_count -= runs[i].count;
			runs[i] = runs[--run_count];
		}
		assert_int_equal(allocator.used_cells, used_count);
		assert_int_equal(allocator.run_count, run_count);
		assert_true(allocator.free.count <= run_count + 1);
	}
	/* The model is no use if the space was never full. */
	assert_true(full_count > 10);
	while (run_count)
		cell_allocator_release(&allocator, runs[--run_count]);
	assert_int_equal(allocator.free.count, 1);
	assert_int_equal(allocator.free.items[0].count, MODEL_CELLS - 1);
	cell_allocator_deinit(&allocator);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cell_0_is_never_given_out),
		cmocka_unit_test(a_space_of_one_cell_is_full),
		cmocka_unit_test(the_lowest_run_that_fits_is_taken),
		cmocka_unit_test(released_neighbours_are_joined),
		cmocka_unit_test(random_takes_and_releases_agree_with_a_byte_per_cell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
