/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Frames of anonymous code without rows, which samples hit: decides which of them the sync thread is told (code_copies.h).
 * That is once in a while for each window of a process, and at a bounded rate for all, since every sample may have one.
 *
 * Owned by the work thread.
 */
#ifndef AGENT_PROCESSES_CODE_HITS_H
#define AGENT_PROCESSES_CODE_HITS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/clock.h"

enum {
	/** A power of two. */
	CODE_HITS_REMEMBERED = 64,
	/** Limits of the hits that are passed on in each CODE_HITS_PERIOD_NS, of all processes and of one. */
	CODE_HITS_MAX = 32,
	CODE_HITS_OF_PROCESS_MAX = 4,
	CODE_HITS_PROCESSES = 64,
};

#define CODE_HITS_PERIOD_NS (100 * NS_PER_MS)

/** All bytes zero: empty. */
struct code_hits {
	/** The last hit that was passed on, by a hash of its key. */
	struct {
		uint64_t key;
		uint64_t time_ns;
	} last[CODE_HITS_REMEMBERED];
	uint64_t period_start_ns;
	uint32_t count;
	/** Number of hits in this period, by the pid modulo CODE_HITS_PROCESSES. */
	uint8_t counts[CODE_HITS_PROCESSES];
};

/**
 * Whether to pass on a hit in process @pid at @address; @is_changed as in code_copies_note_hit(). The same window is passed
 * on once in a CODE_HITS_PERIOD_NS.
 */
bool code_hits_take(struct code_hits *hits, uint32_t pid, uint64_t address, bool is_changed,
		    uint64_t now_ns);

#endif
