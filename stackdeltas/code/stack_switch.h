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

/**
 * A stack that a program makes by hand begins with an address that no call has pushed: code that stores it takes it from
 * its own function, behind its end. There the program stops, should the first function on that stack return: a call,
 * whose callee never returns, is followed by an instruction that traps.
 *
 * Returns the offset from the instruction at @bytes (@size of them) to such code if the instruction takes the address, and
 * the next one stores it; otherwise 0.
 */
uint32_t stack_start_stored(const uint8_t *bytes, size_t size);

/**
 * Returns the size of the code at @bytes (@size of them) up to the instruction that traps; 0 if it is not code at which a
 * stack begins. In front of it may be the code that enters the first function; it ends with an indirect jump, and
 * *@jump_end is then set to the offset behind that, at which another address must have been stored; else to 0.
 */
uint32_t stack_start_bytes(const uint8_t *bytes, size_t size, uint32_t *jump_end);

#endif
