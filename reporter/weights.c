/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/weights.h"

#include <string.h>

#define X(NAME, name, unit, source, count)                                                         \
	static uint64_t count_##NAME(const struct costs_sum *sum)                                  \
	{                                                                                          \
		return count;                                                                      \
	}
SAMPLE_WEIGHTS(X)
#undef X

static const struct weight {
	const char *name;
	uint32_t source;
	uint64_t (*count)(const struct costs_sum *sum);
} weights[] = {
#define X(NAME, name, unit, source, count) { name, source, count_##NAME },
	SAMPLE_WEIGHTS(X)
#undef X
};

enum {
	WEIGHT_COUNT = sizeof(weights) / sizeof(weights[0]),
};

bool weight_find(const char *name, uint8_t *weight)
{
	for (size_t i = 0; i < WEIGHT_COUNT; i++) {
		if (strcmp(weights[i].name, name))
			continue;
		*weight = (uint8_t)(ORIGIN_COUNT + i);
		return true;
	}
	return false;
}

void weights_append_names(struct text_builder *text)
{
	for (size_t i = 0; i < WEIGHT_COUNT; i++)
		text_builder_format(text, "%s%s",
				    !i			  ? "" :
				    i + 1 == WEIGHT_COUNT ? " or " :
							    ", ",
				    weights[i].name);
}

uint32_t weight_source(uint8_t weight)
{
	return weights[weight - ORIGIN_COUNT].source;
}

bool weight_is_counted(uint8_t weight, uint32_t sources)
{
	uint32_t source = weight_source(weight);

	return !source || sources & source;
}

uint64_t weight_count(uint8_t weight, const struct costs_sum *sum)
{
	return weights[weight - ORIGIN_COUNT].count(sum);
}
