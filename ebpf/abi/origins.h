/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Where samples come from: the one list of origins, of which the outputs make their types. A new row goes to the end.
 *
 *	NAME		for identifiers; its number is the one in records
 *	type, unit	of what is counted, in pprof and OTLP
 *	period type	and unit, of the time between two samples at the clock's rate; "" without
 */
#ifndef EBPF_ABI_ORIGINS_H
#define EBPF_ABI_ORIGINS_H

/* clang-format off */
#define ORIGINS(X) \
	X(CLOCK, "samples", "count", "cpu", "nanoseconds")
/* clang-format on */

enum origin {
#define X(NAME, ...) ORIGIN_##NAME,
	ORIGINS(X)
#undef X
		ORIGIN_COUNT,
};

#endif
