/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * The one list of origins of samples. A new row goes to the end. Each row is one line, since the Makefile reads it.
 *
 *	NAME, name	for identifiers and texts; the number in records is the row's index
 *	programs	the type of the origin's kernel programs (BPF_PROG_TYPE_...), its unwinders included
 *	entry		its program, in ebpf/ENTRY.bpf.c, which calls take_sample() (ebpf/take_sample.bpf.h)
 *	values		COUNTED: each sample is one. VALUED: each has a value in the unit
 *	type, unit	type and unit of the count or value in pprof and OTLP
 *	period type	and unit: those of the period between two samples at the clock's rate; "": no period
 */
#ifndef EBPF_ABI_ORIGINS_H
#define EBPF_ABI_ORIGINS_H

/* clang-format off */
#define ORIGINS(X) \
	X(CLOCK, clock, PERF_EVENT, sample_entry, COUNTED, "samples", "count", "cpu", "nanoseconds")
/* clang-format on */

enum origin_values {
	ORIGIN_COUNTED,
	ORIGIN_VALUED,
};

enum origin {
#define X(NAME, ...) ORIGIN_##NAME,
	ORIGINS(X)
#undef X
		ORIGIN_COUNT,
};

#endif
