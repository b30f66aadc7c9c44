/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The code of CPython's loop in an executable: compilers split it into a part that is often run
 * and a cold one, which may be the larger by far, and of which stripped files do not say whose it is.
 * And the few instructions of it at which the chain of frames does not yet, or no more, have the
 * frame that is run.
 */
#ifndef INTERPRETERS_PYTHON_PYTHON_LOOP_H
#define INTERPRETERS_PYTHON_PYTHON_LOOP_H

#include "agent/host/elf_image.h"
#include "ebpf/abi/python.h"
#include "interpreters/interpreter.h"
#include "interpreters/python/python_layouts.h"

enum {
	/** Larger functions are no loop of any version. */
	PYTHON_LOOP_MAX_BYTES = 4 << 20,
	/** Other functions that the loop jumps to and are looked at. */
	PYTHON_LOOP_MAX_CANDIDATES = 64,
};

/**
 * The ranges of the function at [@start, @end): itself, and parts that it jumps to and that jump back
 * into its midst, as no other function does. Sorted. -EBADMSG if there is no such code.
 */
int python_loop_find_ranges(const struct elf_image *image, uint64_t start, uint64_t end,
			    struct code_range ranges[INTERPRETER_MAX_RANGES], uint32_t *count);

/**
 * python_process.unpushed of a loop of @layout that is entered at @start, in @ranges; none where they
 * are not known or not needed.
 */
int python_loop_find_unpushed(const struct elf_image *image, const struct python_layout *layout,
			      uint64_t start, const struct code_range *ranges, uint32_t count,
			      struct python_code_range unpushed[PYTHON_MAX_RANGES]);

#endif
