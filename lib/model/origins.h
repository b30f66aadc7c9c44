/* SPDX-License-Identifier: Apache-2.0 */
/** The types that outputs give to the origins of samples (ebpf/abi/origins.h). */
#ifndef LIB_MODEL_ORIGINS_H
#define LIB_MODEL_ORIGINS_H

#include <stdbool.h>

#include "ebpf/abi/origins.h"

struct sample_origin {
	const char *name;
	/** Each sample has a value; otherwise it counts as one. */
	bool has_values;
	const char *type;
	const char *unit;
	/** "" for none. */
	const char *period_type;
	const char *period_unit;
};

/** Indexed by enum origin. */
extern const struct sample_origin sample_origins[ORIGIN_COUNT];

#endif
