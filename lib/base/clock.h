/* SPDX-License-Identifier: Apache-2.0 */
/** Clocks. */
#ifndef LIB_BASE_CLOCK_H
#define LIB_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_SECOND 1000000000ULL
#define NS_PER_MS 1000000ULL

/** CLOCK_MONOTONIC, ns: the clock of the kernel's records. */
uint64_t clock_monotonic_ns(void);

/** @ns as a struct timespec. */
struct timespec clock_timespec(uint64_t ns);

/** CPU time of the calling thread, ns: for limits that a busy machine must not shorten. */
uint64_t clock_thread_cpu_ns(void);

/** CLOCK_REALTIME, ns since 1970. */
uint64_t clock_realtime_ns(void);

/**
 * CLOCK_REALTIME minus CLOCK_MONOTONIC, ns. Both clocks are read again if the thread had to wait for a CPU
 * between the two.
 */
int64_t clock_realtime_offset_ns(void);

#endif
