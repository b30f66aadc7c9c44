/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/model/origins.h"

const struct sample_origin sample_origins[ORIGIN_COUNT] = {
#define X(NAME, name, programs, entry, values, type, unit, period_type, period_unit)               \
	[ORIGIN_##NAME] = { #name,	ORIGIN_##values == ORIGIN_VALUED, type, unit, period_type, \
			    period_unit },
	ORIGINS(X)
#undef X
};
