/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The frame behind instructions that store the stack pointer and change to another stack, as in swapcontext() and the
 * like. What was known of the frame before is of no use there, but the way to the return shows where the return
 * address is.
 */
#ifndef STACKDELTAS_CODE_STACK_SWITCH_H
#define STACKDELTAS_CODE_STACK_SWITCH_H

#include <stddef.h>
#include <stdint.h>

#include "stackdeltas/code/code_state.h"

/**
 * Sets @state to that before the x86-64 code at @bytes (@size of them), if that code returns without a branch and only
 * removes what is on the stack. Otherwise, and if the CFA of @state is known, @state is unchanged.
 */
void stack_switch_follow(const uint8_t *bytes, size_t size, struct code_state *state);

#endif
