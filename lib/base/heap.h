/* SPDX-License-Identifier: Apache-2.0 */
/** How malloc() keeps memory, for the whole process. */
#ifndef LIB_BASE_HEAP_H
#define LIB_BASE_HEAP_H

#include <stdint.h>

/**
 * Large blocks, such as the bytes of a file that is parsed, go back to the system when they are
 * freed, and threads share one heap: half the memory, where no thread allocates much.
 */
void heap_limit(void);

/**
 * Gives back pages that are free as a whole, once in half a minute: small blocks that come and go lie
 * between what stays, so that the heap gives nothing back by itself. @next_trim_ns is this function's
 * to keep, at first @now_ns (CLOCK_MONOTONIC).
 */
void heap_trim(uint64_t now_ns, uint64_t *next_trim_ns);

#endif
