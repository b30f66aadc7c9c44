/* SPDX-License-Identifier: Apache-2.0 */
/** The types that outputs give to the origins of samples (ebpf/abi/origins.h). */
#ifndef LIB_MODEL_ORIGINS_H
#define LIB_MODEL_ORIGINS_H

#include "ebpf/abi/origins.h"

struct origin_types {
	const char *type;
	const char *unit;
	/** "" for none. */
	const char *period_type;
	const char *period_unit;
};

/** By enum origin. */
extern const struct origin_types origin_types[ORIGIN_COUNT];

#endif
