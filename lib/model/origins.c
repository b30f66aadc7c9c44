/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/model/origins.h"

#include <stddef.h>

/*
 * A weight's samples are those of the clock and come at its period. Receivers take profiles with the period type "cpu" for ones of samples,
 * so it has the name that perf has for that clock.
 */
const struct sample_origin sample_origins[SAMPLE_ORIGIN_COUNT] = {
#define X(NAME, name, programs, entry, values, type, unit, period_type, period_unit)               \
	[ORIGIN_##NAME] = { #name,	ORIGIN_##values == ORIGIN_VALUED, type, unit, period_type, \
			    period_unit },
	ORIGINS(X)
#undef X
#define X(NAME, name, unit, source, count)                                                         \
	[WEIGHT_##NAME] = { name, true, name, unit, "cpu-clock", "nanoseconds" },
		SAMPLE_WEIGHTS(X)
#undef X
};

const struct value_type *sample_weight_type(uint8_t weight)
{
	static const struct value_type types[] = {
#define X(NAME, name, unit, source, count) { name, unit, 0 },
		SAMPLE_WEIGHTS(X)
#undef X
	};

	return origin_is_weight(weight) ? &types[weight - ORIGIN_COUNT] : NULL;
}
