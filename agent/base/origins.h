/* SPDX-License-Identifier: Apache-2.0 */
/** Where samples come from, and what the outputs call it. */
#ifndef AGENT_BASE_ORIGINS_H
#define AGENT_BASE_ORIGINS_H

/** NAME, type and unit of what is counted, type and unit of the period between two samples. */
#define ORIGINS(X) X(CLOCK, "samples", "count", "cpu", "nanoseconds")

enum {
#define X(NAME, ...) ORIGIN_##NAME,
	ORIGINS(X)
#undef X
		ORIGIN_COUNT,
};

struct origin {
	const char *type;
	const char *unit;
	const char *period_type;
	const char *period_unit;
};

extern const struct origin origins[ORIGIN_COUNT];

#endif
