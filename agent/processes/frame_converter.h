/* SPDX-License-Identifier: Apache-2.0 */
/**
 * From raw frames (abi/frame.h) to a trace: native frames get their binary, kernel frames and those
 * in anonymous code their names. Done once per distinct trace; the trace handler caches the result. Owned by the work
 * thread.
 */
#ifndef AGENT_PROCESSES_FRAME_CONVERTER_H
#define AGENT_PROCESSES_FRAME_CONVERTER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/trace.h"

struct executable_cache;
struct frame_converter;
struct kernel_symbols;
struct perf_map;

/** What the record says of its stack beside the frames. */
struct raw_stack {
	/** @word_count words of whole frames (frame_word_count()), leaf first. */
	const uint64_t *words;
	uint32_t word_count;
	/** enum record_flag */
	uint8_t flags;
	/** Of the process's anonymous code, borrowed for the call; NULL if there are none. */
	const struct perf_map *names;
};

/** @symbols may be NULL: then kernel frames have addresses only. Both are borrowed. */
int frame_converter_create(struct executable_cache *executables, struct kernel_symbols *symbols,
			   struct frame_converter **converter);
void frame_converter_destroy(struct frame_converter *converter);

/** The trace with one reference, which is the caller's; NULL without memory. */
struct trace *frame_converter_convert(struct frame_converter *converter,
				      const struct raw_stack *stack);

#endif
