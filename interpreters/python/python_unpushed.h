/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finds the few instructions of CPython's eval loop at which the running frame is not yet, or not any more, in the
 * chain of frames.
 */
#ifndef INTERPRETERS_PYTHON_PYTHON_UNPUSHED_H
#define INTERPRETERS_PYTHON_PYTHON_UNPUSHED_H

#include "ebpf/abi/python.h"
#include "interpreters/python/python_layouts.h"
#include "lib/elf/elf_image.h"
#include "lib/model/flag_ranges.h"

/**
 * Finds python_process.unpushed for the loop with @layout and @ranges that starts at @start. The result is empty if it
 * is unknown or not needed. -EBADMSG if there is no such code, -ENOMEM.
 */
int python_unpushed_find(const struct elf_image *image, const struct python_layout *layout,
			 uint64_t start, const struct code_range *ranges, uint32_t count,
			 struct python_code_range unpushed[PYTHON_MAX_RANGES]);

#endif
