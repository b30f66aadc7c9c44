/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/model/origins.h"

const struct origin_types origin_types[ORIGIN_COUNT] = {
#define X(NAME, type, unit, period_type, period_unit)                                              \
	[ORIGIN_##NAME] = { type, unit, period_type, period_unit },
	ORIGINS(X)
#undef X
};
