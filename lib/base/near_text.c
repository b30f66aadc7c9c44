/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/near_text.h"

#include <string.h>

enum {
	/* Longer names are like none. */
	TEXT_MAX_BYTES = 48,
	/* Of so many characters one may be wrong. */
	CHARACTERS_PER_ERROR = 4,
	ERRORS_MAX = 3,
	/* Characters of an abbreviation that stands for a name, and of one with errors. */
	ABBREVIATION_MIN = 3,
	/* In a text of so few characters one may be wrong, too, if it abbreviates nothing. */
	SHORT_CHARACTERS = 3,
	MISSPELT_ABBREVIATION_MIN = 5,
	/* Ranks of names with errors are the numbers of these. */
	RANK_ABBREVIATION = ERRORS_MAX + 1,
	RANK_MISSPELT_ABBREVIATION,
	RANK_NONE = RANK_MISSPELT_ABBREVIATION + ERRORS_MAX + 1,
};

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* How many characters must be added, removed, replaced or swapped with their neighbour to make @b of @a. */
static uint32_t count_errors(const char *a, size_t a_length, const char *b, size_t b_length)
{
	uint32_t rows[3][TEXT_MAX_BYTES + 1];
	uint32_t *before_last = rows[0], *last = rows[1], *row = rows[2];

	for (size_t j = 0; j <= b_length; j++)
		row[j] = (uint32_t)j;
	for (size_t i = 1; i <= a_length; i++) {
		uint32_t *oldest = before_last;

		before_last = last;
		last = row;
		row = oldest;
		row[0] = (uint32_t)i;
		for (size_t j = 1; j <= b_length; j++) {
			uint32_t replaced = last[j - 1] + (a[i - 1] != b[j - 1]);

			row[j] = least(replaced, least(last[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], before_last[j - 2] + 1);
		}
	}
	return row[b_length];
}

static uint32_t rank_of(const struct near_text *near, const char *candidate)
{
	size_t length = near->length, candidate_length = strlen(candidate);
	uint32_t most = least((uint32_t)length / CHARACTERS_PER_ERROR, ERRORS_MAX), errors;

	if (length > TEXT_MAX_BYTES || candidate_length > TEXT_MAX_BYTES)
		return RANK_NONE;
	errors = count_errors(near->text, length, candidate, candidate_length);
	if (errors <= most)
		return errors;
	if (length < ABBREVIATION_MIN)
		return RANK_NONE;
	if (candidate_length >= length && !memcmp(candidate, near->text, length))
		return RANK_ABBREVIATION;
	if (length == SHORT_CHARACTERS && errors == 1)
		return RANK_MISSPELT_ABBREVIATION + errors;
	if (length < MISSPELT_ABBREVIATION_MIN || candidate_length < length)
		return RANK_NONE;
	errors = count_errors(near->text, length, candidate, length);
	return errors <= most ? RANK_MISSPELT_ABBREVIATION + errors : RANK_NONE;
}

void near_text_init(struct near_text *near, const char *text, size_t length)
{
	*near = (struct near_text){ .text = text, .length = length, .rank = RANK_NONE };
}

bool near_text_improves(struct near_text *near, const char *candidate)
{
	uint32_t rank = rank_of(near, candidate);

	if (rank >= near->rank)
		return false;
	near->rank = rank;
	return true;
}
