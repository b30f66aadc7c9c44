/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Blocks that are still to be followed. First those after a jump or after the instruction before, the
 * last one first; then those behind calls, the one at the lowest address first.
 */
#ifndef STACKDELTAS_CODE_CODE_QUEUE_H
#define STACKDELTAS_CODE_CODE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vector.h"

VECTOR_DEFINE(code_block_list, uint32_t)

/** Zeroed: empty. */
struct code_queue {
	struct code_block_list jumped;
	/** A heap. */
	struct code_block_list returned;
};

/** Adds @block, a number that grows with the address. -ENOMEM. */
int code_queue_add(struct code_queue *queue, uint32_t block, bool is_behind_call);
/** Takes the next block; false if there is none. */
bool code_queue_take(struct code_queue *queue, uint32_t *block);
void code_queue_deinit(struct code_queue *queue);

#endif
