/* SPDX-License-Identifier: Apache-2.0 */
/** Clocks, and the one conversion between them. */
#ifndef AGENT_BASE_CLOCK_H
#define AGENT_BASE_CLOCK_H

#include <stdint.h>

#define NS_PER_SECOND 1000000000ULL
#define NS_PER_MS 1000000ULL

/** CLOCK_MONOTONIC, ns: the clock of the kernel's records. */
uint64_t clock_monotonic_ns(void);

/** CLOCK_REALTIME, ns since 1970. */
uint64_t clock_realtime_ns(void);

/** The CLOCK_REALTIME of a CLOCK_MONOTONIC time, by the clocks' present distance. */
uint64_t clock_to_realtime_ns(uint64_t monotonic_ns);

#endif
