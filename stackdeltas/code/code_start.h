/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Where functions are likely to start, by what stands there and before: for code that is called by
 * pointer only, and for what stands behind calls that do not come back.
 */
#ifndef STACKDELTAS_CODE_CODE_START_H
#define STACKDELTAS_CODE_CODE_START_H

#include <stdbool.h>
#include <stdint.h>

#include "stackdeltas/code/code_sweep.h"

/**
 * True if a function starts at @offset, and no block of the one before: it begins to make a frame, or
 * returns at once; a block first has to leave the frame that was made before it.
 */
bool code_start_is_likely(const struct code_piece *piece, uint32_t offset);

/** True if only padding stands between the call before @next and the start of another function. */
bool code_start_follows(const struct code_piece *piece, const struct code_marks *marks,
			uint32_t next);

#endif
