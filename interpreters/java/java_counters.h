/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The counters that a JVM keeps for tools such as jstat, in memory of its own process (PerfMemory). They are
 * there unless -XX:-UsePerfData is given.
 *
 * Source: share/runtime/perfMemory.hpp (PerfDataPrologue, PerfDataEntry) of OpenJDK 8 to 27.
 */
#ifndef INTERPRETERS_JAVA_JAVA_COUNTERS_H
#define INTERPRETERS_JAVA_JAVA_COUNTERS_H

#include <stdint.h>

#include "interpreters/java/java_layout.h"
#include "lib/host/remote_memory.h"

/**
 * Finds the address in the process of counter @name, a word of 64 bits; 0 if there is no such counter, for now or
 * ever. -ESRCH, -ENOMEM.
 */
int java_counter_find(const struct java_layout *layout, struct remote_memory *memory,
		      const char *name, uint64_t *address);

#endif
