/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/cost_series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void cost_series_set_deinit(struct cost_series_set *set)
{
	cost_series_vector_deinit(&set->series);
	hash_map_deinit(&set->shown);
}

static struct cost_series *find_shown(const struct cost_series_set *set,
				      const struct cost_series_key *key)
{
	uint64_t index;

	return hash_map_find_bytes(&set->shown, key, sizeof(*key), &index) ?
		       &set->series.items[index] :
		       NULL;
}

void cost_series_add(struct cost_series_set *set, const struct cost_series_key *key,
		     const struct costs_sum *costs)
{
	struct cost_series *series = key ? find_shown(set, key) : NULL;

	costs_sum_add(series ? &series->values : &set->others, costs);
}

bool cost_series_is_shown(const struct cost_series_set *set, const struct cost_series_key *key)
{
	return find_shown(set, key);
}

static void hide(struct cost_series_set *set, struct cost_series *series)
{
	if (!series->is_shown)
		return;
	series->is_shown = false;
	hash_map_remove_bytes(&set->shown, &series->key, sizeof(series->key), NULL);
}

static struct cost_series *find_labels(struct cost_series_set *set,
				       char labels[COST_LABELS][COST_LABEL_BYTES])
{
	for (size_t i = 0; i < set->series.count; i++) {
		struct cost_series *series = &set->series.items[i];
		int label = 0;

		while (label < COST_LABELS && !strcmp(series->labels[label], labels[label]))
			label++;
		if (label == COST_LABELS)
			return series;
	}
	return NULL;
}

/* A new series, or the one that was hidden first. */
static struct cost_series *make_room(struct cost_series_set *set)
{
	struct cost_series *oldest = NULL;

	if (set->series.count < COST_SERIES_KNOWN)
		return cost_series_vector_push(&set->series, (struct cost_series){ 0 }) ?
			       NULL :
			       &set->series.items[set->series.count - 1];
	for (size_t i = 0; i < set->series.count; i++) {
		struct cost_series *series = &set->series.items[i];

		if (!series->is_shown && (!oldest || series->round < oldest->round))
			oldest = series;
	}
	return oldest;
}

static int show(struct cost_series_set *set, const struct cost_candidate *candidate,
		char labels[COST_LABELS][COST_LABEL_BYTES], uint64_t now_ns)
{
	struct cost_series *series = find_labels(set, labels);

	if (!series) {
		if (set->begun_count >= COST_SERIES_BEGIN_MAX)
			return 0;
		series = make_room(set);
		if (!series)
			return -ENOMEM;
		*series = (struct cost_series){ .start_ns = now_ns };
		memcpy(series->labels, labels, sizeof(series->labels));
		set->begun_count++;
	}
	/* Its consumer has ended, and its labels are used again. */
	hide(set, series);
	series->key = candidate->key;
	series->ended_rounds = 0;
	series->round = set->round;
	if (hash_map_set_bytes(&set->shown, &series->key, sizeof(series->key),
			       (uint64_t)(series - set->series.items)))
		return -ENOMEM;
	series->is_shown = true;
	return 0;
}

/* The greatest score first; those that cannot be shown come last, with the score 0. */
static int compare_candidates(const void *a, const void *b)
{
	const struct cost_candidate *left = a, *right = b;

	if (left->score != right->score)
		return left->score < right->score ? 1 : -1;
	return memcmp(&left->key, &right->key, sizeof(left->key));
}

static void weigh(const struct cost_series_set *set, struct cost_candidate *candidate)
{
	struct cost_series *series = find_shown(set, &candidate->key);

	/* A consumer at the limit does not come and go. One that has ended leaves if there is no room, or after a while. */
	if (series && !candidate->has_ended)
		candidate->score = candidate->score * 2 + 1;
	else if (series && ++series->ended_rounds <= COST_SERIES_ENDED_ROUNDS)
		candidate->score = 1;
	else if (candidate->has_ended || candidate->is_new)
		candidate->score = 0;
	if (series)
		series->round = set->round;
}

/* Hides all that are shown and no candidates. */
static void hide_gone(struct cost_series_set *set)
{
	for (size_t i = 0; i < set->series.count; i++)
		if (set->series.items[i].round < set->round)
			hide(set, &set->series.items[i]);
}

/* A shown series of which the labels have changed goes on as another one. */
static int show_candidate(struct cost_series_set *set, const struct cost_candidate *candidate,
			  cost_describe_fn describe, void *context, uint64_t now_ns)
{
	struct cost_series *series = find_shown(set, &candidate->key);
	char labels[COST_LABELS][COST_LABEL_BYTES] = { 0 };

	if (candidate->has_ended)
		return 0;
	describe(context, candidate, labels);
	if (series && !memcmp(series->labels, labels, sizeof(labels)))
		return 0;
	if (series)
		hide(set, series);
	return show(set, candidate, labels, now_ns);
}

int cost_series_choose(struct cost_series_set *set, struct cost_candidate *candidates, size_t count,
		       cost_describe_fn describe, void *context, uint64_t now_ns)
{
	int result = 0;

	set->round++;
	set->begun_count -= set->begun_count > 0;
	for (size_t i = 0; i < count; i++)
		weigh(set, &candidates[i]);
	if (count)
		qsort(candidates, count, sizeof(*candidates), compare_candidates);
	for (size_t i = 0; i < count; i++) {
		struct cost_series *series = find_shown(set, &candidates[i].key);

		if (series && (i >= COST_SERIES_SHOWN || !candidates[i].score))
			hide(set, series);
	}
	hide_gone(set);
	for (size_t i = 0; i < count && i < COST_SERIES_SHOWN && candidates[i].score; i++) {
		int err = show_candidate(set, &candidates[i], describe, context, now_ns);

		result = result ? result : err;
	}
	return result;
}
