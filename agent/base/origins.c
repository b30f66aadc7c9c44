/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/base/origins.h"

const struct origin origins[ORIGIN_COUNT] = {
#define X(NAME, type, unit, period_type, period_unit) { type, unit, period_type, period_unit },
	ORIGINS(X)
#undef X
};
