/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The few instructions of CPython's loop at which the chain of frames does not yet, or no more, have
 * the frame that is run.
 */
#ifndef INTERPRETERS_PYTHON_PYTHON_UNPUSHED_H
#define INTERPRETERS_PYTHON_PYTHON_UNPUSHED_H

#include "ebpf/abi/python.h"
#include "interpreters/python/python_layouts.h"
#include "lib/elf/elf_image.h"
#include "lib/model/flag_ranges.h"

/**
 * python_process.unpushed of a loop of @layout that is entered at @start, in @ranges; none where they
 * are not known or not needed. -EBADMSG if there is no such code, -ENOMEM.
 */
int python_unpushed_find(const struct elf_image *image, const struct python_layout *layout,
			 uint64_t start, const struct code_range *ranges, uint32_t count,
			 struct python_code_range unpushed[PYTHON_MAX_RANGES]);

#endif
