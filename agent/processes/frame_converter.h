/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Converts raw frames (abi/frame.h) to a trace: native frames get their binary; kernel frames, interpreted
 * frames and frames in anonymous code get their names. Done once per distinct trace; the trace handler caches
 * the result. Owned by the work thread.
 */
#ifndef AGENT_PROCESSES_FRAME_CONVERTER_H
#define AGENT_PROCESSES_FRAME_CONVERTER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/model/trace.h"

struct executable_cache;
struct frame_converter;
struct kernel_symbols;
struct runtime_set;
struct stack_code;

/** The stack of a record and what is needed to convert it. */
struct raw_stack {
	/** @word_count words of whole frames (frame_word_count()), leaf first. */
	const uint64_t *words;
	uint32_t word_count;
	/** enum record_flag */
	uint8_t flags;
	/** Names of its anonymous code, borrowed for the call; NULL if there are none. */
	const struct stack_code *code;
	/** Runtimes of the process, borrowed for the call; NULL if it has none. */
	const struct runtime_set *runtimes;
};

struct frame_converter_config {
	/** Borrowed. */
	struct executable_cache *executables;
	/** Borrowed; NULL: kernel frames have addresses only. */
	struct kernel_symbols *kernel_symbols;
	/**
	 * Leaves out native frames of a runtime's own executable (the file with the eval loop) between
	 * interpreted frames; guesses stay. Frames below the innermost and above the outermost interpreted
	 * frame stay as well, and so do frames of other files.
	 */
	bool fold_runtime_frames;
};

int frame_converter_create(const struct frame_converter_config *config,
			   struct frame_converter **converter);
void frame_converter_destroy(struct frame_converter *converter);

/** To be called now and then: forgets names that no trace needed since the call before. */
void frame_converter_age(struct frame_converter *converter);

/**
 * Returns the trace with one reference for the caller; NULL without memory. *@is_lasting is false if an
 * interpreted frame has no name, but may get one when the same words come again.
 */
struct trace *frame_converter_convert(struct frame_converter *converter,
				      const struct raw_stack *stack, bool *is_lasting);

#endif
