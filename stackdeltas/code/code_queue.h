/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Blocks that are still to be walked: those that a jump or the instruction before leads to, the last
 * one first; when there are none of these, those behind calls, the one at the lowest address first.
 */
#ifndef STACKDELTAS_CODE_CODE_QUEUE_H
#define STACKDELTAS_CODE_CODE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vector.h"

VECTOR_DEFINE(code_block_list, uint32_t)

/** Zeroed: none. */
struct code_queue {
	struct code_block_list jumped;
	/** A heap. */
	struct code_block_list returned;
};

/** @block: a number that is greater at greater addresses. -ENOMEM. */
int code_queue_add(struct code_queue *queue, uint32_t block, bool is_behind_call);
/** False if there is none. */
bool code_queue_take(struct code_queue *queue, uint32_t *block);
void code_queue_deinit(struct code_queue *queue);

#endif
