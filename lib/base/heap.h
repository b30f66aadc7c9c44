/* SPDX-License-Identifier: Apache-2.0 */
/** Settings of malloc() for the whole process. */
#ifndef LIB_BASE_HEAP_H
#define LIB_BASE_HEAP_H

#include <stdint.h>

/**
 * Returns large blocks, such as the bytes of a parsed file, to the system when they are freed, and makes all
 * threads share one heap. That halves the memory where no thread allocates much.
 */
void heap_limit(void);

/**
 * Returns free pages to the system once in half a minute. The heap does not do so by itself, since small
 * short-lived blocks lie between blocks that stay. *@next_trim_ns is this function's state, @now_ns
 * (CLOCK_MONOTONIC) at first.
 */
void heap_trim(uint64_t now_ns, uint64_t *next_trim_ns);

#endif
