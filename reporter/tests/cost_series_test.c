/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/cost_series.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/clock.h"

/* The label of consumer N is N, unless the test has another one. */
static const char *label_of_all;
static uint64_t now_ns = 1000;

static struct cost_series_key key_of(uint32_t number)
{
	struct cost_series_key key = { { 0 } };

	memcpy(&key, &number, sizeof(number));
	return key;
}

static void describe(void *context, const struct cost_candidate *candidate,
		     char labels[COST_LABELS][COST_LABEL_BYTES])
{
	(void)context;
	if (label_of_all)
		snprintf(labels[0], COST_LABEL_BYTES, "%s", label_of_all);
	else
		snprintf(labels[0], COST_LABEL_BYTES, "%zu", candidate->index);
}

static void use(struct cost_series_set *set, uint32_t number, uint64_t ms)
{
	const struct cost_series_key key = key_of(number);
	const struct costs_sum costs = { .run_time_ns = ms * NS_PER_MS };

	cost_series_add(set, &key, &costs);
}

static struct cost_candidate candidate(uint32_t number, uint64_t score)
{
	return (struct cost_candidate){ .key = key_of(number), .score = score, .index = number };
}

static void choose(struct cost_series_set *set, struct cost_candidate *candidates, size_t count)
{
	assert_int_equal(cost_series_choose(set, candidates, count, describe, NULL, ++now_ns), 0);
	assert_true(set->shown.count <= COST_SERIES_SHOWN);
	assert_true(set->series.count <= COST_SERIES_KNOWN);
}

static const struct cost_series *find(const struct cost_series_set *set, const char *label)
{
	for (size_t i = 0; i < set->series.count; i++)
		if (!strcmp(set->series.items[i].labels[0], label))
			return &set->series.items[i];
	return NULL;
}

static uint64_t ms_of(const struct cost_series_set *set, const char *label)
{
	const struct cost_series *series = find(set, label);

	return series && series->is_shown ? series->values.run_time_ns / NS_PER_MS : UINT64_MAX;
}

static void costs_count_where_their_consumer_is_shown(void **state)
{
	struct cost_series_set set = { 0 };

	(void)state;
	use(&set, 1, 10);
	choose(&set, (struct cost_candidate[]){ candidate(1, 5) }, 1);
	assert_int_equal(ms_of(&set, "1"), 0);
	use(&set, 1, 3);
	use(&set, 2, 4);
	assert_int_equal(ms_of(&set, "1"), 3);
	assert_int_equal(set.others.run_time_ns, 14 * NS_PER_MS);
	/* It leaves, costs more, and comes back: neither series falls. */
	choose(&set, NULL, 0);
	assert_true(ms_of(&set, "1") == UINT64_MAX);
	use(&set, 1, 100);
	assert_int_equal(set.others.run_time_ns, 114 * NS_PER_MS);
	choose(&set, (struct cost_candidate[]){ candidate(1, 5) }, 1);
	assert_int_equal(ms_of(&set, "1"), 3);
	use(&set, 1, 1);
	assert_int_equal(ms_of(&set, "1"), 4);
	assert_int_equal(set.others.run_time_ns, 114 * NS_PER_MS);
	cost_series_set_deinit(&set);
}

static void the_greatest_are_shown_and_stay_at_the_limit(void **state)
{
	struct cost_candidate candidates[COST_SERIES_SHOWN + 10];
	struct cost_series_set set = { 0 };

	(void)state;
	for (uint32_t i = 0; i < COST_SERIES_SHOWN + 10; i++)
		candidates[i] = candidate(i, 100 + i);
	choose(&set, candidates, COST_SERIES_SHOWN + 10);
	assert_int_equal(set.shown.count, COST_SERIES_SHOWN);
	assert_null(find(&set, "9"));
	assert_non_null(find(&set, "10"));
	/* Another one that is a little greater does not take the slot of one that is shown, a much greater one does. */
	for (uint32_t i = 0; i < COST_SERIES_SHOWN + 10; i++)
		candidates[i] = candidate(i, i < 10 ? 150 : 100);
	candidates[3].score = 500;
	choose(&set, candidates, COST_SERIES_SHOWN + 10);
	assert_int_equal(set.shown.count, COST_SERIES_SHOWN);
	assert_true(ms_of(&set, "3") == 0);
	assert_null(find(&set, "4"));
	cost_series_set_deinit(&set);
}

static void new_and_ended_ones_do_not_become_shown(void **state)
{
	struct cost_series_set set = { 0 };
	struct cost_candidate new = candidate(1, 100), ended = candidate(2, 100);

	(void)state;
	new.is_new = true;
	ended.has_ended = true;
	choose(&set, (struct cost_candidate[]){ new, ended, candidate(3, 0) }, 3);
	assert_int_equal(set.shown.count, 0);
	cost_series_set_deinit(&set);
}

