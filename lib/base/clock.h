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

/** @ns as the system's calls take a time. */
struct timespec clock_timespec(uint64_t ns);

/** CPU time of the calling thread, ns: for limits that a busy machine must not shorten. */
uint64_t clock_thread_cpu_ns(void);

/** CLOCK_REALTIME, ns since 1970. */
uint64_t clock_realtime_ns(void);

/**
 * What has to be added to CLOCK_MONOTONIC for CLOCK_REALTIME, ns. Both are read again where the thread
 * had to wait for a CPU between them.
 */
int64_t clock_realtime_offset_ns(void);

#endif
