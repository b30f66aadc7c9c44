/* SPDX-License-Identifier: Apache-2.0 */
/** What a thread may take of the CPU in the long run, with some saved up for when there is much to do. */
#ifndef SYMBOLS_CPU_SHARE_H
#define SYMBOLS_CPU_SHARE_H

#include <stdint.h>

/** Of one thread. */
struct cpu_share {
	/** CPU time that can be saved up. */
	uint64_t burst_ns;
	/** One part in @divisor of the time that goes by is added. */
	uint32_t divisor;
	uint64_t spent_ns;
	/** CLOCK_MONOTONIC */
	uint64_t refilled_ns;
};

void cpu_share_init(struct cpu_share *share, uint64_t burst_ns, uint32_t divisor, uint64_t now_ns);

/** How long to wait until something may be spent again; 0 now. */
uint64_t cpu_share_rest_ns(struct cpu_share *share, uint64_t now_ns);

void cpu_share_spend(struct cpu_share *share, uint64_t cpu_ns);

#endif