static void an_ended_one_stays_until_its_values_are_read(void **state)
{
	struct cost_candidate ended = candidate(1, 0), candidates[COST_SERIES_SHOWN + 1];
	struct cost_series_set set = { 0 };

	(void)state;
	choose(&set, (struct cost_candidate[]){ candidate(1, 100) }, 1);
	use(&set, 1, 5);
	ended.has_ended = true;
	for (int i = 0; i < COST_SERIES_ENDED_ROUNDS; i++) {
		choose(&set, (struct cost_candidate[]){ ended }, 1);
		assert_int_equal(ms_of(&set, "1"), 5);
	}
	choose(&set, (struct cost_candidate[]){ ended }, 1);
	assert_int_equal(set.shown.count, 0);
	/* It leaves sooner where its slot is needed. */
	choose(&set, (struct cost_candidate[]){ candidate(2, 100) }, 1);
	candidates[COST_SERIES_SHOWN] = candidate(2, 100);
	candidates[COST_SERIES_SHOWN].has_ended = true;
	for (uint32_t i = 0; i < COST_SERIES_SHOWN; i++)
		candidates[i] = candidate(10 + i, 10);
	choose(&set, candidates, COST_SERIES_SHOWN + 1);
	assert_int_equal(set.shown.count, COST_SERIES_SHOWN);
	assert_true(ms_of(&set, "2") == UINT64_MAX);
	cost_series_set_deinit(&set);
}

static void labels_that_come_again_go_on(void **state)
{
	struct cost_series_set set = { 0 };
	struct cost_candidate ended = candidate(1, 0);

	(void)state;
	label_of_all = "same";
	choose(&set, (struct cost_candidate[]){ candidate(1, 100) }, 1);
	use(&set, 1, 5);
	/* A pid is used again while the ended process is still shown. */
	ended.has_ended = true;
	choose(&set, (struct cost_candidate[]){ ended, candidate(2, 100) }, 2);
	assert_int_equal(set.shown.count, 1);
	use(&set, 2, 1);
	use(&set, 1, 1);
	assert_int_equal(ms_of(&set, "same"), 6);
	assert_int_equal(set.others.run_time_ns, 1 * NS_PER_MS);
	/* A process that gets another name is another series. */
	label_of_all = "renamed";
	choose(&set, (struct cost_candidate[]){ candidate(2, 100) }, 1);
	use(&set, 2, 1);
	assert_int_equal(ms_of(&set, "renamed"), 1);
	assert_true(ms_of(&set, "same") == UINT64_MAX);
	label_of_all = NULL;
	cost_series_set_deinit(&set);
}

static void no_more_series_begin_than_a_database_bears(void **state)
{
	enum { ROUNDS = 500 };
	struct cost_series_set set = { 0 };
	size_t begun = 0;

	(void)state;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct cost_candidate candidates[COST_SERIES_SHOWN];

		for (uint32_t i = 0; i < COST_SERIES_SHOWN; i++)
			candidates[i] = candidate(round * COST_SERIES_SHOWN + i, 100);
		choose(&set, candidates, COST_SERIES_SHOWN);
		for (size_t i = 0; i < set.series.count; i++)
			begun += set.series.items[i].start_ns == now_ns;
		use(&set, round * COST_SERIES_SHOWN, 1);
	}
	assert_int_equal(begun, COST_SERIES_BEGIN_MAX + ROUNDS - 1);
	/* The others count where no series may begin. */
	assert_true(set.others.run_time_ns > 0);
	cost_series_set_deinit(&set);
}

/* Consumers come and go at random; every round each value is compared with the one before. */
static void no_series_ever_falls_and_nothing_is_lost(void **state)
{
	enum { CONSUMERS = 400, ROUNDS = 600 };
	struct last {
		uint64_t start_ns;
		uint64_t run_time_ns;
	} last[CONSUMERS] = { 0 };
	static struct cost_candidate candidates[CONSUMERS];
	struct cost_series_set set = { 0 };
	uint64_t others_ns = 0, used_ms = 0, grown_ns = 0;
	uint32_t random = 1, restarts = 0;

	(void)state;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < CONSUMERS; i++) {
			random = random * 1664525 + 1013904223;
			candidates[i] = candidate(i, random >> 20);
			candidates[i].has_ended = !(random >> 8 & 15);
			candidates[i].is_new = !(random >> 12 & 15);
			use(&set, i, random >> 24);
			used_ms += random >> 24;
		}
		for (size_t i = 0; i < set.series.count; i++) {
			const struct cost_series *series = &set.series.items[i];
			struct last *before = &last[atoi(series->labels[0])];

			if (!series->is_shown)
				continue;
			if (before->start_ns != series->start_ns) {
				restarts += before->start_ns != 0;
				*before = (struct last){ .start_ns = series->start_ns };
			}
			assert_true(series->values.run_time_ns >= before->run_time_ns);
			grown_ns += series->values.run_time_ns - before->run_time_ns;
			before->run_time_ns = series->values.run_time_ns;
		}
		assert_true(set.others.run_time_ns >= others_ns);
		others_ns = set.others.run_time_ns;
		assert_int_equal(grown_ns + others_ns, used_ms * NS_PER_MS);
		choose(&set, candidates, CONSUMERS);
	}
	/* More consumers than known series: some have begun again, with a new start. */
	assert_true(restarts > 0);
	cost_series_set_deinit(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(costs_count_where_their_consumer_is_shown),
		cmocka_unit_test(the_greatest_are_shown_and_stay_at_the_limit),
		cmocka_unit_test(new_and_ended_ones_do_not_become_shown),
		cmocka_unit_test(an_ended_one_stays_until_its_values_are_read),
		cmocka_unit_test(labels_that_come_again_go_on),
		cmocka_unit_test(no_more_series_begin_than_a_database_bears),
		cmocka_unit_test(no_series_ever_falls_and_nothing_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
