/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The processes whose memory or files did not answer lately, for messages to users. There is one list; any
 * thread.
 */
#ifndef LIB_MODEL_HANGING_PROCESSES_H
#define LIB_MODEL_HANGING_PROCESSES_H

#include <stdint.h>

#include "lib/base/clock.h"

enum {
	/** Only the newest are kept. */
	HANGING_PROCESSES_MAX = 8,
};

/** How long a process stays on the list after it hung last. */
#define HANGING_PROCESS_NS (60 * NS_PER_SECOND)

/** A read of memory or files of process @pid got no answer, at @now_ns (CLOCK_MONOTONIC). */
void hanging_processes_note(uint32_t pid, uint64_t now_ns);

/** Fills @pids, the newest first, and returns their number. */
uint32_t hanging_processes_list(uint64_t now_ns, uint32_t pids[HANGING_PROCESSES_MAX]);

#endif
